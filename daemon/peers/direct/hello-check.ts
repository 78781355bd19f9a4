/**
 * The inviting side's answer to a hello: what a relation's id, its secret and the proven key allow
 * (docs/protocol.md#direct).
 */
import { timingSafeEqual } from "node:crypto";
import type { Clock } from "../../../platform/clock.ts";
import { errorFields, type Log } from "../../../platform/log.ts";
import { DirectHello, type DirectState } from "../../../shared/wire/v1/direct.ts";
import { isJoined, isSameEnd, isTerminal, type Relation } from "./relation.ts";
import { digestSecret, hasExpired, type Relations } from "./relations.ts";

/**
 * Null: close without an answer, because `revoked` would be final. `id` names the relation that
 * `error` belongs to.
 */
export type Verdict =
  | { answer: DirectState; relation: Relation | null }
  | { answer: null; id: string | null; error: string };

interface Dependencies {
  clock: Clock;
  log: Log;
  relations: Relations;
  /** Our own key, base64. */
  public_key: string;
  /** Whether the relation was made for this instance and this Group. */
  isCurrent: (relation: Relation) => boolean;
}

export class HelloCheck {
  readonly #deps: Dependencies;

  constructor(deps: Dependencies) {
    this.#deps = deps;
  }

  /**
   * Checks the first frame of a peer that has proven `peer_key`, and records what it changes.
   * Throws Refusal when the disk fails, except for a new name of the peer.
   */
  async judge(frame: unknown, peerKey: string): Promise<Verdict> {
    const { relations, clock, log } = this.#deps;
    const hello = DirectHello.safeParse(frame);
    if (!hello.success) return silent(null, "The peer sent something other than a hello.");
    const { id, secret, endpoint } = hello.data;
    if (endpoint.public_key !== peerKey) return silent(null, "The peer claims a key that isn't its own.");
    if (peerKey === this.#deps.public_key) return silent(null, "The peer has this instance's own key.");
    const relation = relations.find(id);
    if (relation === undefined) return { answer: "revoked", relation: null };
    if (isJoined(relation)) return silent(null, "The peer has an invitation that this side didn't create.");
    if (!isDigestOf(relation.secret_sha256, secret)) {
      return silent(id, "Someone used the wrong secret for this invitation.");
    }
    if (relation.remote !== null && !isSameEnd(relation.remote, endpoint)) {
      return silent(id, "Another instance or Group tried to use this invitation, which is already taken.");
    }
    if (isTerminal(relation)) return { answer: relation.state, relation };
    if (!this.#deps.isCurrent(relation)) {
      return silent(id, "This Group or instance has been replaced since the invitation was created.");
    }
    if (hasExpired(relation, clock.now())) {
      await relations.expire();
    } else if (relation.remote !== null) {
      // It is as good a connection under its earlier name.
      await relations
        .rename(id, endpoint)
        .catch((error: unknown) => log.warn("direct name", errorFields(error)));
    } else if (!(await relations.bind(id, endpoint))) {
      return silent(id, "The Group that used this invitation is already connected to this one.");
    }
    // During the write a person may have decided, an approval in time may have reached the disk, or
    // a second peer may have been faster.
    const now = relations.find(id);
    if (now === undefined) return { answer: "revoked", relation: null };
    if (isTerminal(now)) return { answer: now.state, relation: now };
    if (now.remote === null || !isSameEnd(now.remote, endpoint)) {
      return silent(id, "Another instance or Group tried to use this invitation, which is already taken.");
    }
    return { answer: now.state, relation: now };
  }

  /** Whether this key is the other end of a connection that was received here and hasn't ended. */
  isKnown(peerKey: string): boolean {
    return this.#deps.relations.list.some(
      (relation) => relation.remote?.public_key === peerKey && !isJoined(relation) && !isTerminal(relation),
    );
  }

  /** Whether a connection is approved now; it may have ended since its hello was judged. */
  isApproved(id: string): boolean {
    const relation = this.#deps.relations.find(id);
    return relation?.state === "active" && this.#deps.isCurrent(relation);
  }
}

function silent(id: string | null, error: string): Verdict {
  return { answer: null, id, error };
}

function isDigestOf(digest: string, secret: string): boolean {
  return timingSafeEqual(Buffer.from(digest, "hex"), Buffer.from(digestSecret(secret), "hex"));
}
