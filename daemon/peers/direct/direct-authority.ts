/** What the Direct relations grant (docs/protocol.md#authority). */

import type { Clock } from "../../../platform/clock.ts";
import type { DirectEndpoint } from "../../../shared/wire/v1/direct.ts";
import { milliseconds } from "../../../shared/wire/v1/time.ts";
import {
  type AuthorityCondition,
  type ConnectAuthority,
  type Grant,
  type GrantEnd,
  type GrantState,
  gone,
  type KnownConnection,
  type PairQuery,
  unavailable,
} from "../authority.ts";
import type { PeerTransport } from "../transport.ts";
import { isPair, type Relation } from "./relation.ts";
import { hasExpired, type Relations } from "./relations.ts";

interface Dependencies {
  clock: Clock;
  relations: Relations;
  transport: PeerTransport;
  /** Whether this connection has a channel now. */
  isOnline: (id: string) => boolean;
  /** Whether the relation was made for this instance. */
  isOurs: (relation: Relation) => boolean;
}

/** If a pair has several records, the earlier ones come first. */
const PRECEDENCE: readonly Relation["state"][] = ["active", "pending", "invited", "revoked", "expired"];

export class DirectAuthority implements ConnectAuthority {
  readonly kind = "direct";
  readonly #deps: Dependencies;

  constructor(deps: Dependencies) {
    this.#deps = deps;
  }

  /** A record pins the route for its pair, whatever its state (DRC-061, DRC-062). */
  forPair(query: PairQuery): GrantState | null {
    const { relations } = this.#deps;
    // It isn't known what is pinned, so nothing may take another route.
    if (relations.problem !== null) return unavailable(relations.problem);
    const [relation] = this.#ofPair(query).sort(
      (one, other) => PRECEDENCE.indexOf(one.state) - PRECEDENCE.indexOf(other.state),
    );
    if (relation === undefined) return null;
    const found = this.#stateOf(relation, query.local_generation);
    if (found.state !== "gone") return found;
    const remove = `svc direct remove ${relation.id} --group ${relation.local.group_id}`;
    return {
      ...found,
      remedy: `Until it is removed, these Groups use no other connection. Remove it with '${remove}', or connect again with 'svc direct invite'.`,
    };
  }

  /**
   * An invitation counts from when it was made. If the records can't be read, everything counts as
   * pinned.
   */
  pinnedSince(query: PairQuery): number | null {
    if (this.#deps.relations.problem !== null) return Number.NEGATIVE_INFINITY;
    const since = this.#ofPair(query).map(({ created_at: createdAt }) => milliseconds(createdAt));
    return since.length === 0 ? null : Math.min(...since);
  }

  forConnection(
    connectionId: string | null,
    query: PairQuery,
    devices: { local: string; remote: string },
  ): GrantState {
    const { relations } = this.#deps;
    if (relations.problem !== null) return unavailable(relations.problem);
    const relation = connectionId === null ? undefined : relations.find(connectionId);
    if (relation === undefined) return gone("The Direct connection was removed.");
    const remote = { instance_id: query.remote_instance_id, group_id: query.remote_group_id };
    if (!isPair(relation, query.local_group_id, remote) || devices.local !== "" || devices.remote !== "") {
      return gone("The Direct connection is for another pair of Groups.");
    }
    return this.#stateOf(relation, query.local_generation);
  }

  discover(local: { group_id: string; generation: string } | null): Grant[] {
    return this.#deps.relations.list
      .filter(
        (relation) =>
          local === null ||
          (relation.local.group_id === local.group_id && relation.local.generation === local.generation),
      )
      .map((relation) => this.#stateOf(relation, relation.local.generation))
      .flatMap((found) => (found.state === "granted" ? [found.grant] : []));
  }

  known(): KnownConnection[] {
    return this.#deps.relations.list.map((relation) => this.#shown(relation));
  }

  condition(): AuthorityCondition {
    const { problem } = this.#deps.relations;
    const status = problem === null ? "ready" : "unavailable";
    return { status, error: problem, checked_at: null, expires_at: null };
  }

  onChange(listener: () => void): () => void {
    return this.#deps.relations.onChange(listener);
  }

  #ofPair({
    local_group_id: localGroupId,
    remote_instance_id: instanceId,
    remote_group_id: groupId,
  }: PairQuery): Relation[] {
    const remote = { instance_id: instanceId, group_id: groupId };
    return this.#deps.relations.list.filter((one) => isPair(one, localGroupId, remote));
  }

  #shown(relation: Relation): KnownConnection {
    const { id, local, remote, created_at: createdAt } = relation;
    const found = this.#stateOf(relation, local.generation);
    return {
      id,
      local_group_id: local.group_id,
      remote: remote && {
        instance_id: remote.instance_id,
        name: remote.name,
        group_id: remote.group_id,
        title: remote.title,
        public_origin: null,
      },
      standing:
        found.state === "granted"
          ? { state: "active", grant: found.grant }
          : { state: found.state === "gone" ? "ended" : "pending" },
      since: createdAt,
      account_contact_at: null,
    };
  }

  #stateOf(relation: Relation, generation: string): GrantState {
    const { clock, isOnline, isOurs, transport } = this.#deps;
    const { id, local, remote, state } = relation;
    if (!isOurs(relation)) return gone("This instance now has another identity.");
    if (local.generation !== generation) return gone("The Group has been replaced since it was connected.");
    if (state === "revoked") return gone("The Direct connection was revoked.");
    if (state === "expired" && relation.invitation !== null)
      return gone("The other side says that the Direct connection has expired.");
    if (state === "expired" || (relation.invitation === null && hasExpired(relation, clock.now()))) {
      return gone("The Direct connection expired without approval.");
    }
    if (state !== "active" || remote === null) {
      return unavailable("The Direct connection isn't approved yet.");
    }
    return {
      state: "granted",
      grant: {
        authority: "direct",
        connection_id: id,
        account_origin: "",
        account_id: "",
        local: endOf(local),
        remote: endOf(remote),
        pair: {
          local_group_id: local.group_id,
          local_generation: local.generation,
          remote_group_id: remote.group_id,
          remote_generation: remote.generation,
          remote_title: remote.title,
        },
        route: isOnline(id) ? { via: "direct", connection_id: id, instance_id: remote.instance_id } : null,
        transport,
      },
    };
  }
}

function endOf({
  instance_id: instanceId,
  public_key: publicKey,
  client_version: clientVersion,
  name,
}: DirectEndpoint): GrantEnd {
  return {
    instance_id: instanceId,
    device_id: "",
    public_key: publicKey,
    client_version: clientVersion,
    name,
    public_origin: null,
  };
}
