/**
 * Operation `connect_catalog`, and what sending needs of the directory. It answers from memory and
 * contacts no other instance.
 */

import type { Clock } from "../../../platform/clock.ts";
import { Refusal } from "../../../shared/errors.ts";
import { LIMITS } from "../../../shared/limits.ts";
import type { CallContext } from "../../../shared/operations/caller.ts";
import type { RemoteInstance } from "../../../shared/operations/connect.ts";
import type { InputOf, ResultOf } from "../../../shared/operations/registry.ts";
import { InstanceId, WireGroupId } from "../../../shared/wire/v1/fields.ts";
import type { Chats } from "../../messaging/group-chat.ts";
import type { Authorities } from "../authorities.ts";
import type { Grant, GrantEnd } from "../authority.ts";
import { checkBy } from "../requests/by.ts";
import type { Catalog, CatalogCache, CatalogGroup } from "./catalog-cache.ts";

interface Dependencies {
  clock: Clock;
  chats: Chats;
  authorities: Authorities;
  cache: CatalogCache;
  instance_id: string;
}

type Discovery = Extract<ResultOf<"connect_catalog">, { self_instance_id: string }>;
type Details = Extract<ResultOf<"connect_catalog">, { instance: RemoteInstance }>;

/** A Group of another instance that this Group may write to, with what is known about it. */
export interface Destination {
  grant: Grant;
  group_id: string;
  /** Null until the other side has been reached once, and for a Group that it doesn't list. */
  group: CatalogGroup | null;
  /** Whether the other side has ever been reached. */
  isLearnt: boolean;
}

const { catalog: limits } = LIMITS.connect;

export class CatalogReads {
  readonly #deps: Dependencies;

  constructor(deps: Dependencies) {
    this.#deps = deps;
  }

