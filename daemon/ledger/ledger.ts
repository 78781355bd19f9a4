/** A Group's ledger: durable append, index, reads, following (core-model.md, "Ledger"). */
import type { Refusal } from "../../shared/errors.ts";
import type { LedgerEvent } from "../../shared/events.ts";
import type { Clock } from "../platform/clock.ts";
import type { Files } from "../platform/files.ts";
import type { Random } from "../platform/random.ts";
import type {
  LedgerOptions,
  NewEvent,
  Ordinal,
  Page,
  PageRequest,
  Placed,
  SearchPage,
  SearchRequest,
  Window,
  WindowRequest,
} from "./types.ts";

/** Called once: with the event's place when it is durable, or with the refusal. */
export type AppendDone = (refusal: Refusal | null, placed?: Placed) => void;

export interface LedgerDependencies {
  files: Files;
  clock: Clock;
  random: Random;
}

export class Ledger {
  static open(_deps: LedgerDependencies, _directory: string, _options: LedgerOptions): Promise<Ledger> {
    throw new Error("not yet");
  }
  get count(): number {
    throw new Error("not yet");
  }
  /** -1 when empty. */
  get lastOrdinal(): Ordinal {
    throw new Error("not yet");
  }
  append(_event: NewEvent): Promise<Placed> {
    throw new Error("not yet");
  }
  /** The same with a callback, for the hot path. */
  submit(_event: NewEvent, _done: AppendDone): void {
    throw new Error("not yet");
  }
  appendAll(_events: NewEvent[]): Promise<Placed[]> {
    throw new Error("not yet");
  }
  ordinalOf(_id: string): Ordinal | undefined {
    throw new Error("not yet");
  }
  byKey(_key: string): Ordinal | undefined {
    throw new Error("not yet");
  }
  read(_ordinal: Ordinal): LedgerEvent {
    throw new Error("not yet");
  }
  readById(_id: string): LedgerEvent {
    throw new Error("not yet");
  }
  /** Later events that refer to this one, oldest first. */
  related(_ordinal: Ordinal): Ordinal[] {
    throw new Error("not yet");
  }
  page(_request: PageRequest): Page {
    throw new Error("not yet");
  }
  window(_request: WindowRequest): Window {
    throw new Error("not yet");
  }
  search(_request: SearchRequest): SearchPage {
    throw new Error("not yet");
  }
  follow(_listener: (placed: readonly Placed[]) => void): () => void {
    throw new Error("not yet");
  }
  compact(): Promise<{ sealed: { number: number; events: number; bytes: number } | null }> {
    throw new Error("not yet");
  }
  verify(): Promise<{ events: number; segments: number; problems: string[] }> {
    throw new Error("not yet");
  }
  close(): Promise<void> {
    throw new Error("not yet");
  }
}
