/**
 * The authorities of this instance, asked in the order of the pins: Direct, external, same account
 * (docs/protocol.md#authority).
 */
import type { GroupRegistry } from "../groups/registry.ts";
import {
  type AuthorityKind,
  type ConnectAuthority,
  type Grant,
  type GrantState,
  type KnownConnection,
  type PairQuery,
  unavailable,
} from "./authority.ts";

const ORDER: readonly AuthorityKind[] = ["direct", "external", "account"];

/** What outbox work and incoming requests say about their route. */
export interface Binding {
  connection_id: string | null;
  local_group_id: string;
  remote_group_id: string;
  remote_instance_id: string;
  local_device_id: string;
  remote_device_id: string;
}

/** What of a grant says whom it is with. */
interface Contacted {
  connection_id: string | null;
  remote: Pick<Grant["remote"], "instance_id" | "device_id">;
}

export class Authorities {
  readonly #registry: Pick<GroupRegistry, "find">;
  readonly #all: ConnectAuthority[] = [];
  readonly #listeners = new Set<() => void>();
  readonly #reachable = new Set<(instanceId: string) => void>();
  readonly #stops: (() => void)[] = [];
  /** Wall-clock milliseconds of the last authentic request or answer, by connection. */
  readonly #contacts = new Map<string, number>();
  /** Instances that refused the last request, perhaps because they didn't know this one yet. */
  readonly #strange = new Set<string>();

  constructor(registry: Pick<GroupRegistry, "find">) {
    this.#registry = registry;
  }

  /**
   * One per kind; kinds join as their services open. `transports` report when a route to a peer
   * opens.
   */
  add(authority: ConnectAuthority, transport: Grant["transport"]): void {
    this.#all.push(authority);
    this.#all.sort((one, other) => ORDER.indexOf(one.kind) - ORDER.indexOf(other.kind));
    this.#stops.push(
      authority.onChange(() => {
        for (const listener of this.#listeners) listener();
      }),
      transport.onReachable((instanceId) => this.#tellReachable(instanceId)),
    );
  }

  of(kind: AuthorityKind): ConnectAuthority | undefined {
    return this.#all.find((authority) => authority.kind === kind);
  }

  /**
   * For new work: the first authority that knows the pair decides, even to refuse. Null if none
   * does.
   */
  forPair(localGroupId: string, remoteInstanceId: string, remoteGroupId: string): GrantState | null {
    const query = this.#query(localGroupId, remoteInstanceId, remoteGroupId);
    for (const authority of this.#all) {
      const state = authority.forPair(query);
      if (state !== null) return state;
    }
    return null;
  }

  /**
   * For queued work and incoming requests. If its authority is missing in this daemon, work waits:
   * that isn't a revocation.
   */
  forBinding(binding: Binding): GrantState {
    const { connection_id: connectionId } = binding;
    const kind = kindOf(connectionId);
    const authority = this.of(kind);
    if (authority === undefined) return unavailable("This kind of connection isn't set up.");
    // Nothing is known about a pair without the generation. Only the registry knows whether the
    // Group is gone for good.
    const isPair = kind !== "account";
    if (isPair && this.#registry.find(binding.local_group_id) === undefined) {
      return unavailable("The Group isn't open.");
    }
    const query = this.#query(binding.local_group_id, binding.remote_instance_id, binding.remote_group_id);
    return authority.forConnection(connectionId, query, {
      local: binding.local_device_id,
      remote: binding.remote_device_id,
    });
  }

  /**
   * As `forBinding`, for what begins now under a connection that is known: a Direct record of the
   * pair keeps any other kind from being used, whatever its state (rule 17, DRC-094). `begun` is
   * when the work was written, in milliseconds since 1970: what is older than the record keeps its
   * way.
   */
  forNewWork(binding: Binding, begun = Number.POSITIVE_INFINITY): GrantState {
    const state = this.forBinding(binding);
    return state.state === "granted" ? (this.pinOf(binding, begun) ?? state) : state;
  }

  /**
   * Why a Direct record keeps the binding's kind of connection from its pair; null if none does.
   * `begun` as for `forNewWork`.
   */
  pinOf(
    binding: Pick<Binding, "connection_id" | "local_group_id" | "remote_group_id" | "remote_instance_id">,
    begun = Number.POSITIVE_INFINITY,
  ): Exclude<GrantState, { state: "granted" }> | null {
    const direct = this.of("direct");
    if (direct === undefined || kindOf(binding.connection_id) === "direct") return null;
    const { local_group_id: local, remote_group_id: remote, remote_instance_id: instance } = binding;
    // An account's catalog names no pair.
    if (local === "" || remote === "") return null;
    const query = this.#query(local, instance, remote);
    const since = direct.pinnedSince(query);
    if (since === null || begun < since) return null;
    const found = direct.forPair(query);
    if (found !== null && found.state !== "granted") return found;
    return {
      state: "gone",
      reason: "These Groups are connected directly now, and use only that connection.",
    };
  }

  /** Whether the grant may still be used, by the same Group as when it was made. */
  isInForce({ connection_id: connectionId, pair, local, remote }: Grant): boolean {
    const state = this.forNewWork({
      connection_id: connectionId,
      local_group_id: pair?.local_group_id ?? "",
      remote_group_id: pair?.remote_group_id ?? "",
      remote_instance_id: remote.instance_id,
      local_device_id: local.device_id,
      remote_device_id: remote.device_id,
    });
    return state.state === "granted";
  }

  /** Grants in force under this connection; within the account (null) one for each instance. */
  inForce(connectionId: string | null): Grant[] {
    const grants = this.of(kindOf(connectionId))?.discover(null) ?? [];
    return grants.filter((grant) => grant.connection_id === connectionId);
  }

  /**
   * Grants for one Group pair that this local Group may discover, without those that another
   * connection of the pair keeps from being used.
   */
  external(localGroupId: string): Grant[] {
    const group = this.#registry.find(localGroupId);
    if (group === undefined) return [];
    const local = { group_id: localGroupId, generation: group.record.generation };
    return this.#all
      .filter(({ kind }) => kind !== "account")
      .flatMap((authority) => authority.discover(local))
      .filter(({ pair, remote, connection_id: connectionId }) => {
        if (pair === null) return false;
        const used = this.forPair(localGroupId, remote.instance_id, pair.remote_group_id);
        return used?.state === "granted" && used.grant.connection_id === connectionId;
      });
  }

  /** Grants to instances of the same account. */
  account(): Grant[] {
    return this.of("account")?.discover(null) ?? [];
  }

  /** Every grant, for the catalog's refresh. */
  all(): Grant[] {
    return this.#all.flatMap((authority) => authority.discover(null));
  }

  /** Every connection that people may see, with its kind. */
  known(): { kind: AuthorityKind; connection: KnownConnection }[] {
    return this.#all.flatMap((authority) =>
      authority.known().map((connection) => ({ kind: authority.kind, connection })),
    );
  }

