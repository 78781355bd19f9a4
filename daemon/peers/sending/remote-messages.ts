/**
 * Replies and withdrawals that leave this instance. Everything is derived from the message as
 * recorded here (docs/protocol.md#replies, docs/protocol.md#cancellation).
 */

import { createHash } from "node:crypto";
import type { Clock } from "../../../platform/clock.ts";
import { errorFields, type Log } from "../../../platform/log.ts";
import type { Random } from "../../../platform/random.ts";
import { defined } from "../../../shared/defined.ts";
import { Refusal } from "../../../shared/errors.ts";
import type { EventOf, MessageEvent } from "../../../shared/events.ts";
import { quotedName } from "../../../shared/foreign-text.ts";
import { LIMITS } from "../../../shared/limits.ts";
import type { MessageMode } from "../../../shared/model.ts";
import type { Caller } from "../../../shared/operations/caller.ts";
import { type ConnectActor, ConnectCancellation, ConnectMessage } from "../../../shared/wire/v1/message.ts";
import { DELIVERY_NOTES } from "../../../shared/wire/v1/refusals.ts";
import { milliseconds } from "../../../shared/wire/v1/time.ts";
import { uuidKey } from "../../../shared/wire/v1/uuid.ts";
import type { NewEvent } from "../../ledger/types.ts";
import type { GroupChat, Located, RemoteMessages, RemoteReply } from "../../messaging/group-chat.ts";
import type { Author, Said } from "../../messaging/messages/message-event.ts";
import { MessageStatuses } from "../../messaging/messages/statuses.ts";
import type { Authorities, Binding } from "../authorities.ts";
import type { Grant } from "../authority.ts";
import type { Outbox } from "../outbox/outbox.ts";
import type { OutboxEntry } from "../outbox/outbox-entry.ts";
import { isEnd } from "../receiving/receiver-reply.ts";
import type { SourceEvents } from "../requests/source-event.ts";
import { receiptEvent } from "../requests/terminal.ts";
import { contentOf } from "../wire/digests.ts";
import { type Outgoing, type OutgoingMessage, senderOf } from "./outgoing.ts";

interface Dependencies {
  /** Of this Home. */
  instance_id: string;
  clock: Clock;
  random: Random;
  log: Log;
  outbox: Outbox;
  outgoing: Outgoing;
  authorities: Authorities;
  source: SourceEvents;
  wake(): void;
}

/** What a reply needs to know, both for the check and for the reply itself. */
type Plan = Pick<OutgoingMessage, "grant" | "target" | "recipients" | "mode" | "reply">;

interface Ends {
  own: ConnectMessage["source"];
  other: ConnectMessage["source"];
  /** It was sent from here. */
  isFollowUp: boolean;
}

export class RemoteReplies implements RemoteMessages {
  readonly #deps: Dependencies;

  constructor(deps: Dependencies) {
    this.#deps = deps;
  }

  isActive(sourceEventId: string): boolean {
    return this.#deps.outbox.bySource(sourceEventId) !== undefined;
  }

  accepted(groupId: string, key: string): MessageEvent | undefined {
    const { outbox } = this.#deps;
    const waiting = outbox.byClient(groupId, key);
    const event = waiting === undefined ? undefined : outbox.read(waiting).source_event;
    return event?.kind === "chat.message" ? event : undefined;
  }

  async reply(
    chat: GroupChat,
    said: Said,
    reply: RemoteReply,
    caller: Caller,
    digest: string | undefined,
  ): Promise<MessageEvent> {
    const author = chat.author(caller);
    const plan = this.#plan(chat, reply, author);
    const confirm = () => void this.#plan(chat, reply, author);
    const outgoing = { ...plan, said, author, caller, projectOnly: false, digest, confirm };
    const { event } = await this.#deps.outgoing.send(chat, outgoing);
    return event;
  }

  checkReply(chat: GroupChat, reply: RemoteReply, author: Author): void {
    this.#plan(chat, reply, author);
  }

