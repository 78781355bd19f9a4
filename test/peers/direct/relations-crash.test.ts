/**
 * The Direct relations on a disk that loses power or fails: a decision that was answered stays,
 * half of one is never seen.
 */
import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { homePaths } from "../../../client/paths.ts";
import { create as createDirect } from "../../../daemon/assembly/services/direct.ts";
import { GroupRegistry } from "../../../daemon/groups/registry.ts";
import type { Home } from "../../../daemon/home/home.ts";
import { Relations } from "../../../daemon/peers/direct/relations.ts";
import type { Files } from "../../../platform/files.ts";
import { RealRandom } from "../../../platform/real-random.ts";
import { Refusal } from "../../../shared/errors.ts";
import { LIMITS } from "../../../shared/limits.ts";
import type { DirectEndpoint, DirectInvitation } from "../../../shared/wire/v1/direct.ts";
import { MemoryLog } from "../../operations/support.ts";
import { verifies } from "../../requirements.ts";
import { enumerateCrashes, enumerateFaults, type Story, without } from "../../simulation/crash.ts";
import type { Tree } from "../../simulation/crash-states.ts";
import { SimulatedFiles } from "../../simulation/files.ts";
import { ManualClock } from "../../support/manual-clock.ts";
import { newIdentity } from "../receiver-setting.ts";
import { MemoryNetwork } from "./memory-links.ts";

const PATH = "/home/direct_connections.json";
const GROUP = "g_0123456789ab";
const LISTENER = { bind: "192.0.2.10:8847", address: "192.0.2.10:8847" };

/**
 * States of the document that may be found: one when a change is durable, two while it is under
 * way.
 */
interface Witness {
  may: string[];
}

interface Setting {
  from: Tree;
  here: DirectEndpoint;
  there: DirectEndpoint;
}

async function endpoint(groupId: string): Promise<DirectEndpoint> {
  const { instance_id: instanceId, public_key: publicKey } = await newIdentity();
  return {
    instance_id: instanceId,
    public_key: publicKey,
    client_version: "0.5.0",
    name: "name",
    group_id: groupId,
    generation: randomUUID(),
    title: "Group",
  };
}

async function setting(): Promise<Setting> {
  const files = new SimulatedFiles();
  files.mkdir("/home");
  await new Promise<void>((resolve) => files.syncDir("/", () => resolve()));
  return { from: files.tree(), here: await endpoint(GROUP), there: await endpoint("g_ba9876543210") };
}

const open = (files: Files): Promise<Relations> =>
  Relations.open({ files, clock: new ManualClock(), path: PATH, hostname: "host" });

/** What the relations say, in a word. */
function seen(relations: Relations): string {
  const each = relations.list.map(
    ({ id, state, remote }) => `${id} ${state} ${remote === null ? "" : "bound"}`,
  );
  return [relations.listener?.bind ?? "off", relations.display_name, ...each].join("; ");
}

