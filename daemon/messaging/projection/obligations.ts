/**
 * Open reply obligations: one per recipient of a `request_reply` message, until it replies or the
 * request is cancelled. The first in append order wins (docs/core-model.md#inbox-and-obligations).
 * A part of the projection.
 */

import type { SavedObligation } from "./saved-projection.ts";

interface Owed {
  generation: string;
  noticed: boolean;
}

/** Who asked: the message's author (`authorOf`) in its generation; that of people is empty. */
export interface Asker {
  author: string;
  generation: string;
}

export interface Obligation {
  readonly id: string;
  readonly ordinal: number;
  readonly ts: string;
  readonly asker: Asker;
  /**
   * By recipient: an Actor's id, `user`, `<group_id>::<recipient>` for another Group,
   * `connect:<instance_id>::<recipient>` for another instance.
   */
  readonly owed: ReadonlyMap<string, Readonly<Owed>>;
}

interface Kept extends Obligation {
  owed: Map<string, Owed>;
}

/**
 * Whether a message of this author (`authorOf`) is the reply of `recipient`; the person answers
 * from any Group of this Home.
 */
export function isReplyOf(recipient: string, author: string): boolean {
  if (author === recipient) return true;
  return author === "user" && isPerson(recipient);
}

/** The person of this Home, in whichever Group. */
function isPerson(recipient: string): boolean {
  return recipient === "user" || (recipient.endsWith("::user") && !recipient.startsWith("connect:"));
}

export class Obligations {
  readonly #open = new Map<string, Kept>();
  /** Requests to the person by who asked, oldest first. */
  readonly #questions = new Map<string, Set<Obligation>>();
  readonly #ofPerson = new Set<Obligation>();
  #revision = 0;

  /** Requests to the person, oldest first. */
  get ofPerson(): ReadonlySet<Obligation> {
    return this.#ofPerson;
  }
  /** Changes with `ofPerson`. */
  get revision(): number {
    return this.#revision;
  }
  get size(): number {
    return this.#open.size;
  }

  get(id: string): Obligation | undefined {
    return this.#open.get(id);
  }

  /** The last request of this Actor that the person hasn't answered. */
  questionOf(author: string, generation: string): Obligation | undefined {
    return [...(this.#questions.get(askerKey({ author, generation })) ?? [])].at(-1);
  }

  /** Whether this Actor owes any reply. */
  owes(recipient: string, generation: string): boolean {
    for (const { owed } of this.#open.values()) {
      if (owed.get(recipient)?.generation === generation) return true;
    }
    return false;
  }

  all(): IterableIterator<Obligation> {
    return this.#open.values();
  }

  add(
    id: string,
    ordinal: number,
    ts: string,
    asker: Asker,
    recipients: readonly (readonly [recipient: string, generation: string, ...unknown[]])[],
  ): void {
    const owed = new Map<string, Owed>();
    for (const [recipient, generation] of recipients) owed.set(recipient, { generation, noticed: false });
    if (owed.size === 0) return;
    const obligation = { id, ordinal, ts, asker, owed };
    this.#open.set(id, obligation);
    if (owed.has("user")) {
      this.#ofPerson.add(obligation);
      this.#revision += 1;
    }
    if (![...owed.keys()].some(isPerson)) return;
    const key = askerKey(asker);
    const questions = this.#questions.get(key);
    if (questions === undefined) this.#questions.set(key, new Set([obligation]));
    else questions.add(obligation);
  }

  /** Records a reply. Returns who no longer owes one for this message. */
  replied(id: string, by: string, generation: string): string[] {
    const obligation = this.#open.get(id);
    if (obligation === undefined) return [];
    const closed: string[] = [];
    for (const [recipient, owed] of obligation.owed) {
      if (isReplyOf(recipient, by) && owed.generation === generation) closed.push(recipient);
    }
    this.#close(obligation, closed);
    return closed;
  }

  cancelled(id: string, recipients: readonly string[]): string[] {
    const obligation = this.#open.get(id);
    if (obligation === undefined) return [];
    const closed = recipients.filter((recipient) => obligation.owed.has(recipient));
    this.#close(obligation, closed);
    return closed;
  }

  noticed(id: string, recipient: string): void {
    const owed = this.#open.get(id)?.owed.get(recipient);
    if (owed !== undefined) owed.noticed = true;
  }

  clear(): void {
    this.#open.clear();
    this.#questions.clear();
    this.#ofPerson.clear();
    this.#revision += 1;
  }

  encode(): unknown[] {
    return [...this.#open.values()].map(({ id, ordinal, ts, asker, owed }) => [
      id,
      ordinal,
      ts,
      asker.author,
      asker.generation,
      [...owed].map(([recipient, { generation, noticed }]) => [recipient, generation, noticed]),
    ]);
  }

  decode(encoded: readonly SavedObligation[]): void {
    for (const [id, ordinal, ts, author, generation, owed] of encoded) {
      this.add(id, ordinal, ts, { author, generation }, owed);
      for (const [recipient, , noticed] of owed) if (noticed) this.noticed(id, recipient);
    }
  }

  #close(obligation: Kept, recipients: readonly string[]): void {
    for (const recipient of recipients) {
      if (!obligation.owed.delete(recipient) || recipient !== "user") continue;
      this.#ofPerson.delete(obligation);
      this.#revision += 1;
    }
    if (obligation.owed.size === 0) this.#open.delete(obligation.id);
    if ([...obligation.owed.keys()].some(isPerson)) return;
    const key = askerKey(obligation.asker);
    const questions = this.#questions.get(key);
    if (questions?.delete(obligation) === true && questions.size === 0) this.#questions.delete(key);
  }
}

function askerKey({ author, generation }: Asker): string {
  return `${author}/${generation}`;
}
