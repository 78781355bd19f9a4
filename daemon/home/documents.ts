/** Owner-only JSON documents that survive a crash at any point. */
import type * as z from "zod";
import type { Files } from "../platform/files.ts";

export interface DocumentOptions<T extends { v: number }> {
  files: Files;
  path: string;
  /** The newest format that this program reads and the one it writes. */
  version: number;
  schema: z.ZodType<T>;
}

/** One JSON file with its last durable value in memory. Changes are applied one after the other. */
export class JsonDocument<T extends { v: number }> {
  /** Opens the file; null when there is none. Refuses what it can't read and leaves the bytes alone. */
  static read<T extends { v: number }>(_options: DocumentOptions<T>): Promise<JsonDocument<T> | null> {
    throw new Error("not yet");
  }
  /** Writes a document over whatever is there. */
  static create<T extends { v: number }>(_options: DocumentOptions<T>, _value: T): Promise<JsonDocument<T>> {
    throw new Error("not yet");
  }
  /** The last value known to be durable; not to be changed in place. */
  get value(): Readonly<T> {
    throw new Error("not yet");
  }
  /** Durable when resolved; on a failure the old value stays. `change` may throw to leave everything alone. */
  update(_change: (value: Readonly<T>) => T): Promise<Readonly<T>> {
    throw new Error("not yet");
  }
}
