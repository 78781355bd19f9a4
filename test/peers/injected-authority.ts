/** An authority that grants what the test says, as one of the three ways between instances. */
import type {
  AuthorityCondition,
  ConnectAuthority,
  Grant,
  GrantState,
  KnownConnection,
  PairQuery,
} from "../../daemon/peers/authority.ts";

export type Way = "account" | "external" | "direct";

export class InjectedAuthority implements ConnectAuthority {
  readonly kind: Way;
  grants: Grant[] = [];
  state: GrantState["state"] = "granted";
  readonly #listeners = new Set<() => void>();

  constructor(kind: Way) {
    this.kind = kind;
  }

  forPair(query: PairQuery): GrantState | null {
    const found = this.grants.find((grant) => fits(grant, query));
    return found === undefined ? null : this.#stateOf(found);
  }

  pinnedSince(): null {
    return null;
  }

  forConnection(
    connectionId: string | null,
    query: PairQuery,
    devices: { local: string; remote: string },
  ): GrantState {
    const found = this.grants.find(
      (grant) =>
        grant.connection_id === connectionId &&
        fits(grant, query) &&
        grant.local.device_id === devices.local &&
        grant.remote.device_id === devices.remote,
    );
    return found === undefined ? { state: "gone", reason: "It was revoked." } : this.#stateOf(found);
  }

  discover(local: { group_id: string; generation: string } | null): Grant[] {
    if (this.state !== "granted") return [];
    return this.grants.filter(
      ({ pair }) => local === null || pair === null || pair.local_group_id === local.group_id,
    );
  }

  known(): KnownConnection[] {
    return this.grants.map((grant) => ({
      id: grant.connection_id ?? grant.remote.device_id,
      local_group_id: grant.pair?.local_group_id ?? null,
      remote: {
        instance_id: grant.remote.instance_id,
        name: grant.remote.name,
        group_id: grant.pair?.remote_group_id ?? null,
        title: grant.pair?.remote_title ?? null,
        public_origin: grant.remote.public_origin,
      },
      standing: this.state === "granted" ? { state: "active", grant } : { state: "unconfirmed" },
      since: null,
      account_contact_at: null,
    }));
  }

  condition(): AuthorityCondition {
    const ready = this.state === "granted";
    return {
      status: ready ? "ready" : "unavailable",
      error: null,
      checked_at: null,
      expires_at: null,
    };
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  changed(): void {
    for (const listener of this.#listeners) listener();
  }

  #stateOf(grant: Grant): GrantState {
    if (this.state === "granted") return { state: "granted", grant };
    return { state: this.state, reason: `The test says ${this.state}.` };
  }
}

function fits({ remote, pair }: Grant, query: PairQuery): boolean {
  if (remote.instance_id !== query.remote_instance_id) return false;
  return (
    pair === null ||
    (pair.local_group_id === query.local_group_id &&
      pair.local_generation === query.local_generation &&
      pair.remote_group_id === query.remote_group_id)
  );
}
