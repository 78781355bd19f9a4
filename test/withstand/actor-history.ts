/** What one external Actor was handed, and whether it may have been. Pure. */
import type { LedgerEvent } from "../../shared/events.ts";

export interface Handed {
  event: LedgerEvent;
  delivery: string;
  redelivered: boolean;
}

interface Taken {
  delivery: string;
  state: "open" | "perhaps" | "acknowledged";
}

export class ActorHistory {
  readonly actor_id: string;
  readonly #taken = new Map<string, Taken>();
  /** Ordinal of the last Mail that was acknowledged. */
  #mail = -1;
  #cursor = -1;

  constructor(actorId: string) {
    this.actor_id = actorId;
  }

  /**
   * A batch that arrived. `acked` are the messages that the request acknowledged; `place` gives an
   * event's ordinal or -1. Answers what is wrong.
   */
  batch(
    messages: readonly Handed[],
    acked: readonly string[],
    cursor: number,
    place: (id: string) => number,
  ): string[] {
    const problems: string[] = [];
    for (const id of acked) {
      if (this.#taken.get(id)?.delivery === "mail") this.#mail = Math.max(this.#mail, place(id));
      this.#taken.set(id, { delivery: this.#taken.get(id)?.delivery ?? "", state: "acknowledged" });
    }
    let last = this.#mail;
    for (const { event, delivery, redelivered } of messages) {
      const before = this.#taken.get(event.id)?.state;
      if (before === "acknowledged")
        problems.push(`${this.actor_id} acknowledged ${event.id} and got it again`);
      // Held Mail is marked from memory, which a crash takes along; a claim is in the ledger.
      if (delivery === "direct" && before !== undefined && !redelivered) {
        problems.push(`${this.actor_id} got ${event.id} again without redelivered`);
      }
      if (delivery === "mail") {
        if (place(event.id) <= last) problems.push(`${this.actor_id} got the Mail ${event.id} out of order`);
        last = Math.max(last, place(event.id));
      }
      if (before !== "acknowledged") this.#taken.set(event.id, { delivery, state: "open" });
    }
    return [...problems, ...this.cursorAt(cursor)];
  }

  /** A request that would have acknowledged these got no answer. */
  lostAcknowledgement(acked: readonly string[]): void {
    for (const id of acked) {
      const taken = this.#taken.get(id);
      if (taken?.state === "open") taken.state = "perhaps";
    }
  }

  /** The Mail cursor as it was answered; it never goes back. */
  cursorAt(ordinal: number): string[] {
    const problems = ordinal < this.#cursor ? [`the Mail cursor of ${this.actor_id} went back`] : [];
    this.#cursor = Math.max(this.#cursor, ordinal);
    return problems;
  }

  /** Messages that must still be handed out, or whose acknowledgement isn't certain. */
  unacknowledged(): string[] {
    return [...this.#taken].filter(([, { state }]) => state !== "acknowledged").map(([id]) => id);
  }

  hasTaken(id: string): boolean {
    return this.#taken.has(id);
  }

  isAcknowledged(id: string): boolean {
    return this.#taken.get(id)?.state === "acknowledged";
  }
}
