/** What keys, references and projections need of an event in memory. */
import type { LedgerEvent } from "../../shared/events.ts";
import type { EventHead } from "./types.ts";

/** The same interface for an event in memory: a new append, or a line of another layout. */
export class ParsedHead implements EventHead {
  readonly #event: LedgerEvent;

  constructor(event: LedgerEvent) {
    this.#event = event;
  }

  get id(): string {
    return this.#event.id;
  }
  get ts(): string {
    return this.#event.ts;
  }
  get kind(): string {
    return this.#event.kind;
  }
  get scope_key(): string {
    return this.#event.scope_key;
  }
  get by(): string {
    return this.#event.by;
  }
  get data(): Record<string, unknown> {
    return this.#event.data;
  }

  string(name: string): string | undefined {
    const value = this.data[name];
    return typeof value === "string" ? value : undefined;
  }
}
