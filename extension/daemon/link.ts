/**
 * Whether a daemon answers at a Home, and which one, as the window's one connection tells. It knows
 * nothing of the editor.
 */
import { EventEmitter } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import type { DaemonClient } from "../../client/client.ts";
import { DaemonUnreachable } from "../../client/failures.ts";
import { WindowLink } from "../../client/link/window-link.ts";
import { LIMITS } from "../../shared/limits.ts";
import type { ResultOf } from "../../shared/operations/registry.ts";
import type { Connection, GroupsListener } from "../../shared/stream-client/listeners.ts";

export type DaemonStatus = ResultOf<"daemon_status">;

/** `unknown` before the first attempt; `absent` when none answers at the Home. */
export type LinkState = "unknown" | "connecting" | "online" | "absent";

interface LinkEvents {
  /** The state or the status changed. */
  state: [];
}

export class DaemonLink extends EventEmitter<LinkEvents> {
  /** Everything of this window goes through it. */
  readonly window: WindowLink;
  #state: LinkState = "unknown";
  #status: DaemonStatus | null = null;
  #problem: string | null = null;
  /** Which connection is the current one: what an earlier one still answers doesn't count. */
  #connection = 0;

  constructor(readonly home: string) {
    super();
    this.window = new WindowLink(home, (error) => this.#lose(error));
  }

  get client(): DaemonClient {
    return this.window.client;
  }

  get state(): LinkState {
    return this.#state;
  }

  /** The running daemon's; null while none answers. */
  get status(): DaemonStatus | null {
    return this.#status;
  }

  /** Why no daemon answers, in words; null while one does. */
  get problem(): string | null {
    return this.#problem;
  }

  /** Begins to follow the daemon, also one that is started later, and tells `groups` of them. */
  open(groups: GroupsListener): void {
    this.#set("connecting");
    this.window.watchGroups(groups);
    this.window.watchConnection((connection) => this.#connected(connection));
  }

  /** Ends it for good. */
  close(): void {
    this.#connection += 1;
    this.window.close();
    this.#status = null;
    this.#set("unknown");
  }

  /** Tries now instead of at the end of the pause. */
  retry(): void {
    this.window.retry();
  }

  /**
   * Resolves once a daemon answers. Throws after `milliseconds`.
   */
  async online(milliseconds: number): Promise<DaemonStatus> {
    const deadline = Date.now() + milliseconds;
    for (;;) {
      if (this.#status !== null) return this.#status;
      if (Date.now() > deadline) throw new Error(this.#problem ?? "The daemon doesn't answer.");
      this.retry();
      await delay(LOOK_AGAIN_MS);
    }
  }

  #connected({ state }: Connection): void {
    if (state === "online" && this.#status === null) void this.#greet();
  }

  /** Asks until the daemon says which one it is, or the connection is lost. */
  async #greet(): Promise<void> {
    this.#connection += 1;
    const connection = this.#connection;
    const { statusSeconds: answerSeconds, retryMillisecondsMax } = LIMITS.client;
    for (; connection === this.#connection; await delay(retryMillisecondsMax)) {
      try {
        const status = await this.client.result("daemon_status", {}, { answerSeconds });
        if (connection !== this.#connection) return;
        this.#status = status;
        this.#problem = null;
        this.#set("online");
        return;
      } catch (error) {
        if (connection === this.#connection) this.#say(error);
      }
    }
  }

  #lose(error: unknown): void {
    this.#connection += 1;
    this.#status = null;
    this.#say(error);
  }

  #say(error: unknown): void {
    this.#problem = error instanceof Error ? error.message : String(error);
    // A frozen daemon is there: it is waited for, and not started again.
    this.#set(error instanceof DaemonUnreachable && error.mayRun ? "connecting" : "absent");
  }

  #set(state: LinkState): void {
    this.#state = state;
    this.emit("state");
  }
}

const LOOK_AGAIN_MS = 25;
