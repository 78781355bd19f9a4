/** The caller over the local socket (docs/core-model.md#identity-of-a-caller). */
import { timingSafeEqual } from "node:crypto";
import { Refusal } from "../../../shared/errors.ts";
import type { Caller, Known } from "../../../shared/operations/caller.ts";
import type { Standing } from "../../access/lineage.ts";

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

/** The Actor at whose own socket a request arrives. */
export type Door = Pick<LaunchIdentity, "group_id" | "actor_id" | "generation">;

const OWNER: Extract<Caller, { kind: "user" }> = {
  kind: "user",
  by: "user",
  via: "socket",
  token_id: null,
  known: null,
};
const ANYBODY: Standing = { kind: "unknown" };
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
   * the owner, and needs no key. With the key alone it is the owner, unless its process is an
   * Actor's. At an Actor's own socket it is that Actor or refused. Returns the refusal instead of
   * throwing it, because every request comes through here.
   */
  identify(
    socketKey: string | undefined,
    launchToken: string | undefined,
    session: string | undefined,
    standing: () => Standing = () => ANYBODY,
    door: Door | null = null,
  ): Caller | Refusal {
    if (launchToken === undefined && (door !== null || socketKey === undefined || !this.#isKey(socketKey))) {
      return new Refusal("unauthenticated");
    }
    if (session !== undefined && !SESSION.test(session)) {
      return new Refusal("invalid_request", {
        specifics: "The session's name must be 1-64 letters, digits, - and _.",
      });
    }
    if (launchToken === undefined) return byStanding(standing());
    const caller = this.actor(launchToken, session ?? null);
    return door === null || isAt(door, caller) ? caller : new Refusal("invalid_launch_token");
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

const PEOPLE = new Map<Known, Caller>();

function byStanding(standing: Standing): Caller | Refusal {
  switch (standing.kind) {
    case "actor": {
      const { actor_id: actorId } = standing.root;
      return { kind: "actor", by: actorId, session: null, descends: true, ...standing.root };
    }
    case "former":
      return new Refusal("invalid_launch_token", {
        specifics: "The process was started by an Actor that has ended.",
      });
    case "person": {
      const { known } = standing;
      const caller = PEOPLE.get(known) ?? { ...OWNER, known };
      PEOPLE.set(known, caller);
      return caller;
    }
    case "unknown":
      return OWNER;
  }
}

function isAt(door: Door, caller: Caller | Refusal): boolean {
  if (caller instanceof Refusal || caller.kind !== "actor") return true;
  const { group_id: groupId, actor_id: actorId, generation } = caller;
  return groupId === door.group_id && actorId === door.actor_id && generation === door.generation;
}
