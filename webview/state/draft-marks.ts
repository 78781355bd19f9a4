/** The Groups in which this browser or editor window has unsent text, for the list of Groups. */
import { Store } from "../controls/store.ts";
import type { Host } from "../hosts/host.ts";
import { type Draft, isBlank } from "./draft.ts";

const KEY = "drafts";

export class DraftMarks extends Store {
  readonly #host: Pick<Host, "remember" | "recall">;

  constructor(host: Pick<Host, "remember" | "recall">) {
    super();
    this.#host = host;
  }

  /** Other windows of the same browser mark theirs in the same place. */
  get groupIds(): ReadonlySet<string> {
    const kept = this.#host.recall(KEY);
    return new Set(Array.isArray(kept) ? kept.filter((id) => typeof id === "string") : []);
  }

  mark(groupId: string, draft: Readonly<Draft>): void {
    const marked = new Set(this.groupIds);
    const is = !isBlank(draft);
    if (marked.has(groupId) === is) return;
    if (is) marked.add(groupId);
    else marked.delete(groupId);
    this.#host.remember(KEY, marked.size === 0 ? null : [...marked]);
    this.changed();
  }
}
