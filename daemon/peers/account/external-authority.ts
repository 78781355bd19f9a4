/**
 * What account-confirmed connections grant: two Groups of different accounts may write to each
 * other (docs/protocol.md#authority). Only a fresh answer of the account service ends one; without
 * an answer it just can't be used.
 */
import {
  type AuthorityCondition,
  type ConnectAuthority,
  type Grant,
  type GrantState,
  gone,
  type KnownConnection,
  type PairQuery,
  unavailable,
} from "../authority.ts";
import type { PeerTransport } from "../transport.ts";
import { endOf, routeTo } from "./account-authority.ts";
import type { AccountGroupLinks, OwnLink } from "./group-links.ts";
import type { Membership } from "./membership.ts";

interface Dependencies {
  membership: Membership;
  links: AccountGroupLinks;
  transport: PeerTransport;
}

export class ExternalAuthority implements ConnectAuthority {
  readonly kind = "external";
  readonly #deps: Dependencies;

  constructor(deps: Dependencies) {
    this.#deps = deps;
  }

  /** A connection pins the route for its pair, also while it can't be confirmed. */
  forPair(query: PairQuery): GrantState | null {
    const { membership, links } = this.#deps;
    const { known } = links;
    if (membership.binding === null || known === null) return null;
    const found = links.ends(known).filter((one) => isPair(one, query));
    const [one] = found.sort((a, b) => Number(isReplaced(a, query)) - Number(isReplaced(b, query)));
    return one === undefined ? null : this.#stateOf(one, query);
  }

  pinnedSince(): null {
    return null;
  }

  forConnection(
    connectionId: string | null,
    query: PairQuery,
    devices: { local: string; remote: string },
  ): GrantState {
    const { membership, links } = this.#deps;
    if (membership.problem !== null) return unavailable(membership.problem);
    const { binding } = membership;
    if (binding === null) return gone("This instance is no longer linked to that account.");
    if (binding.device_id !== devices.local) return gone("This instance has been linked again since.");
    const { current } = links;
    if (current === null) return this.#unconfirmed();
    const one = links.ends(current).find(({ link }) => link.id === connectionId);
    if (one === undefined) return gone("The connection between these Groups was ended.");
    if (!isPair(one, query)) return gone("The connection is for another pair of Groups.");
    if (one.other.instance.device_id !== devices.remote)
      return gone("The other instance has been linked again since.");
    return this.#stateOf(one, query);
  }

  discover(local: { group_id: string; generation: string } | null): Grant[] {
    const { links } = this.#deps;
    // Its time may be over the next moment.
    const { current } = links;
    if (current === null) return [];
    return links
      .ends(current)
      .filter(
        ({ own }) =>
          local === null || (own.group_id === local.group_id && own.group_generation === local.generation),
      )
      .map((one) => this.#grantOf(one));
  }

  /** Those that the account service named last; they aren't used unless that is recent. */
  known(): KnownConnection[] {
    const { links } = this.#deps;
    const { known } = links;
    if (known === null) return [];
    const isCurrent = links.current !== null;
    return links.ends(known).map((one) => {
      const { link, own, other } = one;
      const { display_name: instanceName } = other.instance;
      const label = other.account_label ?? null;
      return {
        id: link.id,
        local_group_id: own.group_id,
        remote: {
          instance_id: other.instance.instance_id,
          name: label === null ? instanceName : `${label}, ${instanceName}`,
          group_id: other.group_id,
          title: other.title,
          public_origin: other.instance.public_origin,
        },
        standing: isCurrent ? { state: "active", grant: this.#grantOf(one) } : { state: "unconfirmed" },
        since: link.connected_at ?? null,
        account_contact_at: other.instance.registered_at,
      };
    });
  }

  condition(): AuthorityCondition {
    const { membership, links } = this.#deps;
    const { current } = links;
    const isLinked = membership.binding !== null || membership.problem !== null;
    return {
      status: current !== null ? "ready" : isLinked ? "unavailable" : "not_linked",
      error: current === null ? links.trouble : null,
      checked_at: links.sync.checked_at,
      expires_at: current?.expires_at ?? null,
    };
  }

  onChange(listener: () => void): () => void {
    return this.#deps.links.onChange(listener);
  }

  #stateOf(one: OwnLink, query: PairQuery): GrantState {
    if (isReplaced(one, query)) return gone("The Group has been replaced since it was connected.");
    if (this.#deps.links.current === null) return this.#unconfirmed();
    return { state: "granted", grant: this.#grantOf(one) };
  }

  #unconfirmed(): GrantState {
    const reason = this.#deps.links.trouble ?? "The account service hasn't confirmed the connection yet.";
    return { state: "unavailable", reason };
  }

  #grantOf({ link, own, other }: OwnLink): Grant {
    const { account_origin: accountOrigin } = this.#deps.membership.binding!;
    return {
      authority: "external",
      connection_id: link.id,
      account_origin: accountOrigin,
      // The account that invited, in either direction (EXT-062).
      account_id: link.source.account_id,
      local: endOf(own.instance),
      remote: endOf(other.instance),
      pair: {
        local_group_id: own.group_id,
        local_generation: own.group_generation,
        remote_group_id: other.group_id,
        remote_generation: other.group_generation,
        remote_title: other.title,
      },
      route: routeTo(other.instance, accountOrigin),
      transport: this.#deps.transport,
    };
  }
}

function isPair({ own, other }: OwnLink, query: PairQuery): boolean {
  return (
    own.group_id === query.local_group_id &&
    other.instance.instance_id === query.remote_instance_id &&
    other.group_id === query.remote_group_id
  );
}

function isReplaced({ own }: OwnLink, query: PairQuery): boolean {
  return own.group_generation !== query.local_generation;
}
