/**
 * Which pages of other instances may show this Workbench in a frame
 * (docs/protocol.md#workbench-frames). A proof embeds a page and signs nobody in. Frames live in
 * memory: a restart ends them.
 */
import type { Clock } from "../../../platform/clock.ts";
import { VerifyingKeys } from "../../../platform/keys.ts";
import { Refusal } from "../../../shared/errors.ts";
import { LIMITS } from "../../../shared/limits.ts";
import { Uuid } from "../../../shared/wire/v1/fields.ts";
import { ConnectFrameProof } from "../../../shared/wire/v1/proofs.ts";
import { frameStatement } from "../../../shared/wire/v1/signing.ts";
import { milliseconds, nanoseconds } from "../../../shared/wire/v1/time.ts";
import { untimelyFrame } from "../../../shared/wire/v1/timely.ts";
import { uuidKey } from "../../../shared/wire/v1/uuid.ts";
import type { Grant } from "../authority.ts";
import { isSignedBy } from "../wire/statements.ts";

interface Dependencies {
  clock: Clock;
  instance_id: string;
  /** What the account grants now between the two devices of a proof; null for nothing. */
  grantOf: (proof: ConnectFrameProof) => Grant | null;
  /** Asks the account about an instance that it hasn't listed yet; null where that can't help. */
  ask: (proof: ConnectFrameProof) => Promise<void> | null;
}

interface Frame {
  /** The newest proof. */
  proof: ConnectFrameProof;
  /** Monotonic time at which it ends. */
  until: number;
  /** Wall time at which the last of its proofs has ended, so that none can be used again. */
  remembered: number;
  /** Those of its latest proofs. */
  nonces: readonly string[];
}

export class Frames {
  readonly #deps: Dependencies;
  readonly #frames = new Map<string, Frame>();
  readonly #keys = new VerifyingKeys();
  /** Monotonic time from which the account may be asked. */
  #asksFrom = 0;

  constructor(deps: Dependencies) {
    this.#deps = deps;
  }

  /**
   * Takes the proof for a page under this hostname, once. Throws connect_frame_invalid or
   * limit_reached.
   */
  async open(given: unknown, hostname: string): Promise<ConnectFrameProof> {
    const proof = this.#read(given);
    // Cookies don't know ports: the two instances would share their sessions.
    if (new URL(proof.parent_origin).hostname.replace(/\.$/u, "") === hostname)
      throw denied("has the hostname of its parent");
    if (this.#grant(proof) === null) await this.#ask(proof);
    this.#check(given);
    const key = uuidKey(proof.frame_id);
    const before = this.#frames.get(key);
    if (before === undefined && this.#frames.size >= LIMITS.connect.frames) {
      throw new Refusal("limit_reached", { details: { frames: LIMITS.connect.frames } });
    }
    this.#take(key, proof, before);
    return proof;
  }

  /** Prolongs a frame that lives. Throws connect_frame_invalid. */
  renew(given: unknown): ConnectFrameProof {
    const proof = this.#check(given);
    const key = uuidKey(proof.frame_id);
    const before = this.#frames.get(key);
    if (before === undefined || !this.#lives(before)) throw denied("renews no frame");
    this.#take(key, proof, before);
    return proof;
  }

  /** The newest proof of a frame that may still be shown; null for any other. */
  find(frameId: string): ConnectFrameProof | null {
    const frame = Uuid.safeParse(frameId).success ? this.#frames.get(uuidKey(frameId)) : undefined;
    return frame !== undefined && this.#lives(frame) && this.#grant(frame.proof) !== null
      ? frame.proof
      : null;
  }

  /**
   * The instance may have joined the account a moment ago. Anyone can say that it has, so the
   * account is asked once in a while for all of them, and none waits for another one's question.
   */
  async #ask(proof: ConnectFrameProof): Promise<void> {
    const { clock, ask } = this.#deps;
    const asking = clock.monotonic() < this.#asksFrom ? null : ask(proof);
    if (asking === null) return;
    this.#asksFrom = Number.POSITIVE_INFINITY;
    try {
      await asking;
    } finally {
      this.#asksFrom = clock.monotonic() + LIMITS.connect.frameAskSeconds * 1000;
    }
  }

  /** Throws connect_frame_invalid. The peer, which may be anyone, isn't told why. */
  #read(given: unknown): ConnectFrameProof {
    const parsed = ConnectFrameProof.safeParse(given);
    if (!parsed.success) throw denied("isn't a frame proof");
    const proof = parsed.data;
    if (proof.target_instance_id !== this.#deps.instance_id) throw denied("is for another instance");
    const untimely = untimelyFrame(proof, this.#deps.clock.now());
    if (untimely !== null) throw denied(untimely);
    return proof;
  }

  /** Throws connect_frame_invalid unless the account's word and the signature hold now. */
  #check(given: unknown): ConnectFrameProof {
    this.#forget();
    const proof = this.#read(given);
    const grant = this.#grant(proof);
    if (grant === null) throw denied("comes from no instance of this account");
    if (!isSignedBy(frameStatement, grant.remote, proof, this.#keys)) throw denied("has a wrong signature");
    return proof;
  }

  #grant(proof: ConnectFrameProof): Grant | null {
    const grant = this.#deps.grantOf(proof);
    return grant?.account_origin === proof.account_origin ? grant : null;
  }

  /** Throws connect_frame_invalid unless the proof is newer than those before, and like them. */
  #take(key: string, proof: ConnectFrameProof, before: Frame | undefined): void {
    const nonce = uuidKey(proof.nonce);
    if (before !== undefined) {
      if (nanoseconds(proof.issued_at) <= nanoseconds(before.proof.issued_at)) throw denied("isn't newer");
      if (before.nonces.includes(nonce)) throw denied("has been used");
      if (bindings(proof) !== bindings(before.proof)) throw denied("is for another page");
    }
    const { clock } = this.#deps;
    const expires = milliseconds(proof.expires_at);
    this.#frames.set(key, {
      proof,
      until: clock.monotonic() + expires - clock.now(),
      remembered: Math.max(expires, before?.remembered ?? 0),
      nonces: [nonce, ...(before?.nonces ?? [])].slice(0, LIMITS.connect.frameNonces),
    });
  }

  /** Either clock may end it: one may have jumped, the other stands while a machine sleeps. */
  #lives({ proof, until }: Frame): boolean {
    const { clock } = this.#deps;
    return clock.monotonic() < until && clock.now() < milliseconds(proof.expires_at);
  }

  #forget(): void {
    const now = this.#deps.clock.now();
    for (const [key, { remembered }] of this.#frames) if (remembered <= now) this.#frames.delete(key);
  }
}

/** What stays the same as long as a frame lives. */
function bindings(proof: ConnectFrameProof): string {
  return JSON.stringify([
    proof.account_origin,
    proof.source_instance_id,
    proof.source_device_id,
    proof.target_instance_id,
    proof.target_device_id,
    proof.parent_origin,
  ]);
}

function denied(why: string): Refusal {
  return new Refusal("connect_frame_invalid", { cause: why });
}
