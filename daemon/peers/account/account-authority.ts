/**
 * What a binding to an account grants: every Group of every instance of the account may write to
 * any other (docs/protocol.md#authority). The directory says which instances those are.
 */
import { isOfThisMachine } from "../../../platform/http/site.ts";
import type { DirectoryEntry } from "../../../shared/wire/v1/account.ts";
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
import type { AccountDirectory } from "./account-directory.ts";
import type { Membership } from "./membership.ts";

interface Dependencies {
  membership: Membership;
  directory: AccountDirectory;
  transport: PeerTransport;
  instance_id: string;
  /** Since when this instance knows the device. */
  since: (deviceId: string) => string | null;
}

export class AccountAuthority implements ConnectAuthority {
  readonly kind = "account";
  readonly #deps: Dependencies;

  constructor(deps: Dependencies) {
    this.#deps = deps;
  }

  forPair({ remote_instance_id: remoteInstanceId }: PairQuery): GrantState | null {
    const { membership } = this.#deps;
    if (membership.problem !== null) return unavailable(membership.problem);
    if (membership.binding === null) return null;
    const grants = this.#grants();
    if (grants === null) return this.#unconfirmed();
    const grant = grants.find(({ remote }) => remote.instance_id === remoteInstanceId);
    return grant === undefined ? null : { state: "granted", grant };
  }

  pinnedSince(): null {
    return null;
  }

  /** A fresh directory without the device is the account's word that it was retired. */
  forConnection(
    connectionId: string | null,
    { remote_instance_id: remoteInstanceId }: PairQuery,
    devices: { local: string; remote: string },
  ): GrantState {
    const { membership } = this.#deps;
    if (membership.problem !== null) return unavailable(membership.problem);
    const { binding } = membership;
    if (connectionId !== null) return gone("That connection is of another kind.");
    if (binding === null) return gone("This instance is no longer linked to that account.");
    if (binding.device_id !== devices.local) return gone("This instance has been linked again since.");
    const grants = this.#grants();
    if (grants === null) return this.#unconfirmed();
    const grant = grants.find(({ remote }) => remote.instance_id === remoteInstanceId);
    if (grant === undefined) return gone("The other instance is no longer in the account.");
    if (grant.remote.device_id !== devices.remote)
      return gone("The other instance has been linked again since.");
    return { state: "granted", grant };
  }

  /** The grant between two devices of the account, if it is in force now. */
  between(devices: {
    source_instance_id: string;
    source_device_id: string;
    target_device_id: string;
  }): Grant | null {
    const isBetween = ({ remote, local }: Grant): boolean =>
      remote.instance_id === devices.source_instance_id &&
      remote.device_id === devices.source_device_id &&
      local.device_id === devices.target_device_id;
    return this.discover().find(isBetween) ?? null;
  }

  discover(): Grant[] {
    return this.#grants() ?? [];
  }

  /** Instances that the account had when it last answered; they aren't used unless it is recent. */
  known(): KnownConnection[] {
    const { directory, instance_id: instanceId, since } = this.#deps;
    const grants = new Map((this.#grants() ?? []).map((grant) => [grant.remote.device_id, grant]));
    const { instances = [] } = directory.snapshot?.directory ?? {};
    return instances
      .filter((entry) => entry.instance_id !== instanceId)
      .map((entry) => {
        const grant = grants.get(entry.device_id);
        return {
          id: entry.device_id,
          local_group_id: null,
          remote: {
            instance_id: entry.instance_id,
            name: entry.display_name,
            group_id: null,
            title: null,
            public_origin: entry.public_origin,
          },
          standing: grant === undefined ? { state: "unconfirmed" } : { state: "active", grant },
          since: since(entry.device_id),
          account_contact_at: entry.registered_at,
        };
      });
  }

  condition(): AuthorityCondition {
    const { membership, directory } = this.#deps;
    const { snapshot, current, trouble } = directory;
    const isLinked = membership.binding !== null || membership.problem !== null;
    return {
      status: current !== null ? "ready" : isLinked ? "unavailable" : "not_linked",
      error: current === null ? trouble : null,
      checked_at: snapshot?.checked_at ?? null,
      expires_at: current?.expires_at ?? null,
    };
  }

  onChange(listener: () => void): () => void {
    return this.#deps.directory.onChange(listener);
  }

  #unconfirmed(): GrantState {
    const reason = this.#deps.directory.trouble ?? "The account service hasn't confirmed this instance yet.";
    return unavailable(reason);
  }

  /** Null when the directory can't be confirmed now. */
  #grants(): Grant[] | null {
    const { membership, directory, transport, instance_id: instanceId } = this.#deps;
    const { binding } = membership;
    const { current } = directory;
    if (binding === null || current === null) return null;
    const self = current.instances.find((entry) => entry.instance_id === instanceId);
    if (self === undefined) return null;
    const local = endOf(self);
    return current.instances
      .filter((entry) => entry !== self)
      .map((entry) => ({
        authority: "account",
        connection_id: null,
        account_origin: binding.account_origin,
        account_id: current.account_id,
        local,
        remote: endOf(entry),
        pair: null,
        route: routeTo(entry, binding.account_origin),
        transport,
      }));
  }
}

/** This machine only where the account service itself is one on it, for development. */
export function routeTo(
  {
    public_origin: origin,
    instance_id: instanceId,
    device_id: deviceId,
    public_key: publicKey,
  }: DirectoryEntry,
  accountOrigin: string,
): Grant["route"] {
  if (origin === null || (isOfThisMachine(origin) && !accountOrigin.startsWith("http:"))) return null;
  return { via: "web", origin, instance_id: instanceId, device_id: deviceId, public_key: publicKey };
}

export function endOf(entry: DirectoryEntry): GrantEnd {
  return {
    instance_id: entry.instance_id,
    device_id: entry.device_id,
    public_key: entry.public_key,
    client_version: entry.client_version,
    name: entry.display_name,
    public_origin: entry.public_origin,
  };
}
