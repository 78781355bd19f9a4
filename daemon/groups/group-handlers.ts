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
import { describeScope } from "./scopes.ts";

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
 * Binds the directory. If another directory is bound under the same key, it has moved or is another
 * clone, and is replaced.
 */
function bind(record: StoredGroup, scope: Scope): StoredGroup {
  const bound = record.scopes.find((one) => one.scope_key === scope.scope_key);
  if (bound !== undefined && same(bound, scope) && record.active_scope_key !== null) return record;
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
  return { ...record, scopes, active_scope_key: record.active_scope_key ?? scope.scope_key };
}

async function attach(
  { registry, projects }: { registry: GroupRegistry; projects: ProjectFiles },
  input: InputOf<"attach">,
  by: string,
) {
  const scope = describeScope(projects, input.path);
  const { scope_key: scopeKey } = scope;
  const named = input.group_id === undefined ? undefined : registry.get(input.group_id);
  const bound = registry
    .list()
    .find((group) => group.record.scopes.some((one) => one.scope_key === scopeKey));
  const known = named ?? bound;
  const group = known ?? (await registry.create({ title: scope.label, topic: "", by }));
  // The dispatcher holds the Home's permit, not this Group's.
  const release = await group.permit.acquireWrite();
  try {
    await group.update((record) => bind(record, scope), {
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
