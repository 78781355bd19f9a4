/**
 * The status of a message, per recipient. Open states are in the projection. Closed ones are read
 * from the ledger's chain of events that refer to the message, never by a scan
 * (docs/architecture.md#rules).
 */
import type { EventOf, LedgerEvent, MessageEvent } from "../../../shared/events.ts";
import { lookUp } from "../../../shared/look-up.ts";
import { COMES_AGAIN } from "../../../shared/names.ts";
import type { MessageStatus } from "../../../shared/operations/messages.ts";
import type { GroupChat } from "../group-chat.ts";
import { ENDED_UNREAD, HANDED_BACK, IMPORTED, SESSION_ENDED } from "../kinds.ts";
import { authorOf, remoteAuthor } from "../projection/authors.ts";
import { isReplyOf } from "../projection/obligations.ts";
import { isRemote } from "./message-event.ts";

type DeliveryStatus = MessageStatus["delivery_status"][string];
type ConnectState = NonNullable<MessageStatus["connect_delivery"]>;
type ObligationState = MessageStatus["obligation_status"][string];

export class MessageStatuses {
  readonly #chat: GroupChat;
  readonly #ordinal: number;
  readonly #event: MessageEvent;
  #related: LedgerEvent[] | null = null;

  constructor(chat: GroupChat, ordinal: number, event: MessageEvent) {
    this.#chat = chat;
    this.#ordinal = ordinal;
    this.#event = event;
  }

