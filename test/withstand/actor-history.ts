/** What one external Actor was handed, and whether it may have been. Pure. */
import type { LedgerEvent } from "../../shared/events.ts";

export interface Handed {
  event: LedgerEvent;
  delivery: string;
  redelivered: boolean;
}

type Taken = "open" | "perhaps" | "acknowledged";

export class ActorHistory {
  readonly actor_id: string;
  readonly #direct = new Map<string, Taken>();
  #mail = -1;
  #cursor = -1;

  constructor(actor_id: string) {
    this.actor_id = actor_id;
  }

  /**
   * A batch that arrived. `acked` are the direct messages that the request acknowledged; `place` gives an event's ordinal or -1. Answers
   * what is wrong.
   */
  batch(
    messages: readonly Handed[],
    acked: readonly string[],
    cursor: number,
    place: (id: string) => number,
  ): string[] {
    const problems: string[] = [];
    for (const id of acked) this.#direct.set(id, "acknowledged");
    for (const { event, delivery, redelivered } of messages) {
      if (delivery === "mail") {
        const ordinal = place(event.id);
        if (ordinal <= this.#mail)
          problems.push(`${this.actor_id} got the Mail ${event.id} twice or out of order`);
        this.#mail = Math.max(ordinal, this.#mail);
      } else if (delivery === "direct") {
        const before = this.#direct.get(event.id);
        if (before === "acknowledged")
          problems.push(`${this.actor_id} acknowledged ${event.id} and got it again`);
        else if (before !== undefined && !redelivered) {
          problems.push(`${this.actor_id} got ${event.id} again without redelivered`);
        }
        if (before !== "acknowledged") this.#direct.set(event.id, "open");
      }
    }
    return [...problems, ...this.cursorAt(cursor)];
  }

  /** A request that would have acknowledged these got no answer. */
  lostAcknowledgement(acked: readonly string[]): void {
    for (const id of acked) if (this.#direct.get(id) === "open") this.#direct.set(id, "perhaps");
  }

  /** The Mail cursor as it was answered; it never goes back. */
  cursorAt(ordinal: number): string[] {
    const problems = ordinal < this.#cursor ? [`the Mail cursor of ${this.actor_id} went back`] : [];
    this.#cursor = Math.max(this.#cursor, ordinal);
    return problems;
  }

  /** Direct messages that must still be handed out, or whose acknowledgement isn't certain. */
  unacknowledged(): string[] {
    return [...this.#direct].filter(([, taken]) => taken !== "acknowledged").map(([id]) => id);
  }

  hasTaken(id: string): boolean {
    return this.#direct.has(id);
  }

  isAcknowledged(id: string): boolean {
    return this.#direct.get(id) === "acknowledged";
  }
}
