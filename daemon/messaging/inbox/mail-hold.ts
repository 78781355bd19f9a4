/**
 * Mail that an Actor's session got and hasn't acknowledged. It stays unread until then, and no one
 * else gets any in the meantime, so that the cursor moves forward in ledger order. It is kept in
 * memory. After a restart it is unread Mail like any other, except for the mark that it was
 * delivered before (`mail-mark.ts`).
 */
import type { Session } from "./sessions.ts";

/** The last Mail of a batch, up to which its acknowledgement moves the cursor. */
interface Taken {
  batch_id: string;
  event_id: string;
  ordinal: number;
  /**
   * Null if that session has ended. The batch can still be acknowledged by name until the Mail is
   * delivered again.
   */
  holder: Session | null;
}

export class MailHold {
  #taken: Taken | null = null;
  #handedOut = -1;
  #isRecalled = false;

  /** Ordinal of the last Mail that a living session holds, -1 for none. */
  get through(): number {
    return this.#taken !== null && this.#taken.holder !== null ? this.#taken.ordinal : -1;
  }

  /** Whether Mail up to this ordinal has left the daemon before. */
  wasHandedOut(ordinal: number): boolean {
    return ordinal <= this.#handedOut;
  }

  /** Takes over, once, what an earlier run delivered last. */
  recall(handedOut: () => number): void {
    if (this.#isRecalled) return;
    this.#isRecalled = true;
    this.#handedOut = Math.max(this.#handedOut, handedOut());
  }

  /** Says whether it goes beyond everything that was delivered before. */
  take(taken: Taken): boolean {
    this.#taken = taken;
    if (taken.ordinal <= this.#handedOut) return false;
    this.#handedOut = taken.ordinal;
    return true;
  }

  /** The session is over. Says whether it held any. */
  release(session: Session): boolean {
    if (this.#taken?.holder !== session) return false;
    this.#taken = { ...this.#taken, holder: null };
    return true;
  }

  /**
   * The Mail of this batch. Null if it had none, or if the Mail has been acknowledged or delivered
   * again since.
   */
  of(batchId: string): Pick<Taken, "event_id" | "ordinal"> | null {
    return this.#taken?.batch_id === batchId ? this.#taken : null;
  }

  /** The cursor has moved for this batch. */
  settle(batchId: string): void {
    if (this.#taken?.batch_id === batchId) this.#taken = null;
  }
}