  /**
   * The control's id is derived from the original and this Group, so that it is the same however
   * often it is requested (CAN-007). Addresses are the original's: a request can be withdrawn here
   * although its connection is gone. If a Direct record keeps the pair from that connection, the
   * withdrawal stays here (DRC-094).
   */
  async cancel(
    chat: GroupChat,
    { event: original }: Located<"chat.message">,
    caller: Caller,
    { recipients, client_id: clientId }: { recipients: string[]; client_id: string | undefined },
  ): Promise<EventOf<"chat.reply_request.cancelled">> {
    const { clock, random, outbox, log } = this.#deps;
    const message = messageOf(original);
    const { own, other } = this.#ends(chat, original, message);
    const deliveryId = controlId(own, message.delivery_id);
    const reserved = outbox.byDelivery(deliveryId);
    if (reserved !== undefined) {
      const { source_event: event } = outbox.read(reserved);
      if (event.kind !== "chat.reply_request.cancelled") throw new TypeError("the record isn't a withdrawal");
      await this.#deps.source.project(chat, event);
      return event;
    }
    const author = chat.author(caller);
    const now = clock.now();
    const createdAt = new Date(now).toISOString();
    const eventId = random.uuid().replaceAll("-", "");
    const { connection_id: connectionId, account_origin: accountOrigin, account_id: accountId } = message;
    const control = ConnectCancellation.parse({
      ...(connectionId === undefined ? {} : { connection_id: connectionId }),
      delivery_id: deliveryId,
      ...(accountOrigin === undefined ? {} : { account_origin: accountOrigin }),
      ...(accountId === undefined ? {} : { account_id: accountId }),
      source: own,
      sender: senderOf(chat, author, caller),
      source_event_id: eventId,
      target: other,
      original_delivery_id: message.delivery_id,
      original_message_sha256: original.data.connect_message_sha256,
      original_source_event_id: message.source_event_id,
      original_deliver_before: message.deliver_before,
      created_at: createdAt,
      deliver_before: new Date(now + LIMITS.connect.deliverSeconds * 1000).toISOString(),
    });
    const { json, sha256 } = contentOf(control);
    const event: EventOf<"chat.reply_request.cancelled"> = {
      v: 1,
      id: eventId,
      ts: createdAt,
      kind: "chat.reply_request.cancelled",
      group_id: chat.group.group_id,
      scope_key: chat.scopeKey,
      by: author.by,
      data: defined({
        source_event_id: original.id,
        cancelled_by: author.by,
        recipients,
        client_id: clientId,
        connect_cancel: control,
        connect_cancel_sha256: sha256,
      }),
    };
    const work = { kind: "cancel" as const, data: control };
    const pin = this.#deps.authorities.pinOf(bindingOf(message, own, other));
    if (pin !== null) {
      const error = { code: DELIVERY_NOTES.gone.code, message: pin.reason };
      const ending = { status: "unconfirmed" as const, remote_event_id: null, error };
      const events: NewEvent[] = [event, receiptEvent(chat, { work, source_event: event }, ending)];
      await chat.ledger.appendAll(events);
      return event;
    }
    await outbox.accept(work, event, json);
    try {
      await this.#deps.source.project(chat, event);
    } catch (error) {
      // It was accepted, so the worker records it.
      log.warn("connect_projection", { group_id: chat.group.group_id, ...errorFields(error) });
    }
    this.#deps.wake();
    return event;
  }

  /**
   * At the start: records what was accepted and not recorded. Work of a Group that was reset since
   * has lost its event and ends without a trace. It is recognized by its record, or because the
   * reset is later.
   */
  async recover(chat: GroupChat): Promise<void> {
    const { outbox, log } = this.#deps;
    for (const entry of outbox.entries()) {
      if (entry.source.group_id !== chat.group.group_id) continue;
      if (chat.ledger.ordinalOf(entry.source_event_id) !== undefined) continue;
      try {
        if (entry.progress.source_projected || isBeforeReset(chat, entry)) outbox.remove(entry);
        else await this.#deps.source.project(chat, outbox.read(entry).source_event);
      } catch (error) {
        log.warn("connect_recovery", { delivery_id: entry.delivery_id, ...errorFields(error) });
      }
    }
  }

  #plan(chat: GroupChat, { original, mode, to }: RemoteReply, author: Author): Plan {
    const { event } = original;
    const message = messageOf(event);
    const { own, other, isFollowUp } = this.#ends(chat, event, message);
    if (this.#deps.clock.now() > milliseconds(message.reply_before))
      throw new Refusal("connect_reply_expired");
    const authors = isFollowUp ? [message.sender] : message.recipients;
    if (author.by !== "user" && !isAmong({ id: author.by, generation: author.generation ?? "" }, authors)) {
      throw new Refusal("permission_denied", {
        specifics: "Only its sender and recipients may answer that message.",
      });
    }
    const eventId = isFollowUp ? this.#remoteEvent(chat, original) : message.source_event_id;
    const recipients = select(isFollowUp ? message.recipients : [message.sender], to);
    const grant = this.#grant(message, own, other);
    return {
      grant,
      target: { group_id: other.group_id, title: grant.pair?.remote_title ?? other.title },
      recipients,
      mode: modeOf(mode, recipients, author),
      reply: { delivery_id: message.delivery_id, event_id: eventId, local_event_id: event.id },
    };
  }

