/** The link to an account and its instances as the daemon has them, polled while someone looks. */
import { sharedCount } from "../../shared/any-connection-words.ts";
import type { Connection } from "../../shared/operations/connect.ts";
import type { ResultOf } from "../../shared/operations/registry.ts";
import { Store } from "../controls/store.ts";
import { type Host, HostError } from "../hosts/host.ts";

export type AccountShown = ResultOf<"account_show">;

export class AccountLink extends Store {
  readonly #host: Pick<Host, "call">;
  readonly #everyMs: number;
  readonly #looking: () => boolean;
  shown: AccountShown | null = null;
  /** Those that every Group here may use. */
  connections: readonly Connection[] = [];
  /** Of all Groups here, to Groups of other accounts, whether or not they are confirmed now. */
  #external: readonly Connection[] = [];
  #counts: ResultOf<"connect_status">["group_connections"] = null;
  /** Why what is shown may be old. */
  failure: string | null = null;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #asked = 0;
  #answered = 0;
  #isOpen = false;

  /** Polls every `everyMs` while someone is `looking`. */
  constructor(host: Pick<Host, "call">, everyMs: number, looking: () => boolean) {
    super();
    this.#host = host;
    this.#everyMs = everyMs;
    this.#looking = looking;
  }

  open(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    void this.#poll();
  }

  close(): void {
    this.#isOpen = false;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  /**
   * With how many Groups of other accounts a Group is connected. Null while the account service
   * doesn't confirm the connections that are known.
   */
  sharedBy(groupId: string): number | null {
    const count = sharedCount(this.#counts, groupId, Date.now());
    return count ?? (this.#external.some(({ group_id: own }) => own === groupId) ? null : 0);
  }

  /** Asks now, after a change. */
  async refresh(): Promise<void> {
    this.#asked += 1;
    const turn = this.#asked;
    const before = this.#all();
    try {
      const [shown, { connections }, { group_connections: counts }] = await Promise.all([
        this.#host.call("account_show", {}),
        this.#host.call("connection_list", {}),
        this.#host.call("connect_status", {}),
      ]);
      // An answer that arrives after that of a later request is outdated.
      if (turn < this.#answered) return;
      this.shown = shown;
      this.connections = connections.filter(({ group_id: groupId }) => groupId === null);
      this.#external = connections.filter(({ kind }) => kind === "external");
      this.#counts = counts;
      this.failure = null;
    } catch (error) {
      if (turn < this.#answered) return;
      this.failure = error instanceof HostError ? error.message : String(error);
    }
    this.#answered = turn;
    if (before !== this.#all()) this.changed();
  }

  #all(): string {
    return JSON.stringify([this.shown, this.connections, this.#external, this.#counts, this.failure]);
  }

  async #poll(): Promise<void> {
    if (this.#looking()) await this.refresh();
    if (this.#isOpen) this.#timer = setTimeout(() => void this.#poll(), this.#everyMs);
  }
}
