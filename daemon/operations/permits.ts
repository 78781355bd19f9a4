/**
 * The permits that the dispatcher takes around handlers: the Home's, or the Group's own
 * (docs/architecture.md#rules).
 */

import { Mutex, type Release } from "../../platform/mutex.ts";
import { Refusal } from "../../shared/errors.ts";
import type { LockKind } from "../../shared/operations/contract.ts";

export class Permits {
  readonly #home = new Mutex();
  readonly #permitOf: (groupId: string) => Mutex;
  #closed = false;

  /** `permitOf` gives an open Group's permit or throws `group_not_found` or `group_unavailable`. */
  constructor(permitOf: (groupId: string) => Mutex) {
    this.#permitOf = permitOf;
  }

  /**
   * The permit for an operation of this kind, at once if nothing is in the way. Operations of the
   * kind `home_write` that remove a Group request its permit themselves. Throws or rejects with
   * `shutting_down` after `close`.
   */
  acquire(kind: LockKind, groupId: string | undefined): Release | Promise<Release> {
    if (kind === "none") return nothing;
    if (this.#closed) throw new Refusal("shutting_down");
    if (kind === "home_write") return this.#home.acquireWrite();
    if (groupId === undefined) throw new Error("a Group permit needs a group_id");
    const mutex = this.#permitOf(groupId);
    if (kind === "group_write") return mutex.acquireWrite();
    return mutex.tryRead() ?? mutex.acquireRead();
  }

  /** Refuses calls that wait for the Home, and later ones that need a permit. */
  close(): void {
    this.#closed = true;
    this.#home.destroy(new Refusal("shutting_down"));
  }
}

function nothing(): void {}
