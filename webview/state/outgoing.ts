/**
 * Sending what the composer holds, again while no answer comes; the draft keeps the key that makes
 * this harmless.
 */
import type { MessageEvent } from "../../shared/events.ts";
import { type Host, HostError } from "../hosts/host.ts";
import type { Draft, DraftKeeper } from "./draft.ts";

const ATTEMPTS = 3;
const PAUSE_MS = 700;

export class Outgoing {
  readonly #host: Pick<Host, "call">;
  readonly #keeper: Pick<DraftKeeper, "groupId" | "keyOf">;
  readonly #pause: (ms: number) => Promise<void>;

  constructor(
    host: Pick<Host, "call">,
    keeper: Pick<DraftKeeper, "groupId" | "keyOf">,
    pause = (ms: number) => new Promise<void>((done) => setTimeout(done, ms)),
  ) {
    this.#host = host;
    this.#keeper = keeper;
    this.#pause = pause;
  }

  /**
   * Sends the draft and returns its event in this Group. Throws `HostError`; the same draft may
   * then be sent again without harm.
   */
  async send(draft: Readonly<Draft>): Promise<MessageEvent> {
    const key = this.#keeper.keyOf(draft);
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#call(draft, key);
      } catch (error) {
        const again = error instanceof HostError && error.offline;
        if (!again || attempt === ATTEMPTS) throw error;
        await this.#pause(PAUSE_MS * attempt);
      }
    }
  }

  async #call(draft: Readonly<Draft>, clientId: string): Promise<MessageEvent> {
    const body = {
      group_id: this.#keeper.groupId,
      text: draft.text,
      to: draft.to,
      client_id: clientId,
      attachments: draft.attachments.map(({ sha256, name, mime_type: mimeType }) => ({
        sha256,
        name,
        mime_type: mimeType,
      })),
    };
    if (draft.remote !== null) {
      const sent = await this.#host.call("connect_send", {
        ...body,
        instance_id: draft.remote.instance_id,
        target_group_id: draft.remote.group_id,
        message_mode: draft.mode,
      });
      return sent.source_event;
    }
    const here = {
      ...body,
      refs: draft.refs,
      ...(draft.quote === null ? {} : { quote_text: draft.quote }),
    };
    if (draft.elsewhere !== null) {
      const sent = await this.#host.call("send_cross_group", {
        ...here,
        dst_group_id: draft.elsewhere,
        message_mode: draft.mode,
      });
      return sent.source_event;
    }
    if (draft.replyTo !== null && draft.mode !== "request_reply") {
      const sent = await this.#host.call("reply", {
        ...here,
        event_id: draft.replyTo,
        message_mode: draft.mode,
      });
      return sent.event;
    }
    const sent = await this.#host.call("send", {
      ...here,
      message_mode: draft.mode,
      ...(draft.replyTo === null ? {} : { reply_to: draft.replyTo }),
    });
    return sent.event;
  }
}
