/**
 * Counts failed authentications per address. Only failures are counted and refused: a right
 * credential is let in however many wrong ones came from the same proxy or machine, and 256 random
 * bits can't be found by trying.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { ipKeyGenerator, type Options, rateLimit, type Store } from "express-rate-limit";
import { Refusal } from "../../shared/errors.ts";
import { LIMITS } from "../../shared/limits.ts";
import { failure } from "../../shared/operations/outcome.ts";
import type { Clock } from "../clock.ts";
import { answer } from "./answer.ts";

const WINDOW_MS = 60_000;

/** A request that is to be answered. */
export interface Asked {
  request: IncomingMessage;
  response: ServerResponse;
  /** Request id. */
  id: string;
}

/** Counts in memory without a timer. Expired windows are removed when new ones start. */
class FailureStore implements Store {
  readonly localKeys = true;
  readonly #windows = new Map<string, { hits: number; ends: number }>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  increment(key: string): { totalHits: number; resetTime: Date } {
    const now = this.#clock.monotonic();
    let window = this.#windows.get(key);
    if (window === undefined || window.ends <= now) {
      this.#windows.delete(key);
      for (const [oldest, { ends }] of this.#windows) {
        if (ends > now && this.#windows.size < LIMITS.http.failingAddresses) break;
        this.#windows.delete(oldest);
      }
      window = { hits: 0, ends: now + WINDOW_MS };
      this.#windows.set(key, window);
    }
    window.hits += 1;
    return { totalHits: window.hits, resetTime: new Date(this.#clock.now() + window.ends - now) };
  }

  decrement(key: string): void {
    const window = this.#windows.get(key);
    if (window !== undefined) window.hits -= 1;
  }

  resetKey(key: string): void {
    this.#windows.delete(key);
  }
}

/**
 * Answers a failed authentication with the refusal, or with `rate_limited` once an address has
 * failed too often.
 */
export type RefuseFailure = (asked: Asked, refusal: Refusal) => void;

export function failureLimit(clock: Clock): RefuseFailure {
  const pending = new WeakMap<object, Asked>();
  const limiter = rateLimit({
    windowMs: WINDOW_MS,
    limit: LIMITS.http.authFailuresPerMinute,
    standardHeaders: false,
    legacyHeaders: false,
    validate: false,
    store: new FailureStore(clock),
    keyGenerator: (request) => ipKeyGenerator(request.socket.remoteAddress ?? ""),
    handler: (request) => {
      const asked = pending.get(request)!;
      const { resetTime } = (request as unknown as { rateLimit: { resetTime: Date } }).rateLimit;
      const seconds = Math.max(1, Math.ceil((resetTime.getTime() - clock.now()) / 1000));
      asked.response.setHeader("Retry-After", seconds);
      const details = { retry_after_seconds: seconds };
      close(asked);
      answer(asked.response, failure(new Refusal("rate_limited", { details })), asked.id);
    },
  } satisfies Partial<Options>);
  return (asked, refusal) => {
    pending.set(asked.request, asked);
    const request = asked.request as Parameters<typeof limiter>[0];
    const response = asked.response as Parameters<typeof limiter>[1];
    void limiter(request, response, () => {
      close(asked);
      answer(response, failure(refusal), asked.id);
    });
  };
}

/** A body that isn't read must not be taken for the next request. */
function close(asked: Asked): void {
  if (!asked.request.complete) asked.response.setHeader("Connection", "close");
}
