/** The caller over the local socket (docs/core-model.md#identity-of-a-caller). */
import { timingSafeEqual } from "node:crypto";
import { Refusal } from "../../../shared/errors.ts";
import type { Caller } from "../../../shared/operations/caller.ts";

export interface LaunchIdentity {
  group_id: string;
  actor_id: string;
  generation: string;
  /** Of the launch token. */
  digest?: string;
}

export interface LocalCallerDependencies {
  /** The key of the owner-only key file. */
  socketKey: string;
  /** The Actor of a valid launch token, or null. */
  verifyLaunchToken(token: string): LaunchIdentity | null;
}

const OWNER: Caller = { kind: "user", by: "user", via: "socket", token_id: null };
const SESSION = /^[A-Za-z0-9_-]{1,64}$/;

export class LocalCallers {
  readonly #key: Buffer;
  readonly #given: Buffer;
  readonly #verify: (token: string) => LaunchIdentity | null;

  constructor(deps: LocalCallerDependencies) {
    this.#key = Buffer.from(deps.socketKey, "latin1");
    this.#given = Buffer.alloc(this.#key.length);
    this.#verify = (token) => deps.verifyLaunchToken(token);
  }

  /**
   * The caller by the headers of a request. With a launch token it is an Actor or refused, never
   * the owner. Without one it is the owner. Returns the refusal instead of throwing it, because
   * every request comes through here.
   */
  identify(
    socketKey: string | undefined,
    launchToken: string | undefined,
    session: string | undefined,
  ): Caller | Refusal {
    if (socketKey === undefined || !this.#isKey(socketKey)) return new Refusal("unauthenticated");
    if (session !== undefined && !SESSION.test(session)) {
      return new Refusal("invalid_request", {
        specifics: "The session's name must be 1-64 letters, digits, - and _.",
      });
    }
    return launchToken === undefined ? OWNER : this.actor(launchToken, session ?? null);
  }

  /** The Actor by its launch token. */
  actor(launchToken: string, session: string | null): Caller | Refusal {
    const identity = this.#verify(launchToken);
    if (identity === null) return new Refusal("invalid_launch_token");
    const { group_id: groupId, actor_id: actorId, generation, digest } = identity;
    return {
      kind: "actor",
      by: actorId,
      group_id: groupId,
      actor_id: actorId,
      generation,
      session,
      ...(digest === undefined ? {} : { launch: digest }),
    };
  }

  /** Constant time in the key's content. Its length isn't secret. */
  #isKey(given: string): boolean {
    if (given.length !== this.#key.length) return false;
    this.#given.write(given, 0, "latin1");
    return timingSafeEqual(this.#given, this.#key);
  }
}
