/** Connections of one Group as the daemon has them, polled while someone is looking. */
import type { Connection } from "../../shared/operations/connect.ts";
import type { ResultOf } from "../../shared/operations/registry.ts";
import { Store } from "../controls/store.ts";
import { type Host, HostError } from "../hosts/host.ts";

export type DirectStatus = ResultOf<"connect_direct_status">;
export type SharingStatus = ResultOf<"connect_group_status">;

export class GroupConnections extends Store {
  readonly #host: Pick<Host, "call">;
  readonly #groupId: string;
  readonly #everyMs: number;
  readonly #looking: () => boolean;
  status: DirectStatus | null = null;
  /** What the daemon says of every connection of the Group, whatever its kind. */
  list: readonly Connection[] = [];
  /** What the account service confirmed about Groups of other accounts; null until it is read. */
  sharing: SharingStatus | null = null;
  /** This instance's id; null until it is known. */
  instanceId: string | null = null;
  /** Why what is shown may be old. */
  failure: string | null = null;
  #timer: ReturnType<typeof setTimeout> | null = null;
  /** The number of requests so far, and the one that the latest answer belongs to. */
  #asked = 0;
  #answered = 0;
  #closed = false;

  /** Polls every `everyMs` while someone is `looking`. */
  constructor(host: Pick<Host, "call">, groupId: string, everyMs: number, looking: () => boolean) {
    super();
    this.#host = host;
    this.#groupId = groupId;
    this.#everyMs = everyMs;
    this.#looking = looking;
  }

  open(): void {
    this.#closed = false;
    if (this.#timer !== null) clearTimeout(this.#timer);
    void this.#poll();
  }

  /** Finds out which instance this is. */
  async identify(): Promise<void> {
    try {
      this.instanceId = (await this.#host.call("daemon_status", {})).instance_id;
      this.changed();
    } catch {
      // Offline. The next look at the connections shows that, and then this is requested again.
    }
  }

  close(): void {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  /** Asks now, after a change. */
  async refresh(): Promise<void> {
    this.#asked += 1;
    const turn = this.#asked;
    let status: DirectStatus | null = null;
    let { list, sharing } = this;
    let failure: string | null = null;
    try {
      const input = { group_id: this.#groupId };
      const [direct, { connections }, shared] = await Promise.all([
        this.#host.call("connect_direct_status", input),
        this.#host.call("connection_list", input),
        this.#host.call("connect_group_status", input),
      ]);
      status = direct;
      list = connections;
      sharing = shared;
    } catch (error) {
      failure = error instanceof HostError ? error.message : String(error);
    }
    // An answer that arrives after that of a later request is outdated.
    if (turn < this.#answered) return;
    this.#answered = turn;
    const before = this.#shown();
    if (status !== null) this.status = status;
    this.list = list;
    this.sharing = sharing;
    this.failure = failure;
    if (!this.#closed && before !== this.#shown()) this.changed();
  }

  /** What another one has learnt in the meantime. */
  take({ status, list, sharing }: GroupConnections): void {
    if (status === this.status && list === this.list && sharing === this.sharing) return;
    this.status = status;
    this.list = list;
    this.sharing = sharing;
    this.changed();
  }

  async #poll(): Promise<void> {
    if (this.#looking()) await this.refresh();
    if (this.#closed) return;
    this.#timer = setTimeout(() => void this.#poll(), this.#everyMs);
  }

  /** Everything but the time of the daemon's last look, so that nothing is redrawn needlessly. */
  #shown(): string {
    const runtime = this.status?.runtime ?? null;
    return JSON.stringify([
      this.status === null ? null : { ...this.status, runtime: runtime && { ...runtime, checked_at: "" } },
      this.list,
      this.sharing,
      this.failure,
    ]);
  }
}