function storyOf({ here, there }: Setting): Story<Witness> {
  const invitation = { v: 1 as const, host: here, secret: randomBytes(32).toString("hex") };
  const ours = `direct-${randomUUID()}`;
  const joined: DirectInvitation = {
    v: 1,
    id: `direct-${randomUUID()}`,
    address: LISTENER.address,
    host: there,
    expires_at: new Date(new ManualClock().now() + LIMITS.direct.invitationMinutes * 60_000).toISOString(),
    secret: randomBytes(32).toString("hex"),
  };
  const other = { ...there, group_id: "g_00000000000c" };
  const steps: ((relations: Relations) => Promise<unknown>)[] = [
    (relations) => relations.configure(LISTENER, "Office", undefined),
    (relations) => relations.invite({ ...invitation, id: ours }, undefined),
    (relations) => relations.bind(ours, other),
    (relations) => relations.approve(GROUP, ours),
    (relations) => relations.join(joined, here),
    (relations) => relations.learn(joined.id, "active"),
    (relations) => relations.revoke(GROUP, ours),
    (relations) => relations.remove(GROUP, ours),
    (relations) => relations.retire(({ local }) => local.group_id === GROUP),
  ];
  // What each step leads to, on a disk that never fails.
  const rehearsed = (async () => {
    const files = new SimulatedFiles();
    files.mkdir("/home");
    const relations = await open(files);
    const states = [seen(relations)];
    for (const step of steps) {
      await step(relations);
      states.push(seen(relations));
    }
    return states;
  })();

  return {
    begin: () => ({ may: ["off; host"] }),

    async run(files, witness) {
      const relations = await open(files);
      if (relations.problem !== null) return;
      const states = await rehearsed;
      for (const [at, step] of steps.entries()) {
        const next = states[at + 1]!;
        witness.may = [...new Set([...witness.may, next])];
        try {
          await step(relations);
          assert.equal(seen(relations), next);
          witness.may = [next];
        } catch (error) {
          assert.ok(error instanceof Refusal, String(error));
          // Nobody acts on what isn't durable; the next step would be another story.
          assert.equal(seen(relations), states[at]);
          return;
        }
      }
    },

    async check(files, witness) {
      const relations = await open(files);
      assert.equal(relations.problem, null);
      assert.ok(
        witness.may.includes(seen(relations)),
        `${seen(relations)} isn't one of ${witness.may.join(" | ")}`,
      );
      // A removed connection stays removed: its invitation isn't taken again.
      if (witness.may.length === 1 && witness.may[0] === (await rehearsed).at(-1)) {
        await assert.rejects(relations.join(joined, here), { code: "direct_invitation_used" });
      }
      await relations.configure(LISTENER, "Later", undefined);
      assert.equal((await open(files)).display_name, "Later");
    },
  };
}

describe("Direct relations when the power fails or the disk does", function () {
  this.timeout(300_000);

  it("are as the last answer said, at every crash point", async () => {
    verifies("DRC-018", "DRC-035");
    const all = await setting();
    const { points, states, violations } = await enumerateCrashes(storyOf(all), { from: all.from });
    assert.deepEqual(violations, []);
    assert.ok(points > 30 && states > 30, `${points} points, ${states} states`);
  });

  it("are as before when a change fails, or whole", async () => {
    const all = await setting();
    const { points, violations } = await enumerateFaults(storyOf(all), { from: all.from });
    assert.deepEqual(violations, []);
    assert.ok(points > 60, `${points} faults`);
  });

  for (const sync of ["files", "directories"] as const) {
    it(`are shown to be lost when ${sync} aren't synced`, async () => {
      const all = await setting();
      const options = { from: all.from, isBrief: true, wrap: without(sync), violationsMax: 1 };
      const { violations } = await enumerateCrashes(storyOf(all), options);
      assert.equal(violations.length, 1);
    });
  }
});

/** A Home with a Group, as the daemon opens it as far as Direct goes. */
async function openHome(files: Files, identity: { instance_id: string; public_key: string }) {
  const paths = homePaths("/home");
  const random = new RealRandom();
  const registry = await GroupRegistry.open({
    files,
    clock: new ManualClock({ tick: 1 }),
    random,
    paths,
    projectionsFor: () => [],
    keyOf: () => undefined,
    ledgerLimits: { extendBytes: 1024 },
  });
  const clock = new ManualClock();
  const { part: direct } = await createDirect({
    files,
    clock,
    random,
    log: new MemoryLog(),
    links: new MemoryNetwork().linksOf(identity.public_key),
    home: { paths, identity } as Home,
    hostname: "host",
    network: { interfaces: () => [] },
    groups: { registry },
    outbound: { authorities: { add: () => {} } },
    receiver: {
      receive: () => Promise.reject(new Error("nobody asks")),
      refuse: () => Promise.reject(new Error("nobody asks")),
      allowance: () => ({ records: 0, bytes: 0 }),
      close: async () => {},
    },
  });
  await direct.start();
  return { registry, direct, clock };
}

