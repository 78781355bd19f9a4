/** The link to an account and its instances as the daemon has them, polled while someone looks. */
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

  /** Asks now, after a change. */
  async refresh(): Promise<void> {
    this.#asked += 1;
    const turn = this.#asked;
    const before = JSON.stringify([this.shown, this.connections, this.failure]);
    try {
      const [shown, { connections }] = await Promise.all([
        this.#host.call("account_show", {}),
        this.#host.call("connection_list", {}),
      ]);
      // An answer that arrives after that of a later request is outdated.
      if (turn < this.#answered) return;
      this.shown = shown;
      this.connections = connections.filter(({ group_id: groupId }) => groupId === null);
      this.failure = null;
    } catch (error) {
      if (turn < this.#answered) return;
      this.failure = error instanceof HostError ? error.message : String(error);
    }
    this.#answered = turn;
    if (before !== JSON.stringify([this.shown, this.connections, this.failure])) this.changed();
  }

  async #poll(): Promise<void> {
    if (this.#looking()) await this.refresh();
    if (this.#isOpen) this.#timer = setTimeout(() => void this.#poll(), this.#everyMs);
  }
}
