/**
 * One-time login links for a browser: 256 random bits, single use, five minutes, only their digests
 * in memory (docs/core-model.md#ports).
 */
import { createHash } from "node:crypto";
import type { Clock } from "../../../platform/clock.ts";
import type { Random } from "../../../platform/random.ts";
import { LIMITS } from "../../../shared/limits.ts";

export class LoginLinks {
  readonly #clock: Clock;
  readonly #random: Random;
  /** Monotonic time of expiry by digest, oldest first. */
  readonly #expiries = new Map<string, number>();

  constructor(deps: { clock: Clock; random: Random }) {
    this.#clock = deps.clock;
    this.#random = deps.random;
  }

  /** A new code; beyond the limit the oldest falls out. */
  create(): string {
    const code = Buffer.from(this.#random.bytes(32)).toString("base64url");
    this.#expiries.set(digestOf(code), this.#clock.monotonic() + LIMITS.loginLink.minutes * 60_000);
    for (const oldest of this.#expiries.keys()) {
      if (this.#expiries.size <= LIMITS.loginLink.live) break;
      this.#expiries.delete(oldest);
    }
    return code;
  }

  /** Whether the code is valid. Afterwards it no longer is. */
  redeem(code: string): boolean {
    const digest = digestOf(code);
    const expiry = this.#expiries.get(digest);
    this.#expiries.delete(digest);
    return expiry !== undefined && this.#clock.monotonic() < expiry;
  }
}

function digestOf(code: string): string {
  return createHash("sha256").update(code).digest("hex");
}
