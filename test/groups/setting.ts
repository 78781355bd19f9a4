/** What tests of the Groups share: a real Home with everything open, and callers. */
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { homePaths } from "../../client/paths.ts";
import type { OpenGroup } from "../../daemon/groups/group.ts";
import { GroupRegistry } from "../../daemon/groups/registry.ts";
import type { Projection } from "../../daemon/ledger/types.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Files } from "../../platform/files.ts";
import { RealFiles } from "../../platform/real-files.ts";
import { RealProjectFiles } from "../../platform/real-project-files.ts";
import { RealRandom } from "../../platform/real-random.ts";
import { type ErrorCode, Refusal } from "../../shared/errors.ts";
import type { StoredActor } from "../../shared/model.ts";
import type { Caller } from "../../shared/operations/caller.ts";
import type { OperationName, ResultOf } from "../../shared/operations/registry.ts";
import { temporaryDirectory } from "../home/setting.ts";
import { MemoryLog } from "../operations/support.ts";
import { ManualClock } from "../support/manual-clock.ts";
import {
  callOperation,
  homeAt,
  MESSAGING,
  NO_PEERS,
  NO_PROCESSES,
  startServices,
  USER,
} from "../support/services.ts";

export function asActor(group: OpenGroup, actorId: string): Caller {
  const { generation } = group.actor(actorId);
  return {
    kind: "actor",
    by: actorId,
    group_id: group.group_id,
    actor_id: actorId,
    generation,
    session: null,
  };
}

export async function openRegistry(
  root: string,
  projections: (groupId: string) => Projection[] = () => [],
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

/**
 * The daemon's services for Groups on a Home at `root`; opened again it continues what is there.
 */
export async function openGroups(root: string) {
  const files = new RealFiles();
  const clock = new ManualClock({ tick: 1 });
  const log = new MemoryLog();
  const home = await homeAt(root, files);
  /** Callers of these tests need no token that exists. */
  const revoked = new Set<string>();
  const supervisor = await startServices(
    {
      files,
      clock,
      random: new RealRandom(),
      projects: new RealProjectFiles(root),
      log,
      program: ["svc"],
      checkOutputs: true,
      home,
      ledgerLimits: { extendBytes: 4096 },
    },
    {
      only: MESSAGING,
      instead: {
        ...NO_PROCESSES,
        ...NO_PEERS,
        credentials({ access }) {
          access.accessTokens.onRevoked((tokenId) => void revoked.add(tokenId));
          return {
            part: {
              lapsed: (caller) =>
                caller.kind !== "actor" && caller.token_id !== null && revoked.has(caller.token_id)
                  ? new Refusal("unauthenticated")
                  : null,
            },
          };
        },
      },
    },
  );
  const { parts } = supervisor;
  const { registry } = parts.groups;
  const { launchTokens, accessTokens } = parts.access;
  const call = async <Name extends OperationName>(name: Name, input: unknown, as: Caller = USER) =>
    (await callOperation(parts, log, name, input, { as })) as ResultOf<Name>;
  return {
    files,
    clock,
    ...home,
    registry,
    launchTokens,
    accessTokens,
    call,
    handlers: supervisor.handlers,
    close: () => supervisor.stop(),
  };
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
    answerable: false,
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

/** For `assert.rejects` and `assert.throws`: a refusal with this code, and nothing else. */
export function code(expected: ErrorCode): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof Refusal, String(error));
    assert.equal(error.code, expected);
    return true;
  };
}
