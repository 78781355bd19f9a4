/**
 * What stands in for the global stream while it is broken, as behind a proxy that lets no WebSocket through: Groups and Actors are asked for
 * every few seconds, but only while the page is visible (WRK-013). The streams' own attempts to come back go on meanwhile.
 */
import type { Connection } from "../host.ts";

export const POLL_EVERY_MS = 5000;

export class Polling {
  readonly #isVisible: () => boolean;
  readonly #read: () => void;
  #isOnline = true;
  #timer: ReturnType<typeof setInterval> | null = null;

  constructor(isVisible: () => boolean, read: () => void) {
    this.#isVisible = isVisible;
    this.#read = read;
  }

  /** The connection's state changed. */
  connection({ state }: Connection): void {
    this.#isOnline = state === "online";
    this.look();
  }

  /** The connection's state changed, or whether the page is visible. A page that comes into view without a stream reads at once. */
  look(): void {
    const isNeeded = !this.#isOnline && this.#isVisible();
    if (isNeeded === (this.#timer !== null)) return;
    if (isNeeded) {
      this.#timer = setInterval(this.#read, POLL_EVERY_MS);
      this.#read();
    } else this.close();
  }

  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }
}
