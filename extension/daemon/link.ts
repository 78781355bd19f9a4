/**
 * This window's one connection to the daemon of a Home: one event stream, the calls, and whether
 * anyone answers. It knows nothing of the editor.
 */
import { EventEmitter } from "node:events";
import { DaemonClient } from "../../client/client.ts";
import { followInstance, type InstanceEvent } from "../../client/events.ts";
import { DaemonSilent } from "../../client/failures.ts";
import { LIMITS } from "../../shared/limits.ts";
import type { ResultOf } from "../../shared/operations/registry.ts";

export type DaemonStatus = ResultOf<"daemon_status">;

/** `unknown` before the first attempt; `absent` when none answers at the Home. */
export type LinkState = "unknown" | "connecting" | "online" | "absent";

interface LinkEvents {
  /** The state or the status changed. */
  state: [];
  /** What the daemon's stream says, in order. */
  event: [InstanceEvent];
}

export class DaemonLink extends EventEmitter<LinkEvents> {
  readonly client: DaemonClient;
  #state: LinkState = "unknown";
  #status: DaemonStatus | null = null;
  #problem: string | null = null;
  #controller: AbortController | null = null;
  #wake: () => void = () => {};

  constructor(readonly home: string) {
    super();
    this.client = new DaemonClient(home, null);
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

  /** Begins to follow the daemon, also one that is started later. */
  open(): void {
    if (this.#controller !== null) return;
    this.#controller = new AbortController();
    this.#set("connecting");
    void this.#follow(this.#controller.signal);
  }

  close(): void {
    this.#controller?.abort();
    this.#controller = null;
    this.client.close();
    this.#status = null;
    this.#set("unknown");
  }

  /** Tries now instead of at the end of the pause. */
  retry(): void {
    this.#wake();
  }

  /**
   * Resolves once a daemon answers. Throws after `milliseconds`, or when `isOver` says that none
   * will come.
   */
  async online(milliseconds: number, isOver: () => string | null = () => null): Promise<DaemonStatus> {
    const deadline = Date.now() + milliseconds;
    for (;;) {
      if (this.#status !== null) return this.#status;
      const over = isOver();
      if (over !== null) throw new Error(over);
      if (Date.now() > deadline) throw new Error(this.#problem ?? "The daemon doesn't answer.");
      this.retry();
      await new Promise((resolve) => {
        setTimeout(resolve, LOOK_AGAIN_MS);
      });
    }
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const pause = (milliseconds: number) => this.#pause(milliseconds, signal);
    while (!signal.aborted) {
      try {
        for await (const event of followInstance({ client: this.client, signal, pause })) {
          if (event.type === "connected") await this.#greet(signal);
          else if (event.type === "lost") this.#lose(event.error);
          if (signal.aborted) return;
          this.emit("event", event);
        }
      } catch (error) {
        if (signal.aborted) return;
        this.#lose(error);
        await pause(LIMITS.client.retryMillisecondsMax);
      }
    }
  }

  async #greet(signal: AbortSignal): Promise<void> {
    const status = await this.client.result(
      "daemon_status",
      {},
      { signal, answerSeconds: LIMITS.client.statusSeconds },
    );
    this.#status = status;
    this.#problem = null;
    this.#set("online");
  }

  #lose(error: unknown): void {
    this.#status = null;
    this.#problem = error instanceof Error ? error.message : String(error);
    // A frozen daemon is there: it is waited for, and not started again.
    this.#set(error instanceof DaemonSilent ? "connecting" : "absent");
  }

  #set(state: LinkState): void {
    this.#state = state;
    this.emit("state");
  }

  #pause(milliseconds: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", end);
        this.#wake = () => {};
        resolve();
      };
      const timer = setTimeout(end, milliseconds);
      signal.addEventListener("abort", end);
      this.#wake = end;
    });
  }
}

const LOOK_AGAIN_MS = 25;