  /** The peer has just answered under this grant. `now` is of the wall clock. */
  answered(grant: Grant, now: number): void {
    this.#contacts.set(contactOf(grant), now);
  }

  /** The peer has just refused a request as not authentic. */
  denied({ remote }: Grant): void {
    this.#strange.add(remote.instance_id);
  }

  /**
   * An authentic request of the peer has just arrived, so it knows this instance. If it refused the
   * last request because it didn't, what waits for it is tried again, once.
   */
  heard(grant: Grant, now: number): void {
    this.answered(grant, now);
    if (this.#strange.delete(grant.remote.instance_id)) this.#tellReachable(grant.remote.instance_id);
  }

  /** When the peer last answered or asked under this grant in this run; null if it didn't. */
  lastContact(grant: Contacted): number | null {
    return this.#contacts.get(contactOf(grant)) ?? null;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  onReachable(listener: (instanceId: string) => void): () => void {
    this.#reachable.add(listener);
    return () => this.#reachable.delete(listener);
  }

  #tellReachable(instanceId: string): void {
    for (const listener of this.#reachable) listener(instanceId);
  }

  close(): void {
    for (const stop of this.#stops.splice(0)) stop();
  }

  /** A Group that isn't present now has no generation, so no pair fits it. */
  #query(localGroupId: string, remoteInstanceId: string, remoteGroupId: string): PairQuery {
    const localGeneration = this.#registry.find(localGroupId)?.record.generation ?? "";
    return {
      local_group_id: localGroupId,
      local_generation: localGeneration,
      remote_instance_id: remoteInstanceId,
      remote_group_id: remoteGroupId,
    };
  }
}

/** One device of an instance within the account, else the connection. */
function contactOf({ connection_id: connectionId, remote }: Contacted): string {
  return connectionId ?? `${remote.instance_id} ${remote.device_id}`;
}

/** Which authority a connection id belongs to; null is the same account. */
export function kindOf(connectionId: string | null): AuthorityKind {
  if (connectionId === null) return "account";
  return connectionId.startsWith("direct-") ? "direct" : "external";
}
