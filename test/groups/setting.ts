/** What tests of the Groups share: a real Home with everything open, and callers. */

import { mkdirSync } from "node:fs";
import { homePaths } from "../../client/paths.ts";
import { accessTokenHandlers } from "../../daemon/access/access-token-handlers.ts";
import { AccessTokens } from "../../daemon/access/access-tokens.ts";
import type { OpenGroup } from "../../daemon/groups/group.ts";
import { groupHandlers } from "../../daemon/groups/handlers.ts";
import { LaunchTokens } from "../../daemon/groups/launch-tokens.ts";
import { GroupRegistry } from "../../daemon/groups/registry.ts";
import type { Projection } from "../../daemon/ledger/types.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Files } from "../../platform/files.ts";
import { RealFiles } from "../../platform/real-files.ts";
import { RealProjectFiles } from "../../platform/real-project-files.ts";
import { RealRandom } from "../../platform/real-random.ts";
import { type ErrorCode, Refusal } from "../../shared/errors.ts";
import type { StoredActor } from "../../shared/model.ts";
import type { CallContext, Caller } from "../../shared/operations/caller.ts";
import { type InputOf, OPERATIONS, type OperationName } from "../../shared/operations/registry.ts";
import { temporaryDirectory } from "../home/setting.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { NO_RUNNER, openSettings } from "./parts.ts";

export const USER: Caller = { kind: "user", by: "user", via: "socket", token_id: null };

export function context(caller: Caller): CallContext {
  return { caller, signal: new AbortController().signal };
}

export function asActor(group: OpenGroup, actor_id: string): Caller {
  const { generation } = group.actor(actor_id);
  return { kind: "actor", by: actor_id, group_id: group.group_id, actor_id, generation, session: null };
}

export async function openRegistry(
  root: string,
  projections: (group_id: string) => Projection[] = () => [],
  files: Files = new RealFiles(),
  clock: Clock = new ManualClock({ tick: 1 }),
) {
  return GroupRegistry.open({
    files,
    clock,
    random: new RealRandom(),
    paths: homePaths(root),
    projectionsFor: projections,
    keyOf: () => undefined,
    ledgerLimits: { extendBytes: 4096 },
  });
}

/** Everything about Groups on a Home at `root`; opened anew it continues what is there. */
export async function openGroups(root: string) {
  const files = new RealFiles();
  const clock = new ManualClock({ tick: 1 });
  const random = new RealRandom();
  const paths = homePaths(root);
  mkdirSync(paths.groups, { recursive: true, mode: 0o700 });
  const registry = await openRegistry(root);
  const launchTokens = await LaunchTokens.open({ files, random, home: root, registry });
  const settings = await openSettings(files, paths.settings);
  const accessTokens = new AccessTokens({ clock, random, settings });
  /** Callers of these tests need no token that exists. */
  const revoked = new Set<string>();
  accessTokens.onRevoked((token_id) => void revoked.add(token_id));
  const handlers = {
    ...accessTokenHandlers({ registry, accessTokens }),
    ...groupHandlers({
      clock,
      random,
      projects: new RealProjectFiles(root),
      registry,
      launchTokens,
      runner: NO_RUNNER,
      lapsed: (caller) =>
        caller.kind !== "actor" && caller.token_id !== null && revoked.has(caller.token_id)
          ? new Refusal("unauthenticated")
          : null,
      home: root,
      program: ["svc"],
      counts: () => ({ unread: 0, attention: 0, last_event: null }),
      presence: () => ({
        state: "idle",
        reason: "Waits for messages",
        since: null,
        last_activity: null,
        attention: false,
        unread_mail: 0,
        pending: 0,
      }),
    }),
  };
  /**
   * As the dispatcher does it, but for the locks: input and output go through the contract's
   * schemas.
   */
  const call = async <Name extends OperationName & keyof typeof handlers>(
    name: Name,
    input: unknown,
    caller: Caller = USER,
  ) => {
    const contract = OPERATIONS.get(name)!;
    const parsed = contract.input.parse(input) as InputOf<Name>;
    const handler = handlers[name] as (input: InputOf<Name>, context: CallContext) => unknown;
    const result = await handler(parsed, context(caller));
    return contract.output.parse(result) as Awaited<ReturnType<(typeof handlers)[Name]>>;
  };
  return { files, clock, paths, registry, launchTokens, accessTokens, settings, handlers, call };
}

export function storedActor(id: string, change: Partial<StoredActor> = {}): StoredActor {
  return {
    id,
    title: "",
    generation: `generation of ${id}`,
    runtime: "custom",
    runner: "external",
    command: [],
    env: {},
    scope_key: null,
    enabled: true,
    allow_tools: true,
    submit: "enter",
    prompts: false,
    created_at: "2026-01-01T00:00:00.000Z",
    updated_at: "2026-01-01T00:00:00.000Z",
    ...change,
  };
}

/** A Home without Groups. */
export function emptyHome(): string {
  const root = temporaryDirectory();
  mkdirSync(homePaths(root).groups, { mode: 0o700 });
  return root;
}

export function code(expected: ErrorCode): (error: unknown) => boolean {
  return (error) => error instanceof Refusal && error.code === expected;
}
