/**
 * Ends connections that make the daemon wait too long for the rest of a request or for the next
 * one. One timer watches all of them, and only while there are any, so that an idle daemon sleeps.
 * It is late by at most two of its intervals.
 */
import type { Socket } from "node:net";
import type { Clock, Timer } from "../../../platform/clock.ts";
import { LIMITS } from "../../../shared/limits.ts";

/**
 * What a connection waits for: the `rest` of a request, the `next` one, or nothing of its client's
 * (null).
 */
export interface Waiting {
  for: "rest" | "next" | null;
  /** Requests that have come whole so far. */
  requests: number;
}

interface Watched {
  waiting: () => Waiting;
  last: Waiting;
  /** Monotonic time at which `last` was seen first. */
  since: number;
}

const MOST_MS = { rest: LIMITS.http.requestSeconds * 1000, next: LIMITS.http.keepAliveSeconds * 1000 };
const EVERY_MS = MOST_MS.rest / 2;
const TOO_LATE = "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

export class IdleSweep {
  readonly #clock: Clock;
  readonly #watched = new Map<Socket, Watched>();
  #timer: Timer | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Looks after the connection until it closes; a second call replaces how it is asked. */
  watch(socket: Socket, waiting: () => Waiting): void {
    const known = this.#watched.has(socket);
    this.#watched.set(socket, { waiting, last: waiting(), since: this.#clock.monotonic() });
    if (!known) {
      socket.once("close", () => {
        this.#watched.delete(socket);
        if (this.#watched.size > 0) return;
        this.#timer?.cancel();
        this.#timer = null;
      });
    }
    this.#timer ??= this.#clock.after(EVERY_MS, () => this.#sweep(), { background: true });
  }

  #sweep(): void {
    this.#timer = this.#clock.after(EVERY_MS, () => this.#sweep(), { background: true });
    const now = this.#clock.monotonic();
    for (const [socket, watched] of this.#watched) {
      const waiting = watched.waiting();
      if (waiting.for !== watched.last.for || waiting.requests !== watched.last.requests) {
        watched.last = waiting;
        watched.since = now;
      } else if (waiting.for !== null && now - watched.since >= MOST_MS[waiting.for]) {
        // An idle connection must no longer be read. Its client sends again what crossed with the
        // end.
        if (waiting.for === "next") socket.destroy();
        else socket.end(TOO_LATE, () => socket.destroy());
      }
    }
  }
}
