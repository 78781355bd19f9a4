/**
 * Operation `connection_list`: every connection of this instance, whatever its kind, for people. It
 * asks no other instance.
 */
import type { Connection, ConnectionState } from "../../shared/operations/connect.ts";
import type { ResultOf } from "../../shared/operations/registry.ts";
import type { Authorities } from "./authorities.ts";
import type { AuthorityKind, Grant, KnownConnection } from "./authority.ts";
import type { CatalogCache } from "./catalog/catalog-cache.ts";
import type { CatalogRefresh } from "./catalog/catalog-refresh.ts";

interface Dependencies {
  authorities: Pick<Authorities, "known" | "lastContact">;
  cache: Pick<CatalogCache, "lastContact" | "titleOf">;
  refresh: Pick<CatalogRefresh, "reasonOf">;
}

export class Connections {
  readonly #deps: Dependencies;

  constructor(deps: Dependencies) {
    this.#deps = deps;
  }

  /** Those that this local Group may use or has used; all of them if it is null. */
  list(groupId: string | null): ResultOf<"connection_list"> {
    const connections = this.#deps.authorities
      .known()
      .filter(
        ({ connection: { local_group_id: local } }) =>
          groupId === null || local === null || local === groupId,
      )
      .map(({ kind, connection }) => this.#shown(kind, connection));
    return { connections };
  }

  #shown(kind: AuthorityKind, connection: KnownConnection): Connection {
    const { id, local_group_id: groupId, remote, since, account_contact_at: accountContactAt } = connection;
    const { standing } = connection;
    const grant = standing.state === "active" ? standing.grant : null;
    const error = grant === null ? null : this.#deps.refresh.reasonOf(grant);
    return {
      kind,
      id,
      group_id: groupId,
      remote: grant?.pair && remote ? { ...remote, title: this.#deps.cache.titleOf(grant) } : remote,
      state: standing.state === "active" ? this.#stateOf(standing.grant, error) : standing.state,
      error: grant === null || grant.route === null ? null : error,
      since,
      last_contact_at: this.#lastContact(kind, connection),
      account_contact_at: accountContactAt,
    };
  }

  /** `error` says why the last attempt failed. */
  #stateOf(grant: Grant, error: string | null): ConnectionState {
    const isDirect = grant.authority === "direct";
    if (grant.route === null) return isDirect ? "unreachable" : "no_route";
    if (error !== null) return "unreachable";
    return isDirect || this.#deps.authorities.lastContact(grant) !== null ? "reached" : "not_tried";
  }

  /** In this run, else what the catalog remembers. */
  #lastContact(kind: AuthorityKind, connection: KnownConnection): string | null {
    const { authorities, cache } = this.#deps;
    const { id, remote } = connection;
    if (remote === null) return null;
    const heard = authorities.lastContact({
      connection_id: kind === "account" ? null : id,
      remote: { instance_id: remote.instance_id, device_id: id },
    });
    return heard === null ? cache.lastContact(kind, connection) : new Date(heard).toISOString();
  }
}
