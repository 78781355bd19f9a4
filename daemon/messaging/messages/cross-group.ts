/**
 * Messages between Groups of this Home (RET-008). The source ledger records the message first, with
 * everything the other side needs. Then the destination's event follows, whose id is derived from
 * the source event's, and a receipt in the source ledger. A crash in between leaves a record
 * without a receipt, which the next start completes. The derived id keeps it from arriving twice.
 */

import { createHash } from "node:crypto";
import { errorFields } from "../../../platform/log.ts";
import { Refusal } from "../../../shared/errors.ts";
import type { EventData, MessageEvent } from "../../../shared/events.ts";
import { quotedName } from "../../../shared/foreign-text.ts";
import type { MessageMode } from "../../../shared/model.ts";
import type { CallContext, Caller } from "../../../shared/operations/caller.ts";
import type { InputOf, ResultOf } from "../../../shared/operations/registry.ts";
import { type Audience, resolveRecipients } from "../../groups/recipients.ts";
import { type Chats, type GroupChat, type MessagingDependencies, wakeGroup } from "../group-chat.ts";
import { messageKey } from "../projection/message-keys.ts";
import { checkBody, withAttachments } from "./attachments.ts";
import { once } from "./idempotency.ts";
import { type Author, contentDigest, defaultMode, messageData, type Said } from "./message-event.ts";
import { receiptAmong } from "./statuses.ts";

type SentAcross = ResultOf<"send_cross_group">;

interface CrossAddress {
  mode: MessageMode;
  to: readonly string[];
  dst_group_id: string;
  /** The message answered here. */
  reply_to?: string | undefined;
  /** The message answered, as the destination knows it, and the generations of its participants. */
  answered?: { event_id: string; generations: Readonly<Record<string, string>> } | undefined;
}

/** Id of the destination's event. */
export function remoteId(sourceGroupId: string, sourceEventId: string): string {
  return createHash("sha256")
    .update(`svc.cross_group/${sourceGroupId}/${sourceEventId}`)
    .digest("hex")
    .slice(0, 32);
}

/** A reply is for the Actors of that time. A new one with an old id inherits nothing. */
function checkSame(
  { to, to_generations: toGenerations }: Audience,
  then: Readonly<Record<string, string>>,
): void {
  const other = to.find((id) => toGenerations[id] !== then[id]);
  if (other === undefined) return;
  throw new Refusal("invalid_recipient", {
    specifics: `The '${quotedName(other)}' of that message is no longer in its Group.`,
    details: { recipient: other },
  });
}

export class CrossGroup {
  readonly #chats: Chats;
  readonly #deps: MessagingDependencies;
  /** On their way, by the id that they arrive with. */
  readonly #underWay = new Map<string, Promise<SentAcross>>();

  constructor(chats: Chats, deps: MessagingDependencies) {
    this.#chats = chats;
    this.#deps = deps;
  }

  send(input: InputOf<"send_cross_group">, { caller }: CallContext): Promise<SentAcross> | SentAcross {
    checkBody(input);
    const chat = this.#chats.get(input.group_id);
    const author = chat.author(caller);
    const mode = input.message_mode ?? defaultMode(caller, input.to);
    const address: CrossAddress = { mode, to: input.to, dst_group_id: input.dst_group_id };
    if (input.client_id === undefined) return this.deliver(chat, input, address, author, caller);
    const digest = contentDigest(input, address);
    return once(
      chat,
      messageKey(author, input.client_id),
      digest,
      () => this.deliver(chat, input, address, author, caller, digest),
      (event, ordinal) => {
        // It waits for another instance.
        if (ordinal === undefined) throw new Refusal("idempotency_conflict");
        return this.complete(chat, event, ordinal);
      },
    );
  }

