/** Operations that make, change and end Groups. */

import type { ProjectFiles } from "../../platform/project-files.ts";
import { Refusal } from "../../shared/errors.ts";
import { LIMITS } from "../../shared/limits.ts";
import type { GroupState, Scope, StoredGroup } from "../../shared/model.ts";
import type { CallContext } from "../../shared/operations/caller.ts";
import type { groupOperations } from "../../shared/operations/groups.ts";
import type { HandlersFor } from "../../shared/operations/handlers.ts";
import type { InputOf } from "../../shared/operations/registry.ts";
import { listFolders } from "./folders.ts";
import type { OpenGroup } from "./group.ts";
import type { GroupRegistry } from "./registry.ts";
import { describeScope, pathKey } from "./scopes.ts";

function same(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

async function setState(group: OpenGroup, state: GroupState, by: string): Promise<void> {
  await group.update((record) => (record.state === state ? record : { ...record, state }), {
    kind: "group.set_state",
    by,
    data: { state },
  });
}

async function change(group: OpenGroup, input: InputOf<"group_update">, by: string): Promise<void> {
  const { title, topic, active_scope_key: activeScopeKey, settings } = input;
  const { record } = group;
  if (activeScopeKey !== undefined && !record.scopes.some((scope) => scope.scope_key === activeScopeKey)) {
    throw new Refusal("scope_not_attached", { details: { scope_key: activeScopeKey } });
  }
  const given = Object.fromEntries(Object.entries(settings ?? {}).filter(([, value]) => value !== undefined));
  const wanted: Partial<StoredGroup> = {
    ...(title === undefined ? {} : { title }),
    ...(topic === undefined ? {} : { topic }),
    ...(activeScopeKey === undefined ? {} : { active_scope_key: activeScopeKey }),
    ...(settings === undefined ? {} : { settings: { ...record.settings, ...given } }),
  };
  const fields = Object.keys(wanted).filter(
    (name) => !same(Reflect.get(wanted, name), Reflect.get(record, name)),
  );
  if (fields.length === 0) return;
  await group.update((current) => ({ ...current, ...wanted }), {
    kind: "group.update",
    by,
    data: { fields, ...(fields.includes("title") ? { title } : {}) },
  });
}

/**
 * The scope as it is in the Group. A directory keeps the key that it has. If another directory has
 * its key and is still there, it stays, and this one, a second work tree or clone, gets a key of
 * its own; if it is gone, the project has moved here.
 */
function scopeIn(record: StoredGroup, scope: Scope, projects: ProjectFiles): Scope {
  const bound = record.scopes.find(({ path }) => path === scope.path);
  if (bound !== undefined) return { ...scope, scope_key: bound.scope_key };
  const other = record.scopes.find((one) => one.scope_key === scope.scope_key);
  return other !== undefined && projects.isDirectory(other.path)
    ? { ...scope, scope_key: pathKey(scope.path) }
    : scope;
}

/**
 * Binds the directory, instead of one that had the same key. The Group's Actors work in the first
 * one, and in another once that one is gone.
 */
function bind(record: StoredGroup, scope: Scope, projects: ProjectFiles): StoredGroup {
  const bound = record.scopes.find((one) => one.scope_key === scope.scope_key);
  const active = record.scopes.find((one) => one.scope_key === record.active_scope_key);
  const isActiveThere = active !== undefined && projects.isDirectory(active.path);
  if (bound !== undefined && same(bound, scope) && isActiveThere) return record;
  if (bound === undefined && record.scopes.length >= LIMITS.group.scopes) {
    const limit = LIMITS.group.scopes;
    throw new Refusal("limit_reached", {
      specifics: `The Group has ${limit} project directories, which is the limit.`,
      remedy: "Use another Group.",
      details: { limit },
    });
  }
  const scopes =
    bound === undefined
      ? [...record.scopes, scope]
      : record.scopes.map((one) => (one === bound ? scope : one));
  return { ...record, scopes, active_scope_key: isActiveThere ? active.scope_key : scope.scope_key };
}

/** The Group that has the directory, else another work tree of its repository, else its remote. */
function boundGroup(
  groups: readonly OpenGroup[],
  { path, scope_key: scopeKey }: Scope,
  projects: ProjectFiles,
): OpenGroup | undefined {
  const having = (is: (scope: Scope) => boolean) => groups.find(({ record }) => record.scopes.some(is));
  return (
    having((one) => one.path === path) ??
    having((one) => projects.isSamePlace(one.path, path)) ??
    having((one) => one.scope_key === scopeKey)
  );
}

async function attach(
  { registry, projects }: { registry: GroupRegistry; projects: ProjectFiles },
  input: InputOf<"attach">,
  by: string,
) {
  const found = describeScope(projects, input.path);
  const known =
    input.group_id === undefined
      ? boundGroup(registry.list(), found, projects)
      : registry.get(input.group_id);
  const group = known ?? (await registry.create({ title: found.label, topic: "", by }));
  // The dispatcher holds the Home's permit, not this Group's.
  const release = await group.permit.acquireWrite();
  const scope = scopeIn(group.record, found, projects);
  const { scope_key: scopeKey } = scope;
  try {
    await group.update((record) => bind(record, scope, projects), {
      kind: "group.attach",
      by,
      data: { scope_key: scopeKey, label: scope.label },
    });
  } finally {
    release();
  }
  return { group_id: group.group_id, scope_key: scopeKey, created: known === undefined };
}

export function groupChanges(deps: {
  registry: GroupRegistry;
  projects: ProjectFiles;
}): Omit<HandlersFor<typeof groupOperations>, "group_list" | "group_show"> {
  const { registry } = deps;
  const inState =
    (state: GroupState) =>
    async ({ group_id: groupId }: { group_id: string }, { caller }: CallContext) => {
      const group = registry.get(groupId);
      await setState(group, state, caller.by);
      return group.view();
    };
  return {
    group_create: async ({ title, topic }, { caller }) =>
      (await registry.create({ title, topic, by: caller.by })).view(),
    group_update: async (input, { caller }) => {
      const group = registry.get(input.group_id);
      await change(group, input, caller.by);
      return group.view();
    },
    group_set_state: (input, context) => inState(input.state)(input, context),
    group_start: inState("active"),
    group_stop: inState("stopped"),
    folder_list: (input) => listFolders(deps.projects, input),
    attach: (input, { caller }) => attach(deps, input, caller.by),
    group_reset: async ({ group_id: groupId, confirm }, { caller }) =>
      (await registry.reset(groupId, confirm, caller.by)).view(),
    group_delete: async ({ group_id: groupId, confirm }) => {
      await registry.delete(groupId, confirm);
      return { group_id: groupId, deleted: true };
    },
  };
}
