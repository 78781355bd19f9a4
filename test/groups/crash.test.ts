import assert from "node:assert/strict";
import * as z from "zod";
import { neededFiles } from "../../client/home-files.ts";
import { homePaths } from "../../client/paths.ts";
import type { OpenGroup } from "../../daemon/groups/group.ts";
import { LaunchTokens } from "../../daemon/groups/launch-tokens.ts";
import { GroupRegistry } from "../../daemon/groups/registry.ts";
import { HomeFiles } from "../../daemon/home/home-files.ts";
import { JsonDocument } from "../../platform/documents.ts";
import { ensureDirectory, readWhole } from "../../platform/durable.ts";
import type { Files } from "../../platform/files.ts";
import { RealRandom } from "../../platform/real-random.ts";
import { Refusal } from "../../shared/errors.ts";
import { MemoryLog } from "../operations/support.ts";
import { enumerateCrashes, enumerateFaults, type Story } from "../simulation/crash.ts";
import type { SimulatedFiles } from "../simulation/files.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { storedActor } from "./setting.ts";

const ROOT = "/home";

/** What was promised. `unsure` was tried and may have happened. */
interface Witness {
  group_id: string | null;
  title: string[];
  generation: string | null;
  /** Events that must be there; null while a reset may have taken them. */
  events: string[] | null;
  token: string | null;
  fate: "kept" | "unsure" | "gone";
}

async function open(files: Files) {
  const random = new RealRandom();
  for (const directory of [ROOT, `${ROOT}/groups`]) {
    if (files.stat(directory) === null) files.mkdir(directory);
  }
  const paths = homePaths(ROOT);
  const kept = await HomeFiles.open(files, paths);
  await kept.noteAll();
  const registry = await GroupRegistry.open({
    files,
    clock: new ManualClock({ tick: 1 }),
    random,
    paths,
    kept,
    projectionsFor: () => [],
    keyOf: () => undefined,
    ledgerLimits: { extendBytes: 1024 },
  });
  const launchTokens = await LaunchTokens.open({ files, random, log: new MemoryLog(), home: ROOT, registry });
  return { registry, launchTokens, kept };
}

/** Whether the step was acknowledged. */
async function went(step: () => Promise<unknown>): Promise<boolean> {
  try {
    await step();
    return true;
  } catch (error) {
    assert.ok(error instanceof Refusal, String((error as Error).stack));
    return false;
  }
}

/** Null when the disk fails just then. */
function readToken(files: Files, group: OpenGroup): string | null {
  try {
    const text = readWhole(files, group.paths.tokenFile("ann"))?.toString() ?? "";
    return (JSON.parse(text) as { token: string }).token;
  } catch {
    return null;
  }
}

async function syncDirectory(files: Files, path: string): Promise<void> {
  await new Promise((done) => files.syncDir(path, done));
}

const story: Story<Witness> = {
  begin: () => ({ group_id: null, title: [], generation: null, events: null, token: null, fate: "unsure" }),

  async run(files, witness) {
    let setting: Awaited<ReturnType<typeof open>>;
    try {
      setting = await open(files);
      await syncDirectory(files, "/");
      await syncDirectory(files, ROOT);
    } catch {
      return;
    }
    const { registry, launchTokens } = setting;
    if (!(await went(() => registry.create({ title: "one", topic: "", by: "user" })))) return;
    const group = registry.list()[0]!;
    const { group_id: groupId } = group;
    Object.assign(witness, {
      group_id: groupId,
      title: ["one"],
      generation: group.record.generation,
      events: ["group.create"],
      fate: "kept",
    });

    const actor = storedActor("ann");
    const update = async (title: string) => {
      witness.title.push(title);
      const done = await went(() =>
        group.update((record) => ({ ...record, title, actors: [actor] }), {
          kind: "group.update",
          by: "user",
          data: { fields: ["title"] },
        }),
      );
      if (done) witness.title = [title];
      if (done) witness.events?.push("group.update");
    };
    await update("two");
    const issued = await went(() => launchTokens.issue(group, actor));
    if (issued && group.record.title === "two") witness.token = readToken(files, group);

    witness.events = null;
    witness.generation = null;
    if (await went(() => registry.reset(groupId, groupId, "user"))) {
      witness.events = ["group.reset"];
      witness.generation = registry.get(groupId).record.generation;
    }

    witness.fate = "unsure";
    if (await went(() => registry.delete(groupId, groupId))) witness.fate = "gone";
    await registry.close();
  },

  async check(files, witness) {
    const { registry, launchTokens, kept } = await open(files);
    const { groups } = homePaths(ROOT);
    assert.deepEqual(registry.unavailable(), []);
    assert.deepEqual(
      [...kept.groups],
      registry
        .list()
        .map(({ group_id: groupId }) => groupId)
        .sort(),
    );
    for (const name of files.list(groups)) assert.match(name, /^g_[0-9a-f]{12}$/, "something was left over");
    const group = witness.group_id === null ? undefined : registry.find(witness.group_id);
    if (witness.fate === "gone") assert.equal(group, undefined);
    if (witness.fate === "kept") assert.ok(group !== undefined, "an acknowledged Group is lost");
    if (group !== undefined) {
      assert.ok(witness.title.includes(group.record.title), `title ${group.record.title}`);
      if (witness.generation !== null) assert.equal(group.record.generation, witness.generation);
      const kinds = Array.from({ length: group.ledger.count }, (_, at) => group.ledger.read(at).kind);
      if (witness.events !== null) assert.deepEqual(kinds.slice(0, witness.events.length), witness.events);
      if (witness.token !== null) assert.equal(launchTokens.verify(witness.token)?.actor_id, "ann");
      assert.equal(files.stat(group.paths.resetMarker), null);
    }
    // Life goes on.
    await registry.create({ title: "later", topic: "", by: "user" });
    await registry.close();
  },
};