  get #isHistory(): boolean {
    return this.#chat.isHistory(this.#ordinal);
  }

  status(): MessageStatus {
    const { data } = this.#event;
    const status: MessageStatus = {
      read_status: {},
      obligation_status: this.obligations(),
      delivery_status: {},
      connect_delivery: this.connectDelivery(),
      connect_cancellation: this.connectCancellation(),
    };
    if (data.dst_instance_id !== undefined) return status;
    if (data.dst_group_id !== undefined) {
      status.delivery_status[data.dst_group_id] = this.#acrossStatus();
      return status;
    }
    for (const recipient of data.to) {
      if (recipient === "user") {
        const read = this.#event.by === "user" || this.#ordinal <= this.#chat.projection.reading.cursor;
        status.read_status.user = read;
        status.delivery_status.user = { state: read ? "read" : "pending", reason: "", ts: null };
      } else if (data.message_mode === "mail") {
        const cursor = this.#chat.projection.cursorOrdinal(recipient, this.#generation(recipient));
        if (!this.#isHistory) status.read_status[recipient] = this.#ordinal <= cursor;
      } else status.delivery_status[recipient] = this.#delivery(recipient);
    }
    return status;
  }

  /** By recipient, of a message that asks for a reply; else empty. */
  obligations(): Record<string, ObligationState> {
    const { data } = this.#event;
    if (data.message_mode !== "request_reply") return {};
    const { dst_group_id: dstGroupId, dst_instance_id: dstInstanceId } = data;
    let recipients = data.dst_to ?? [];
    if (dstInstanceId !== undefined) recipients = recipients.map((id) => remoteAuthor(dstInstanceId, id));
    else if (dstGroupId !== undefined) recipients = recipients.map((id) => `${dstGroupId}::${id}`);
    else recipients = data.to;
    const open = this.#chat.projection.obligations.get(this.#event.id)?.owed;
    const states: Record<string, ObligationState> = {};
    for (const recipient of recipients) {
      const state: ObligationState =
        open?.has(recipient) === true ? { state: "open" } : this.#closing(recipient);
      // No one owes an answer to an imported message.
      if (state.state !== "open" || !this.#isHistory) states[recipient] = state;
    }
    return states;
  }

  /**
   * The delivery status of a message to another instance (OUT-013, OUT-016); null for any other.
   */
  connectDelivery(): ConnectState | null {
    if (this.#event.data.dst_instance_id === undefined) return null;
    return this.#propagation(this.#event.id, this.#later());
  }

  /**
   * The status of a withdrawal between instances that was issued here (CAN-010, CAN-011); null if
   * there is none.
   */
  connectCancellation(): ConnectState | null {
    if (!isRemote(this.#event)) return null;
    const control = this.#later().find(({ kind }) => kind === "chat.reply_request.cancelled");
    // One that came from the other side is recorded in both Groups already.
    if (control === undefined) return null;
    if (control.by.startsWith("connect:")) return { state: "sent" };
    const { ledger } = this.#chat;
    const ordinal = ledger.ordinalOf(control.id);
    return this.#propagation(
      control.id,
      ordinal === undefined ? [] : ledger.readMany(ledger.related(ordinal)),
    );
  }

  /**
   * The receipt decides. Without one the outbox decides. If that has nothing either, the outcome is
   * unknown (MSG-059).
   */
  #propagation(eventId: string, later: readonly LedgerEvent[]): ConnectState {
    const receipt = receiptAmong(later);
    if (receipt === undefined) {
      // The outbox may still have the message of the Group that was exported, under the same id.
      const isActive = !this.#isHistory && this.#chat.remote?.isActive(eventId) === true;
      return { state: isActive ? "queued" : "unconfirmed" };
    }
    const { status, error, remote_event_id: remoteEventId } = receipt.data;
    const state: ConnectState = { state: status };
    if (error !== null) state.error = error;
    if (remoteEventId !== null) state.remote_event_id = remoteEventId;
    return state;
  }

  /**
   * The batch in which a direct message was delivered to an Actor, while it isn't known whether the
   * Actor took it; else null.
   */
  unproved(recipient: string): string | null {
    const { state } = this.#event.data.message_mode === "mail" ? { state: "" } : this.#delivery(recipient);
    if (state !== "claimed" && state !== "queued" && state !== "ambiguous") return null;
    return this.#lastDelivery(recipient)?.data.batch_id ?? null;
  }

  #lastDelivery(recipient: string): EventOf<"runtime.delivery"> | undefined {
    const deliveries = this.#later().filter((event) => event.kind === "runtime.delivery");
    return deliveries.findLast(
      ({ data }) =>
        data.actor_id === recipient &&
        data.actor_generation === this.#generation(recipient) &&
        data.reason !== HANDED_BACK,
    );
  }

  /** The latest event about a direct message. */
  #delivery(recipient: string): DeliveryStatus {
    const generation = this.#generation(recipient);
    const queue = this.#chat.projection.queue(recipient, generation);
    const returned = queue?.returned.get(this.#event.id);
    if (returned !== undefined || queue?.pending.has(this.#ordinal) === true) {
      return { state: "pending", reason: this.#whyWaiting(recipient, returned?.redelivered), ts: null };
    }
    const last = this.#lastDelivery(recipient);
    const ended = this.#chat.projection.hasEnded(recipient, generation);
    if (last === undefined) {
      if (this.#isHistory) return { state: "failed", reason: IMPORTED, ts: null };
      return { state: ended ? "failed" : "pending", reason: ended ? "actor_removed" : "", ts: null };
    }
    const { ts } = last;
    const { state, reason, transport, batch_id: batchId } = last.data;
    const isUnread = state === "queued" || reason === ENDED_UNREAD;
    if (this.#isHistory && isUnread) return { state: "failed", reason: IMPORTED, ts };
    if (this.#isHistory && state === "claimed") return { state: "ambiguous", reason: IMPORTED, ts };
    // It was never read, and now it can't be.
    if (ended && isUnread) return { state: "failed", reason: "actor_removed", ts };
    if (ended && state === "claimed") return { state: "ambiguous", reason: "actor_removed", ts };
    if (state === "claimed" && transport === "external" && !this.#chat.isHeld(recipient, String(batchId))) {
      return { state, reason: SESSION_ENDED, ts };
    }
    return { state, reason, ts };
  }

  #whyWaiting(recipient: string, comesAgain = false): string {
    const actor = this.#chat.group.record.actors.find(({ id }) => id === recipient);
    if (actor?.runner !== "pty") return "";
    const why = this.#chat.whyWaiting(recipient);
    return [comesAgain ? COMES_AGAIN : "", why].filter((part) => part !== "").join(": ");
  }

  #acrossStatus(): DeliveryStatus {
    const receipt = receiptAmong(this.#later());
    if (receipt === undefined) {
      return this.#isHistory
        ? { state: "failed", reason: IMPORTED, ts: null }
        : { state: "pending", reason: "", ts: null };
    }
    if (receipt.data.status === "sent")
      return { state: "accepted", reason: "recorded_there", ts: receipt.ts };
    return { state: "failed", reason: receipt.data.error?.code ?? "", ts: receipt.ts };
  }

  /** The reply or cancellation that came first. */
  #closing(recipient: string): ObligationState {
    const generation = this.#generation(recipient);
    for (const { kind, id, ts, by, data } of this.#later()) {
      if (kind === "chat.reply_request.cancelled" && data.recipients.includes(recipient)) {
        return { state: "cancelled", event_id: id, ts };
      }
      if (kind !== "chat.message" || !isReplyOf(recipient, authorOf(by, data.source_user_id))) continue;
      if (by === "user" || (data.sender_generation ?? "") === generation)
        return { state: "replied", event_id: id, ts };
    }
    return { state: "open" };
  }

  #generation(recipient: string): string {
    const { data } = this.#event;
    const across = data.dst_group_id !== undefined && recipient.includes("::");
    const generations = across ? data.dst_to_generations : data.to_generations;
    const id = across ? recipient.slice(recipient.indexOf("::") + 2) : recipient;
    return generations === undefined ? "" : (lookUp(generations, id) ?? "");
  }

  #later(): LedgerEvent[] {
    this.#related ??= this.#chat.ledger.readMany(this.#chat.ledger.related(this.#ordinal));
    return this.#related;
  }
}

/** The last receipt; it decides. */
export function receiptAmong(later: readonly LedgerEvent[]): EventOf<"chat.cross_group_receipt"> | undefined {
  return later.filter((event) => event.kind === "chat.cross_group_receipt").at(-1);
}
