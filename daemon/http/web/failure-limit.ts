/**
 * Counts failed authentications per address. Only failures are counted and only failures are refused: a credential that is right is let in
 * however many wrong ones came from the same proxy or machine, and 256 random bits aren't found by trying.
 */
import { ipKeyGenerator, type Options, rateLimit, type Store } from "express-rate-limit";
import type { Clock } from "../../../platform/clock.ts";
import { Refusal } from "../../../shared/errors.ts";
import { LIMITS } from "../../../shared/limits.ts";
import { failure } from "../../operations/dispatcher.ts";
import { answer } from "../api/answer.ts";
import type { Exchange } from "../api/exchange.ts";

const WINDOW_MS = 60_000;

/** Counts in memory without a timer; windows that are over go when new ones come. */
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

/** Answers a failed authentication: with the refusal, or with `rate_limited` once an address has failed too often. */
export type RefuseFailure = (exchange: Exchange, refusal: Refusal) => void;

export function failureLimit(clock: Clock): RefuseFailure {
  const pending = new WeakMap<object, Exchange>();
  const limiter = rateLimit({
    windowMs: WINDOW_MS,
    limit: LIMITS.http.authFailuresPerMinute,
    standardHeaders: false,
    legacyHeaders: false,
    validate: false,
    store: new FailureStore(clock),
    keyGenerator: (request) => ipKeyGenerator(request.socket.remoteAddress ?? ""),
    handler: (request) => {
      const exchange = pending.get(request)!;
      const { resetTime } = (request as unknown as { rateLimit: { resetTime: Date } }).rateLimit;
      const seconds = Math.max(1, Math.ceil((resetTime.getTime() - clock.now()) / 1000));
      exchange.response.setHeader("Retry-After", seconds);
      const details = { retry_after_seconds: seconds };
      close(exchange);
      answer(exchange.response, failure(new Refusal("rate_limited", { details })), exchange.id);
    },
  } satisfies Partial<Options>);
  return (exchange, refusal) => {
    pending.set(exchange.request, exchange);
    const request = exchange.request as Parameters<typeof limiter>[0];
    const response = exchange.response as Parameters<typeof limiter>[1];
    void limiter(request, response, () => {
      close(exchange);
      answer(response, failure(refusal), exchange.id);
    });
  };
}

/** A body that nobody reads must not be taken for the next request. */
function close(exchange: Exchange): void {
  if (!exchange.request.complete) exchange.response.setHeader("Connection", "close");
}