  /**
   * Records a message here and appends it there. Throws what `resolveRecipients` and attachments
   * throw, group_not_found, or what a disk does.
   */
  async deliver(
    chat: GroupChat,
    said: Said,
    address: CrossAddress,
    author: Author,
    caller: Caller,
    digest?: string,
  ): Promise<SentAcross> {
    const { mode, dst_group_id: dstGroupId, reply_to: replyTo } = address;
    if (dstGroupId === chat.group.group_id) {
      throw new Refusal("invalid_args", {
        specifics: "The destination is the same Group.",
        details: { field: "dst_group_id" },
      });
    }
    this.#chats.get(dstGroupId).ledger.checkWritable();
    const audience = (): Audience => {
      const found = resolveRecipients(this.#chats.get(dstGroupId).group.record, {
        to: address.to,
        mode,
        sender: caller.kind === "actor" ? { kind: "remote" } : { kind: "user" },
      });
      if (address.answered !== undefined) checkSame(found, address.answered.generations);
      return found;
    };
    audience();
    const key = said.client_id === undefined ? undefined : messageKey(author, said.client_id);
    const [placed] = await withAttachments(chat, this.#deps.projects, said, caller, (attachments) => {
      // Keeping files takes time, and no permit of either Group is held. So sender and recipients
      // are checked again.
      chat.author(caller);
      const { title } = this.#chats.get(dstGroupId).group.record;
      const data = messageData({
        mode,
        audience: { to: [], to_generations: {} },
        author,
        said,
        attachments,
        reply_to: replyTo,
        digest,
        destination: {
          group_id: dstGroupId,
          group_title: title,
          audience: audience(),
          reply_to: address.answered?.event_id,
        },
      });
      return chat.ledger.appendAll([chat.event("chat.message", author.by, data, key)]);
    });
    return this.#transfer(chat, placed!.event, false);
  }

  /** What a first attempt left unfinished; the answer of a retry. */
  async complete(chat: GroupChat, source: MessageEvent, ordinal: number): Promise<SentAcross> {
    const arrivesAs = remoteId(chat.group.group_id, source.id);
    const running = this.#underWay.get(arrivesAs);
    if (running !== undefined) return { ...(await running), duplicate: true };
    const { dst_group_id: dstGroupId = "", message_mode: messageMode } = source.data;
    const destination = this.#chats.find(dstGroupId);
    const arrived = destination?.ledger.ordinalOf(arrivesAs);
    if (destination !== undefined && arrived !== undefined) {
      if (chat.projection.halfDone.has(source.id)) await this.#receipt(chat, source, null);
      return {
        event: destination.message(arrived),
        source_event: source,
        message_mode: messageMode,
        duplicate: true,
      };
    }
    // It arrived in a Group that has been reset or deleted since.
    if (this.#receiptOf(chat, source.id, ordinal) === "sent") {
      return { event: source, source_event: source, message_mode: messageMode, duplicate: true };
    }
    return this.#transfer(chat, source, true);
  }

  /** When the Group is taken up: completes every message that has no receipt. */
  async completeAll(chat: GroupChat): Promise<void> {
    const ordinals = [...chat.projection.halfDone.values()];
    for (const ordinal of ordinals) {
      try {
        await this.complete(chat, chat.message(ordinal), ordinal);
      } catch (error) {
        this.#deps.log.warn("cross_group", { group_id: chat.group.group_id, ...errorFields(error) });
      }
    }
  }

  #transfer(chat: GroupChat, source: MessageEvent, duplicate: boolean): Promise<SentAcross> {
    const arrivesAs = remoteId(chat.group.group_id, source.id);
    const done = this.#carry(chat, source, duplicate).finally(() => this.#underWay.delete(arrivesAs));
    this.#underWay.set(arrivesAs, done);
    return done;
  }

  async #carry(chat: GroupChat, source: MessageEvent, duplicate: boolean): Promise<SentAcross> {
    let event: MessageEvent;
    try {
      event = await this.#arrive(chat, source);
    } catch (error) {
      const refusal = error instanceof Refusal ? error : new Refusal("internal_error", { cause: error });
      await this.#receipt(chat, source, refusal);
      throw refusal;
    }
    await this.#receipt(chat, source, null);
    return { event, source_event: source, message_mode: source.data.message_mode, duplicate };
  }

  /**
   * The destination's event, made only from the source event, so that a later start makes the same
   * one.
   */
  async #arrive(chat: GroupChat, source: MessageEvent): Promise<MessageEvent> {
    const { data, by } = source;
    const { dst_group_id: dstGroupId = "", attachments } = data;
    const destination = this.#chats.get(dstGroupId);
    const { count } = destination.ledger;
    const digests = attachments.map(({ sha256 }) => sha256);
    for (const sha256 of digests) {
      if ((await destination.blobs.checked.look(sha256)) !== null)
        await destination.blobs.take(chat.blobs.read(sha256).chunks, count);
    }
    const { group_id: groupId } = chat.group;
    const said = { ...data, paths: [], client_id: undefined };
    const author: Author = { by, title: data.sender_title };
    if (data.sender_generation !== undefined) author.generation = data.sender_generation;
    const arriving = destination.event(
      "chat.message",
      by === "user" ? "user" : `${groupId}::${by}`,
      messageData({
        mode: data.message_mode,
        audience: { to: data.dst_to ?? [], to_generations: data.dst_to_generations ?? {} },
        author,
        said,
        attachments,
        reply_to: data.dst_reply_to,
        source: { group_id: groupId, event_id: source.id, group_title: chat.group.record.title },
      }),
    );
    arriving.id = remoteId(groupId, source.id);
    const [placed] = await destination.blobs.send(digests, count, () =>
      destination.ledger.appendAll([arriving]),
    );
    if (by === "user" && data.message_mode !== "mail" && destination.group.record.state === "idle") {
      await wakeGroup(destination, this.#deps.log);
    }
    return placed!.event;
  }

  /** Notes how it ended. If even that fails, the next start or retry finds out. */
  async #receipt(chat: GroupChat, source: MessageEvent, failure: Refusal | null): Promise<void> {
    const remoteEventId = remoteId(chat.group.group_id, source.id);
    const data: EventData<"chat.cross_group_receipt"> = {
      source_event_id: source.id,
      operation: "local",
      dst_group_id: source.data.dst_group_id ?? "",
      delivery_id: remoteEventId,
      status: failure === null ? "sent" : "failed",
      remote_event_id: failure === null ? remoteEventId : null,
      error: failure === null ? null : { code: failure.code, message: failure.message },
    };
    try {
      await chat.ledger.appendAll([chat.event("chat.cross_group_receipt", "system", data)]);
    } catch (error) {
      this.#deps.log.warn("cross_group_receipt", { group_id: chat.group.group_id, ...errorFields(error) });
    }
  }

  #receiptOf(chat: GroupChat, id: string, ordinal: number): string | undefined {
    if (chat.projection.halfDone.has(id)) return undefined;
    return receiptAmong(chat.ledger.readMany(chat.ledger.related(ordinal)))?.data.status;
  }
}
