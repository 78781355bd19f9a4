/** Which waits each person was told of. A window claims before it announces, so that one does. */
import type { Caller } from "../../shared/operations/caller.ts";

/**
 * Whose notifications a caller's are: the owner's, whichever browser or editor, or those of the
 * holder of a restricted token.
 */
export function personOf(caller: Caller): string {
  return caller.kind === "member" ? caller.token_id : "owner";
}

export class Claims {
  /** By the key of what waits. */
  readonly #told = new Map<string, Set<string>>();

  /** Whether this is the first claim for the person. */
  claim(key: string, person: string): boolean {
    const told = this.#told.get(key);
    if (told === undefined) this.#told.set(key, new Set([person]));
    else if (told.has(person)) return false;
    else told.add(person);
    return true;
  }

  has(key: string, person: string): boolean {
    return this.#told.get(key)?.has(person) ?? false;
  }

  /** Keeps only what is still to be known. */
  retain(isKept: (key: string) => boolean): void {
    for (const key of this.#told.keys()) if (!isKept(key)) this.#told.delete(key);
  }
}