/** Files that say a directory is synced without doing it. */
function withoutDirectorySyncs(files: Files): Files {
  return new Proxy(files, {
    get(target, name: keyof Files) {
      if (name === "syncDir") return (_path: string, done: (error: null) => void) => setImmediate(done, null);
      return target[name].bind(target);
    },
  });
}

/** A daemon is killed at the call `kill` and started again, and then the power fails. */
function killedAt(kill: number, killed: () => void): Story<null> {
  return {
    begin: () => null,
    async run(files) {
      const disk = files as SimulatedFiles;
      for (const directory of [ROOT, `${ROOT}/groups`]) files.mkdir(directory);
      await syncDirectory(files, "/");
      await syncDirectory(files, ROOT);
      const first = disk.calls;
      disk.fault = (_call, index) => {
        if (index < first + kill) return null;
        killed();
        // Nothing that a killed process would do next happens.
        return "EIO";
      };
      try {
        const { registry, kept } = await open(files);
        const { secrets, pushKey: path } = homePaths(ROOT);
        await ensureDirectory(files, secrets);
        await JsonDocument.create({ files, path, version: 1, schema: z.object({}), kept }, {});
        const { group_id: groupId } = await registry.create({ title: "one", topic: "", by: "user" });
        await registry.delete(groupId, groupId);
      } catch {
        // Whatever it was, the process is gone.
      }
      disk.fault = null;
      await open(files);
    },
    async check(files) {
      const { registry, kept } = await open(files);
      assert.deepEqual(registry.unavailable(), []);
      for (const { path } of neededFiles(homePaths(ROOT))) kept.check(path);
    },
  };
}

describe("Groups when the power fails or the disk does", () => {
  it("keep what was acknowledged and complete what was begun, at every crash point", async () => {
    const { points, states, violations } = await enumerateCrashes(story);
    assert.deepEqual(violations, []);
    assert.ok(points > 60 && states > 100, `${points} points, ${states} states`);
  });

  it("are shown to break them when directories aren't synced", async () => {
    const wrap = (files: Files) => withoutDirectorySyncs(files);
    const { violations } = await enumerateCrashes(story, { wrap, violationsMax: 1 });
    assert.equal(violations.length, 1);
  });

  it("are never missed where there were none, nor is a file, after a kill and a power cut at any two points", async () => {
    let kills = 0;
    for (let wasKilled = true; wasKilled; kills += 1) {
      const story = killedAt(kills, () => (wasKilled = true));
      wasKilled = false;
      const { violations } = await enumerateCrashes(story, { isBrief: true });
      assert.deepEqual(violations, [], `killed at call ${kills}`);
    }
    assert.ok(kills > 60, `${kills} kills`);
  });

  it("keep their promises when any call fails", async () => {
    const { violations } = await enumerateFaults(story, { changesAfterFault: 1 });
    assert.deepEqual(violations, []);
  });
});
