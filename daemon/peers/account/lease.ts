/**
 * How long an answer of the account service may be used. The monotonic clock decides, and beside it
 * the other one, for a machine that slept.
 */
import type { Clock, Timer } from "../../../platform/clock.ts";
import { storageRefusal } from "../../../platform/durable.ts";
import { LIMITS } from "../../../shared/limits.ts";
import { milliseconds } from "../../../shared/wire/v1/time.ts";
import type { AccountFailure } from "./account-client.ts";

/** What every answer says about its time. */
export interface Lasting {
  issued_at: string;
  expires_at: string;
}

const VALID_MS = LIMITS.link.validSeconds * 1000;
/** How far the account service's clock may be from ours. */
const SKEW_MS = LIMITS.connect.registrationSkewSeconds * 1000;

export class Lease {
  readonly #clock: Clock;
  readonly #expired: () => void;
  /** Monotonic time until which the answer may be used. */
  #until: number;
  #expiry: Timer | null = null;

  /** For an answer of an earlier run. `expired` is called when a later one ends. */
  constructor(clock: Clock, kept: Lasting | null, expired: () => void) {
    this.#clock = clock;
    this.#expired = expired;
    const left = kept === null ? 0 : milliseconds(kept.expires_at) - clock.now();
    this.#until = clock.monotonic() + Math.min(Math.max(left, 0), VALID_MS);
  }

  /**
   * Begins with an answer to a question of this monotonic time. The answer may have been on its way
   * for long: nobody here knows when it was given, but it was later than that.
   */
  begin({ issued_at: issued, expires_at: expires }: Lasting, asked: number): void {
    this.#until = asked + milliseconds(expires) - milliseconds(issued);
  }

  /** Calls `expired` when the time is over. */
  await(): void {
    this.cancel();
    const left = this.#until - this.#clock.monotonic();
    if (left <= 0) return;
    this.#expiry = this.#clock.after(left, this.#expired, { background: true });
  }

  cancel(): void {
    this.#expiry?.cancel();
  }

  /** Whether the answer may be used now. */
  covers({ expires_at: expires }: Lasting): boolean {
    if (this.#clock.monotonic() >= this.#until) return false;
    // A clock that jumped, or a machine that slept, may have made it older than it seems.
    return this.#clock.now() <= milliseconds(expires) + SKEW_MS;
  }
}

/** Why an answer can't be used by its times; null if it can. */
export function lifetimeProblem(answer: Lasting, now: number): AccountFailure | null {
  const lifetime = milliseconds(answer.expires_at) - milliseconds(answer.issued_at);
  if (lifetime <= 0 || lifetime > VALID_MS)
    return failureOf("passing", "account_invalid", "The account service's answer has no usable lifetime.");
  if (milliseconds(answer.issued_at) > now + SKEW_MS) {
    const words = "This machine's clock is behind the account service's. Set it right.";
    return failureOf("passing", "account_clock_differs", words);
  }
  return null;
}

/** An answer that can't be written isn't used. */
export function unkept(error: unknown): AccountFailure {
  const { code, message } = storageRefusal(error);
  return failureOf("passing", code, message);
}

export function failureOf(kind: AccountFailure["kind"], code: string, message: string): AccountFailure {
  return { kind, code, message, retrySeconds: 0 };
}
