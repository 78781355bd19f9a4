/** What messaging asks of the Connect room, which stands above it: replies and cancellations that leave this instance. */
import type { LedgerEvent } from "../../shared/events.ts";
import type { Caller } from "../../shared/operations/caller.ts";
import type { GroupRoom } from "./group-room.ts";
import type { Author, Said } from "./message-event.ts";

/** An event with its place in the Group's ledger. */
export interface Located {
  ordinal: number;
  event: LedgerEvent;
}

/** A reply to a message that came from or went to another instance. */
export interface RemoteReply {
  /** The message that is answered, as it stands here. */
  original: Located;
  mode: "send" | "mail" | undefined;
  /** As written; empty for all that the original allows (RPL-010). */
  to: readonly string[];
}

export interface RemoteMessages {
  /** Whether the outbox has active work for this message or cancellation. */
  isActive(source_event_id: string): boolean;
  /**
   * Queues a reply and records it here; answers its source event. Throws what sending throws, invalid_recipient for an audience that the
   * original doesn't allow, permission_denied, or connect_receipt_required for a follow-up before the original's receipt (RPL-004).
   */
  reply(
    room: GroupRoom,
    said: Said,
    reply: RemoteReply,
    caller: Caller,
    digest: string | undefined,
  ): Promise<LedgerEvent>;
  /** The same checks without doing anything (MSG-048). */
  checkReply(room: GroupRoom, reply: RemoteReply, author: Author): void;
  /** Reserves the control, then records the withdrawal here; answers its event (CAN-013). */
  cancel(
    room: GroupRoom,
    original: Located,
    caller: Caller,
    withdrawal: { recipients: string[]; client_id: string | undefined },
  ): Promise<LedgerEvent>;
  /** At the start, before files are settled: records accepted messages that a crash kept out of the ledger (OUT-021). */
  recover(room: GroupRoom): Promise<void>;
}
