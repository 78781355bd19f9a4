/**
 * Who is at the other end of one connection of the local socket. The system is asked once, and only
 * when it matters: by then the connection waits, and nothing of it is read.
 */
import type { Socket } from "node:net";
import type { SocketPeers } from "../../../platform/process-table.ts";
import { OPERATIONS } from "../../../shared/operations/registry.ts";
import type { Ancestry, Lineage, Standing } from "../../access/lineage.ts";

/** Null where the system never says who is there. */
export type Watch = { peers: SocketPeers; lineage: Lineage } | null;

const WITH_KEY: Standing = { kind: "person", known: "key" };
const UNKNOWN: Standing = { kind: "unknown" };

export class Peer {
  readonly #socket: Socket;
  readonly #watch: Watch;
  readonly #since: number;
  #asking: Promise<void> | null = null;
  /** Undefined before it was asked. */
  #ancestry: Ancestry | null | undefined;

  constructor(socket: Socket, watch: Watch) {
    this.#socket = socket;
    this.#watch = watch;
    this.#since = watch?.lineage.uptime() ?? 0;
  }

  /** Whether to wait for `ask` before a call without a launch token. Null: for any call. */
  mustAsk(operation: string | null): boolean {
    if (this.#watch === null || this.#ancestry !== undefined) return false;
    if (this.#asking !== null || operation === null || this.#watch.lineage.isWatching) return true;
    return OPERATIONS.get(operation)?.decision !== false;
  }

  /** Pauses the socket's reading. Never rejects: what can't be asked now is asked the next time. */
  ask(): Promise<void> {
    this.#asking ??= this.#read().then(
      (ancestry) => {
        this.#ancestry = ancestry;
      },
      () => {
        this.#asking = null;
      },
    );
    return this.#asking;
  }

  /** As it is now: an Actor may have ended or begun since. */
  get standing(): Standing {
    if (this.#watch === null) return WITH_KEY;
    return this.#ancestry === undefined ? UNKNOWN : this.#watch.lineage.judge(this.#ancestry);
  }

  /** An Actor's session is open here: its process was started by the agent. */
  async connected(root: { group_id: string; actor_id: string; generation: string }): Promise<void> {
    if (this.#watch?.lineage.isUnseen(root) !== true) return;
    await this.ask();
    if (this.#ancestry) this.#watch.lineage.connect(root, this.#ancestry);
  }

  async #read(): Promise<Ancestry | null> {
    if (this.#watch === null) return null;
    const { peers, lineage } = this.#watch;
    const pid = await peers.pidOf(this.#socket);
    return pid === null ? null : lineage.read(pid, this.#since);
  }
}