interface ResetSetting {
  from: Tree;
  identity: { instance_id: string; public_key: string };
  group_id: string;
  generation: string;
  id: string;
}

/** A Group with an approved connection. */
async function connectedGroup(): Promise<ResetSetting> {
  const files = new SimulatedFiles();
  for (const path of ["/home", "/home/groups"]) files.mkdir(path);
  const { instance_id: instanceId, public_key: publicKey } = await newIdentity();
  const identity = { instance_id: instanceId, public_key: publicKey };
  const { registry, direct } = await openHome(files, identity);
  const { group_id: groupId, record } = await registry.create({ title: "Group", topic: "", by: "user" });
  await direct.configure(LISTENER, undefined, undefined);
  await direct.invite(groupId, undefined);
  await direct.close();
  const { id } = direct.status(groupId).relations[0]!;
  const relations = await open(files);
  await relations.bind(id, await endpoint("g_ba9876543210"));
  await relations.approve(groupId, id);
  const { generation } = record;
  await registry.close();
  for (const path of ["/", "/home"]) await new Promise<void>((done) => files.syncDir(path, () => done()));
  return { from: files.tree(), identity, group_id: groupId, generation, id };
}

describe("Direct relations of a Group that is reset when the power fails or the disk does", function () {
  this.timeout(300_000);

  const storyOfReset = ({
    identity,
    group_id: groupId,
    generation,
    id,
  }: ResetSetting): Story<{ isReset: boolean }> => ({
    begin: () => ({ isReset: false }),

    async run(files, witness) {
      try {
        const { registry, direct } = await openHome(files, identity);
        await registry.reset(groupId, groupId, "user");
        witness.isReset = true;
        await direct.close();
      } catch {
        // The story ends where the disk failed; the reset may have been committed.
      }
    },

    async check(files, { isReset }) {
      const { registry, direct } = await openHome(files, identity);
      const now = registry.find(groupId)?.record.generation;
      assert.ok(now !== undefined);
      if (isReset) assert.notEqual(now, generation);
      const { relations } = direct.status(undefined);
      assert.deepEqual(
        relations.map((relation) => [relation.id, relation.state, relation.current]),
        now === generation ? [[id, "active", true]] : [],
      );
      await direct.close();
      await registry.close();
    },
  });

  it("go with what the Group was, whenever the power fails", async () => {
    verifies("DRC-075");
    const all = await connectedGroup();
    const { points, states, violations } = await enumerateCrashes(storyOfReset(all), { from: all.from });
    assert.deepEqual(violations, []);
    assert.ok(points > 10 && states > 10, `${points} points, ${states} states`);
  });

  it("go with what the Group was, whatever fails", async () => {
    const all = await connectedGroup();
    const { points, violations } = await enumerateFaults(storyOfReset(all), { from: all.from });
    assert.deepEqual(violations, []);
    assert.ok(points > 20, `${points} faults`);
  });

  for (const what of ["reset", "delete"] as const)
    it(`go once the disk has room again, after a ${what} that found it full, and make room`, async () => {
      verifies("DRC-074", "DRC-075");
      const { from, identity, group_id: groupId } = await connectedGroup();
      const files = new SimulatedFiles(from);
      const { registry, direct, clock } = await openHome(files, identity);
      while (direct.status(undefined).relations.length < LIMITS.direct.relations)
        await direct.invite(groupId, undefined);
      files.fault = ({ path }) => (path.includes("direct_connections") ? "ENOSPC" : null);
      await registry[what](groupId, groupId, "user");
      assert.equal(direct.status(undefined).relations.length, LIMITS.direct.relations);
      files.fault = null;
      clock.advance(LIMITS.group.reopenSeconds * 1000);
      while (direct.status(undefined).relations.length > 0) await new Promise(setImmediate);
      if (what === "reset") await direct.invite(groupId, undefined);
      await direct.close();
      await registry.close();
    });
});