  /**
   * The two ends of a message that is recorded in this Group, which must be one of them. Throws
   * event_not_found.
   */
  #ends({ group }: GroupChat, { id, data }: MessageEvent, { source, target }: ConnectMessage): Ends {
    const isFollowUp = data.dst_instance_id !== undefined;
    const [own, other] = isFollowUp ? [source, target] : [target, source];
    if (isEnd(own, { instance_id: this.#deps.instance_id, group_id: group.group_id })) {
      return { own, other, isFollowUp };
    }
    throw new Refusal("event_not_found", {
      specifics: "That message went between other Groups.",
      details: { event_id: id },
    });
  }

  /** RPL-004: no follow-up to a message before its arrival is certain. */
  #remoteEvent(chat: GroupChat, { ordinal, event }: Located<"chat.message">): string {
    const delivery = new MessageStatuses(chat, ordinal, event).connectDelivery();
    if (delivery?.state === "sent" && delivery.remote_event_id !== undefined) return delivery.remote_event_id;
    throw new Refusal("connect_receipt_required", { details: { state: delivery?.state ?? "unconfirmed" } });
  }

  /** The original's own connection and devices, in force now (RPL-011). */
  #grant(message: ConnectMessage, own: ConnectMessage["source"], other: ConnectMessage["source"]): Grant {
    const state = this.#deps.authorities.forNewWork(bindingOf(message, own, other));
    if (state.state === "granted") return state.grant;
    const details = { instance_id: other.instance_id };
    if (state.state === "unavailable")
      throw new Refusal("connect_unavailable", { specifics: state.reason, details });
    throw new Refusal("connect_not_granted", {
      specifics: state.reason,
      ...(state.remedy !== undefined && { remedy: state.remedy }),
      details,
    });
  }
}

/** What a message recorded in this Group says about its route, seen from here. */
function bindingOf(message: ConnectMessage, own: Ends["own"], other: Ends["other"]): Binding {
  return {
    connection_id: message.connection_id ?? null,
    local_group_id: own.group_id,
    remote_group_id: other.group_id,
    remote_instance_id: other.instance_id,
    local_device_id: own.device_id ?? "",
    remote_device_id: other.device_id ?? "",
  };
}

/** Throws event_not_found for an event without its message. */
function messageOf({ id, data }: MessageEvent): ConnectMessage {
  const parsed = ConnectMessage.safeParse(data.connect_message);
  if (parsed.success) return parsed.data;
  throw new Refusal("event_not_found", {
    specifics: "That message doesn't say where it came from or went to.",
    details: { event_id: id },
  });
}

function isAmong(one: { id: string; generation: string }, actors: readonly ConnectActor[]): boolean {
  return actors.some(({ id, generation }) => id === one.id && generation === one.generation);
}

/**
 * The original's participants that are meant; all of them when none is named (RPL-005, RPL-010).
 */
function select(allowed: readonly ConnectActor[], to: readonly string[]): readonly ConnectActor[] {
  if (to.length === 0) return allowed;
  const chosen = new Set<ConnectActor>();
  for (const recipient of to) {
    const meant = meantBy(recipient, allowed);
    if (meant.length === 0) {
      throw new Refusal("invalid_recipient", {
        specifics: `'${quotedName(recipient)}' wasn't part of that message.`,
        details: { recipient },
      });
    }
    for (const actor of meant) chosen.add(actor);
  }
  return [...chosen];
}

function meantBy(recipient: string, allowed: readonly ConnectActor[]): readonly ConnectActor[] {
  if (recipient === "@all") return allowed;
  if (recipient === "@foreman") return allowed.filter(({ role }) => role === "foreman");
  if (recipient === "@peers") return allowed.filter(({ role }) => role === "peer");
  const named = allowed.filter(({ id }) => id === recipient);
  if (named.length > 0) return named;
  const titled = allowed.filter(({ title }) => title === recipient);
  return titled.length === 1 ? titled : [];
}

function modeOf(
  mode: "send" | "mail" | undefined,
  recipients: readonly ConnectActor[],
  author: Author,
): MessageMode {
  const people = recipients.filter(({ id }) => id === "user").length;
  if (people > 0 && people < recipients.length) throw new Refusal("mixed_recipient_kinds");
  if (mode === "mail" && people > 0) throw new Refusal("mail_requires_actor_recipient");
  return mode ?? (author.by === "user" || people > 0 ? "send" : "mail");
}

/** A UUID from the original's delivery and the Group that withdraws. */
function controlId(own: { instance_id: string; group_id: string }, originalDeliveryId: string): string {
  const digest = createHash("sha256")
    .update(`svc.connect.cancel/${own.instance_id}/${own.group_id}/${uuidKey(originalDeliveryId)}`)
    .digest("hex");
  // RFC 9562, version 8: bits of our own choice.
  const variant = ((Number.parseInt(digest[16]!, 16) & 3) | 8).toString(16);
  const parts = [
    digest.slice(0, 8),
    digest.slice(8, 12),
    `8${digest.slice(13, 16)}`,
    `${variant}${digest.slice(17, 20)}`,
    digest.slice(20, 32),
  ];
  return parts.join("-");
}

/**
 * Before a Group's first event, only the Group as it was before a reset can have accepted anything.
 */
function isBeforeReset({ resetAt }: GroupChat, entry: OutboxEntry): boolean {
  return resetAt !== null && resetAt > entry.source_event_ts;
}
