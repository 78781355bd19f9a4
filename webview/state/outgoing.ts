/** Sending what the composer holds. One key per message, kept over retries, so that an answer lost on the way never makes two. */
import type { LedgerEvent } from "../../shared/events.ts";
import { type Host, HostError } from "../host.ts";
import type { Draft } from "./draft.ts";

const ATTEMPTS = 3;
const PAUSE_MS = 700;

export class Outgoing {
  readonly #host: Pick<Host, "call">;
  readonly #groupId: string;
  readonly #pause: (ms: number) => Promise<void>;
  #key: { content: string; id: string } | null = null;

  constructor(
    host: Pick<Host, "call">,
    groupId: string,
    pause = (ms: number) => new Promise<void>((done) => setTimeout(done, ms)),
  ) {
    this.#host = host;
    this.#groupId = groupId;
    this.#pause = pause;
  }

  /** Sends the draft and returns its event in this Group. Throws `HostError`; the same draft may then be sent again without harm. */
  async send(draft: Readonly<Draft>, quote: string | null = null): Promise<LedgerEvent> {
    const content = JSON.stringify([draft, quote]);
    if (this.#key?.content !== content) this.#key = { content, id: crypto.randomUUID() };
    const { id } = this.#key;
    for (let attempt = 1; ; attempt += 1) {
      try {
        const event = await this.#call(draft, quote, id);
        this.#key = null;
        return event;
      } catch (error) {
        const again = error instanceof HostError && error.offline;
        if (!again || attempt === ATTEMPTS) throw error;
        await this.#pause(PAUSE_MS * attempt);
      }
    }
  }

  async #call(draft: Readonly<Draft>, quote: string | null, clientId: string): Promise<LedgerEvent> {
    const body = {
      group_id: this.#groupId,
      text: draft.text,
      to: draft.to,
      client_id: clientId,
      attachments: draft.attachments.map(({ sha256, name, mime_type }) => ({ sha256, name, mime_type })),
      ...(quote === null ? {} : { quote_text: quote }),
    };
    if (draft.elsewhere !== null) {
      const sent = await this.#host.call("send_cross_group", {
        ...body,
        dst_group_id: draft.elsewhere,
        message_mode: draft.mode,
      });
      return sent.source_event;
    }
    if (draft.replyTo !== null && draft.mode !== "request_reply") {
      const sent = await this.#host.call("reply", {
        ...body,
        event_id: draft.replyTo,
        message_mode: draft.mode,
      });
      return sent.event;
    }
    const sent = await this.#host.call("send", {
      ...body,
      message_mode: draft.mode,
      ...(draft.replyTo === null ? {} : { reply_to: draft.replyTo }),
    });
    return sent.event;
  }
}
