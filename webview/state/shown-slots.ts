/**
 * What the Group's slots show now, and which of that the person hasn't looked at in this browser.
 */
import type { LedgerEvent } from "../../shared/events.ts";
import type { Presentation } from "../../shared/operations/presentations.ts";
import { Store } from "../controls/store.ts";
import type { Host } from "../hosts/host.ts";

export class ShownSlots extends Store {
  readonly #host: Pick<Host, "call" | "remember" | "recall">;
  readonly #groupId: string;
  #reading = 0;
  /** By slot. */
  list: readonly Presentation[] = [];

  constructor(host: Pick<Host, "call" | "remember" | "recall">, groupId: string) {
    super();
    this.#host = host;
    this.#groupId = groupId;
  }

  /** Newest first. */
  get unseen(): readonly Presentation[] {
    const kept = this.#host.recall(this.#key);
    const seen = Array.isArray(kept) ? kept : [];
    return this.list
      .filter(({ by, event_id: id }) => by !== "user" && !seen.includes(id))
      .sort((one, other) => (one.ts < other.ts ? 1 : -1));
  }

  /** Where to begin to look: at what is new, else at the first that shows something. */
  get first(): number {
    return (this.unseen[0] ?? this.list[0])?.slot ?? 1;
  }

  /** The person has it in view. */
  see({ event_id: id }: Presentation): void {
    if (this.unseen.every((one) => one.event_id !== id)) return;
    const left = new Set(this.unseen.map((one) => one.event_id));
    const seen = this.list.map((one) => one.event_id).filter((one) => one === id || !left.has(one));
    this.#host.remember(this.#key, seen);
    this.changed();
  }

  /** Takes a new event of the Group. */
  take({ kind }: LedgerEvent): void {
    if (/^(presentation\.|group\.reset)/.test(kind)) void this.read();
  }

  async read(): Promise<void> {
    const reading = ++this.#reading;
    try {
      const { slots } = await this.#host.call("presentation_list", { group_id: this.#groupId });
      if (reading !== this.#reading) return;
      this.list = slots.flatMap(({ presentation }) => presentation ?? []);
      this.changed();
    } catch {
      // The connection shows that. Its return opens the feed again.
    }
  }

  get #key(): string {
    return `presentations-seen/${this.#groupId}`;
  }
}
