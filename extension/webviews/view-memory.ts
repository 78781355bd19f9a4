/**
 * Small view state of a window's webviews, which outlives them: arrangement, places, unsaved text.
 */
import { LIMITS } from "../../shared/limits.ts";

const { memoryKeys, memoryCharacters } = LIMITS.webview;

/** Where it is kept, such as an editor's workspace state. */
export interface Keeper {
  get(): unknown;
  set(values: Record<string, string>): void;
}

export class ViewMemory {
  readonly #keeper: Keeper;
  /** Oldest change first. */
  readonly #values: Map<string, string>;

  constructor(keeper: Keeper) {
    this.#keeper = keeper;
    const kept = keeper.get();
    this.#values = new Map(
      typeof kept === "object" && kept !== null
        ? Object.entries(kept).filter((entry): entry is [string, string] => typeof entry[1] === "string")
        : [],
    );
  }

  all(): Record<string, string> {
    return Object.fromEntries(this.#values);
  }

  /** Null forgets. Beyond the limits, the oldest is forgotten. */
  remember(key: string, value: string | null): void {
    const before = this.#values.get(key) ?? null;
    if (before === value) return;
    this.#values.delete(key);
    if (value !== null) this.#values.set(key, value);
    let characters = 0;
    for (const kept of this.#values.values()) characters += kept.length;
    for (const [oldest, kept] of this.#values) {
      if (this.#values.size <= memoryKeys && characters <= memoryCharacters) break;
      this.#values.delete(oldest);
      characters -= kept.length;
    }
    this.#keeper.set(this.all());
  }
}
