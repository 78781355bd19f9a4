/**
 * What was learned about other instances' Groups and Actors, one owner-only file per peer or
 * connection (docs/protocol.md#daemon-files).
 */
import { join } from "node:path";
import * as z from "zod";
import {
  ensureDirectory,
  isTemporary,
  readWhole,
  replaceFile,
  unlinkIfThere,
} from "../../../platform/durable.ts";
import type { Files } from "../../../platform/files.ts";
import { errorFields, type Log } from "../../../platform/log.ts";
import { LIMITS } from "../../../shared/limits.ts";
import { list } from "../../../shared/model.ts";
import { CatalogGroup } from "../../../shared/wire/v1/peer.ts";
import { Time } from "../../../shared/wire/v1/time.ts";
import { uuidKey } from "../../../shared/wire/v1/uuid.ts";
import type { AuthorityKind, Grant, KnownConnection } from "../authority.ts";

const Catalog = z.object({
  connection_id: z.string().exactOptional(),
  account_origin: z.string(),
  account_id: z.string(),
  local_device_id: z.string(),
  remote_instance_id: z.string(),
  remote_device_id: z.string(),
  remote_origin: z.string().nullable(),
  checked_at: Time,
  groups: list(CatalogGroup, LIMITS.connect.catalog.groups * LIMITS.connect.catalog.pages),
});
export type Catalog = z.infer<typeof Catalog>;
export type { CatalogGroup } from "../../../shared/wire/v1/peer.ts";

interface Dependencies {
  files: Files;
  log: Log;
  /** `state/connect/catalog` in the Home; its parents exist. */
  directory: string;
}

export class CatalogCache {
  readonly #deps: Dependencies;
  readonly #catalogs = new Map<string, Catalog>();

  private constructor(deps: Dependencies) {
    this.#deps = deps;
  }

  /**
   * Reads what is there. A file that can't be read counts as none. The next refresh replaces it.
   */
  static async open(deps: Dependencies): Promise<CatalogCache> {
    const cache = new CatalogCache(deps);
    await ensureDirectory(deps.files, deps.directory);
    for (const name of deps.files.list(deps.directory)) {
      const path = join(deps.directory, name);
      try {
        if (isTemporary(name)) unlinkIfThere(deps.files, path);
        else if (name.endsWith(".json")) {
          const text = readWhole(deps.files, path)?.toString() ?? "";
          cache.#catalogs.set(name.slice(0, -".json".length), Catalog.parse(JSON.parse(text)));
        }
      } catch (error) {
        deps.log.warn("catalog_file", { name, ...errorFields(error) });
      }
    }
    return cache;
  }

  /** Null when nothing was learned under this grant as it is now (CAT-010). */
  of(grant: Grant): Catalog | null {
    const catalog = this.#catalogs.get(nameOfGrant(grant));
    if (catalog === undefined) return null;
    const bound = bindingOf(grant);
    const isBound =
      catalog.connection_id === bound.connection_id &&
      catalog.account_origin === bound.account_origin &&
      catalog.account_id === bound.account_id &&
      catalog.local_device_id === bound.local_device_id &&
      catalog.remote_instance_id === bound.remote_instance_id &&
      catalog.remote_device_id === bound.remote_device_id &&
      catalog.remote_origin === bound.remote_origin;
    return isBound ? catalog : null;
  }

  /** The present title of the pair's other Group, if it is known; empty within the account. */
  titleOf(grant: Grant): string {
    const { pair } = grant;
    if (pair === null) return "";
    const group = this.of(grant)?.groups.find((one) => one.group_id === pair.remote_group_id);
    return group?.title ?? pair.remote_title;
  }

  /** When anything was last learned from there, whatever has become of the grant since. */
  lastContact(authority: AuthorityKind, { id, remote }: KnownConnection): string | null {
    if (remote === null) return null;
    const connectionId = authority === "account" ? null : id;
    const catalog = this.#catalogs.get(nameOf(authority, connectionId, remote.instance_id));
    const isOther = catalog === undefined || (authority === "account" && catalog.remote_device_id !== id);
    return isOther ? null : catalog.checked_at;
  }

  /** Replaces what was learned before. Rejects with Node's errors. */
  async put(grant: Grant, checkedAt: string, groups: Catalog["groups"]): Promise<void> {
    const { files, directory } = this.#deps;
    const catalog: Catalog = { ...bindingOf(grant), checked_at: checkedAt, groups };
    const name = nameOfGrant(grant);
    await replaceFile(files, join(directory, `${name}.json`), Buffer.from(JSON.stringify(catalog)));
    this.#catalogs.set(name, catalog);
  }

  /** Forgets catalogs of connections that `isOver` says are gone for good. */
  prune(isOver: (connectionId: string) => boolean): void {
    for (const [name, catalog] of this.#catalogs) {
      if (catalog.connection_id === undefined || !isOver(catalog.connection_id)) continue;
      try {
        unlinkIfThere(this.#deps.files, join(this.#deps.directory, `${name}.json`));
        this.#catalogs.delete(name);
      } catch (error) {
        this.#deps.log.warn("catalog_file", { name, ...errorFields(error) });
      }
    }
  }
}

function bindingOf(grant: Grant): Omit<Catalog, "checked_at" | "groups"> {
  return {
    ...(grant.connection_id === null ? {} : { connection_id: grant.connection_id }),
    account_origin: grant.account_origin,
    account_id: grant.account_id,
    local_device_id: grant.local.device_id,
    remote_instance_id: grant.remote.instance_id,
    remote_device_id: grant.remote.device_id,
    remote_origin: grant.remote.public_origin,
  };
}

function nameOfGrant({ authority, connection_id: connectionId, remote }: Grant): string {
  return nameOf(authority, connectionId, remote.instance_id);
}

/** `<instance_id>`, `group-<uuid>` or `direct-<uuid>`. */
function nameOf(authority: AuthorityKind, connectionId: string | null, instanceId: string): string {
  if (connectionId === null) return instanceId;
  return authority === "direct" ? connectionId : `group-${uuidKey(connectionId)}`;
}