  /** Throws group_not_found, permission_denied, and what `destination` throws. */
  read(input: InputOf<"connect_catalog">, { caller }: CallContext): Discovery | Details {
    const chat = this.#deps.chats.get(input.group_id);
    checkBy(chat, caller, input.by);
    const { group_id: groupId, instance_id: instanceId, target_group_id: targetGroupId } = input;
    if (instanceId === undefined) {
      if (targetGroupId !== undefined) throw new Refusal("connect_instance_required");
      return this.#discover(groupId);
    }
    const limit = Math.min(Math.max(input.limit, 1), limits.groups);
    if (targetGroupId !== undefined) {
      const { grant, group } = this.destination(groupId, instanceId, targetGroupId);
      const catalog = this.#deps.cache.of(grant);
      return this.#details(grant, catalog, group === null ? [] : [group], null);
    }
    checkInstance(instanceId);
    this.#requireTarget(groupId, instanceId, false);
    const grant = this.#deps.authorities.account().find(({ remote }) => remote.instance_id === instanceId);
    if (grant === undefined) throw this.#unconfirmed(instanceId) ?? notGranted(instanceId, "");
    const catalog = this.#deps.cache.of(grant);
    const after = input.after ?? "";
    const isOffered = (targetId: string): boolean =>
      this.#deps.authorities.pinOf({
        connection_id: null,
        local_group_id: groupId,
        remote_group_id: targetId,
        remote_instance_id: instanceId,
      }) === null;
    const behind = (catalog?.groups ?? []).filter(
      (group) => group.group_id > after && isOffered(group.group_id),
    );
    // Without a Group there are no details (CAT-032).
    const page = behind.slice(0, limit).map((group) => ({ ...group, actors: [] }));
    return this.#details(grant, catalog, page, behind.length > limit ? page.at(-1)!.group_id : null);
  }

  /**
   * The destination of a message. Throws connect_instance_required, connect_target_group_required
   * with the choices of this Group (ERR-001 to ERR-004), invalid_args for something that can't be
   * an address, connect_not_granted, connect_unavailable.
   */
  destination(localGroupId: string, instanceId: string, targetGroupId: string): Destination {
    if (instanceId === "") {
      if (targetGroupId !== "") throw new Refusal("connect_instance_required");
      throw malformed("instance_id", "is empty");
    }
    checkInstance(instanceId);
    if (targetGroupId === "") this.#requireTarget(localGroupId, instanceId, true);
    if (!WireGroupId.safeParse(targetGroupId).success) throw malformed("target_group_id", "isn't a Group id");
    const state = this.#deps.authorities.forPair(localGroupId, instanceId, targetGroupId);
    if (state === null) throw notGranted(instanceId, targetGroupId);
    if (state.state === "gone") {
      throw new Refusal("connect_not_granted", {
        specifics: state.reason,
        ...(state.remedy !== undefined && { remedy: state.remedy }),
        details: { instance_id: instanceId },
      });
    }
    if (state.state === "unavailable") {
      throw new Refusal("connect_unavailable", {
        specifics: state.reason,
        details: { instance_id: instanceId },
      });
    }
    const { grant } = state;
    const catalog = this.#deps.cache.of(grant);
    const group = catalog?.groups.find((one) => one.group_id === targetGroupId) ?? null;
    return { grant, group_id: targetGroupId, group, isLearnt: catalog !== null };
  }

  /** Null when the account's word is known, so that an instance it doesn't list isn't there. */
  #unconfirmed(instanceId: string): Refusal | null {
    const account = this.#deps.authorities.of("account")?.condition();
    if (account?.status !== "unavailable") return null;
    const specifics = account.error === null ? {} : { specifics: account.error };
    return new Refusal("connect_unavailable", { ...specifics, details: { instance_id: instanceId } });
  }

  #discover(groupId: string): Discovery {
    const { authorities, instance_id: instanceId } = this.#deps;
    const account = authorities.of("account")?.condition();
    return {
      self_instance_id: instanceId,
      instances: authorities.account().map(({ remote }) => instanceOf(remote)),
      external_groups: this.#externalGroups(groupId),
      status: account?.status ?? "not_linked",
      account_error: account?.error ?? null,
      checked_at: account?.checked_at ?? null,
      expires_at: account?.expires_at ?? null,
    };
  }

  #externalGroups(groupId: string): Discovery["external_groups"] {
    const { authorities, cache } = this.#deps;
    return authorities.external(groupId).map((grant) => ({
      connection_id: grant.connection_id ?? "",
      instance: instanceOf(grant.remote),
      group_id: grant.pair!.remote_group_id,
      title: cache.titleOf(grant),
      transport: grant.authority === "direct" ? "direct" : "account",
    }));
  }

  /** Nothing is chosen silently, even if there is only one choice (ERR-002). */
  #requireTarget(groupId: string, instanceId: string, always: boolean): void {
    const externalGroups = this.#externalGroups(groupId).filter(
      ({ instance }) => instance.instance_id === instanceId,
    );
    if (externalGroups.length === 0 && !always) return;
    throw new Refusal("connect_target_group_required", { details: { external_groups: externalGroups } });
  }

  #details(grant: Grant, catalog: Catalog | null, groups: CatalogGroup[], next: string | null): Details {
    const age = catalog === null ? 0 : this.#deps.clock.now() - Date.parse(catalog.checked_at);
    return {
      instance: instanceOf(grant.remote),
      catalog: catalog === null ? null : { checked_at: catalog.checked_at, groups },
      // If a clock is set back, nothing stays fresh for ever.
      fresh: catalog !== null && Math.abs(age) <= limits.freshSeconds * 1000,
      next,
    };
  }
}

function instanceOf(end: GrantEnd): RemoteInstance {
  const {
    instance_id: instanceId,
    device_id: deviceId,
    client_version: clientVersion,
    public_origin: publicOrigin,
    name,
  } = end;
  return {
    instance_id: instanceId,
    device_id: deviceId,
    client_version: clientVersion,
    public_origin: publicOrigin,
    display_name: name,
  };
}

function checkInstance(instanceId: string): void {
  if (!InstanceId.safeParse(instanceId).success) throw malformed("instance_id", "isn't an instance id");
}

function malformed(field: string, problem: string): Refusal {
  return new Refusal("invalid_args", { specifics: `'${field}' ${problem}.`, details: { field } });
}

function notGranted(instanceId: string, groupId: string): Refusal {
  return new Refusal("connect_not_granted", { details: { instance_id: instanceId, group_id: groupId } });
}
