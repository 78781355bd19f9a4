/**
 * Replaces the global stream while it is broken, for example behind a proxy that blocks WebSockets.
 * Groups and Actors are polled every few seconds, but only while the page is visible (WRK-013). The
 * streams keep trying to reconnect in the meantime.
 */
import type { Connection } from "../../shared/stream-client/listeners.ts";

export const POLL_EVERY_MS = 5000;
/**
 * A connection that takes this long may never be made. Before that, its start reads everything,
 * once.
 */
export const CONNECTS_WITHIN_MS = 1000;

export class Polling {
  readonly #isVisible: () => boolean;
  readonly #read: () => void;
  #isBroken = false;
  #connecting: ReturnType<typeof setTimeout> | null = null;
  #timer: ReturnType<typeof setInterval> | null = null;

  constructor(isVisible: () => boolean, read: () => void) {
    this.#isVisible = isVisible;
    this.#read = read;
  }

  /** The connection's state changed. */
  connection({ state }: Connection): void {
    if (this.#connecting !== null) clearTimeout(this.#connecting);
    this.#connecting = null;
    if (state === "connecting")
      this.#connecting = setTimeout(
        () => this.connection({ state: "offline", heard: null }),
        CONNECTS_WITHIN_MS,
      );
    else this.#isBroken = state === "offline";
    this.look();
  }

  /**
   * The connection's state changed, or whether the page is visible. A page that becomes visible
   * without a stream reads at once.
   */
  look(): void {
    const isNeeded = this.#isBroken && this.#isVisible();
    if (isNeeded === (this.#timer !== null)) return;
    if (isNeeded) {
      this.#timer = setInterval(this.#read, POLL_EVERY_MS);
      this.#read();
    } else this.#pause();
  }

  close(): void {
    this.#pause();
    if (this.#connecting !== null) clearTimeout(this.#connecting);
  }

  #pause(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }
}
