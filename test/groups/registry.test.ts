import assert from "node:assert/strict";
import { mkdirSync, readFileSync, renameSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { homePaths } from "../../client/paths.ts";
import type { GroupChange } from "../../daemon/groups/registry.ts";
import type { Projection } from "../../daemon/ledger/types.ts";
import { LIMITS } from "../../shared/limits.ts";
import { removeTemporaryDirectories, temporaryDirectory } from "../home/setting.ts";
import { verifies } from "../requirements.ts";
import { chatMessage } from "../support/events.ts";
import { diskError, FaultyFiles } from "../support/faulty-files.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { USER } from "../support/services.ts";
import { code, emptyHome, openGroups, openRegistry, storedActor } from "./setting.ts";

/** A disk where no ledger's file can be written. */
function fullDisk(step: string, path: string): Error | null {
  return step === "open" && path.includes("/ledger/") ? diskError("ENOSPC") : null;
}

const seed = { title: "Team", topic: "", by: "user" };
const sample = {
  kind: "chat.message",
  scope_key: "",
  by: "user",
  data: chatMessage({ text: "hello" }),
} as const;

describe("GroupRegistry", () => {
  after(removeTemporaryDirectories);

  it("makes Groups that are there again after a restart, in order of creation", async () => {
    verifies("MSG-019");
    const root = emptyHome();
    const registry = await openRegistry(root);
    const first = await registry.create({ ...seed, title: "First" });
    const second = await registry.create({ ...seed, title: "Second", topic: "Topic" });
    assert.match(first.group_id, /^g_[0-9a-f]{12}$/);
    assert.match(first.record.generation, /^[0-9a-f-]{36}$/);
    assert.notEqual(first.record.generation, second.record.generation);
    assert.equal(first.ledger.read(0).kind, "group.create");
    await first.ledger.append(sample);
    await registry.close();
    const again = await openRegistry(root);
    assert.deepEqual(
      again.list().map(({ record }) => record),
      [first.record, second.record],
    );
    assert.equal(again.get(first.group_id).ledger.count, 2);
    assert.equal(statSync(first.paths.document).mode & 0o777, 0o600);
    await again.close();
  });

  it("reads Groups and Actors from before generations as legacy ones", async () => {
    verifies("MSG-018", "MSG-021");
    const root = emptyHome();
    const registry = await openRegistry(root);
    const { group_id: groupId, paths } = await registry.create(seed);
    await registry.close();
    const stored = JSON.parse(readFileSync(paths.document, "utf8"));
    delete stored.generation;
    const { generation: _, ...actor } = storedActor("old", { created_at: "2020-01-01T00:00:00.000Z" });
    stored.actors = [actor];
    writeFileSync(paths.document, JSON.stringify(stored));
    for (let round = 0; round < 2; round += 1) {
      const again = await openRegistry(root);
      const group = again.get(groupId);
      assert.equal(group.record.generation, `legacy:${stored.created_at}`);
      assert.equal(group.actor("old").generation, "legacy:2020-01-01T00:00:00.000Z");
      await group.update((record) => ({ ...record, topic: `round ${round}` }), {
        kind: "group.update",
        by: "user",
        data: { fields: ["topic"] },
      });
      await again.close();
    }
  });

  it("keeps what can't be opened as unavailable, with the reason, and opens the rest", async () => {
    const root = emptyHome();
    const registry = await openRegistry(root);
    const good = await registry.create(seed);
    const corrupt = await registry.create(seed);
    const newer = await registry.create(seed);
    const alien = await registry.create(seed);
    const linked = await registry.create(seed);
    await registry.close();
    renameSync(linked.paths.ledger, join(root, "elsewhere"));
    symlinkSync(join(root, "elsewhere"), linked.paths.ledger);
    writeFileSync(corrupt.paths.document, "{");
    const record = JSON.parse(readFileSync(newer.paths.document, "utf8"));
    writeFileSync(newer.paths.document, JSON.stringify({ ...record, v: 2 }));
    writeFileSync(alien.paths.document, readFileSync(good.paths.document));
    mkdirSync(join(homePaths(root).groups, "g_000000000000"));
    writeFileSync(join(homePaths(root).groups, "notes.txt"), "");
    const again = await openRegistry(root);
    assert.deepEqual(
      again.list().map(({ group_id: groupId }) => groupId),
      [good.group_id],
    );
    assert.deepEqual(
      again
        .unavailable()
        .map(({ group_id: groupId }) => groupId)
        .sort(),
      [alien.group_id, corrupt.group_id, "g_000000000000", linked.group_id, newer.group_id].sort(),
    );
    assert.throws(() => again.get(corrupt.group_id), code("group_unavailable"));
    assert.throws(() => again.get("g_ffffffffffff"), code("group_not_found"));
    assert.equal(readFileSync(corrupt.paths.document, "utf8"), "{");
    // What can't be opened can be thrown away.
    await again.delete(corrupt.group_id, corrupt.group_id);
    assert.throws(() => again.get(corrupt.group_id), code("group_not_found"));
    await assert.rejects(again.reset(newer.group_id, newer.group_id, "user"), code("group_unavailable"));
    await again.close();
  });

  it("tries again what a failure of the disk kept from opening, until it opens", async () => {
    const root = emptyHome();
    const registry = await openRegistry(root);
    const { group_id: groupId } = await registry.create(seed);
    await registry.close();
    const files = new FaultyFiles();
    files.fail = fullDisk;
    const clock = new ManualClock({ tick: 1 });
    const again = await openRegistry(root, () => [], files, clock);
    const changes: GroupChange[] = [];
    again.onChange((change) => changes.push(change));
    assert.throws(() => again.get(groupId), code("group_unavailable"));
    const pass = async (): Promise<void> => {
      assert.equal(clock.foregroundTimers, 0);
      assert.ok(clock.advanceToTimer());
      while (again.knows(groupId) && again.find(groupId) === undefined && clock.timers === 0)
        await new Promise((resolve) => setImmediate(resolve));
    };
    await pass();
    assert.throws(() => again.get(groupId), code("group_unavailable"));
    assert.deepEqual(changes, []);
    files.fail = () => null;
    await pass();
    assert.equal(again.get(groupId).group_id, groupId);
    assert.deepEqual(
      [changes, again.unavailable(), clock.timers],
      [[{ group_id: groupId, what: "created", late: true }], [], 0],
    );
    files.fail = fullDisk;
    await assert.rejects(again.reset(groupId, groupId, "user"));
    files.fail = () => null;
    if (again.find(groupId) === undefined) await pass();
    assert.ok(again.get(groupId), "a reset that met a full disk leaves a Group that opens");
    await again.close();
  });

  it("gives immutable snapshots and writes the event after the change", async () => {
    const registry = await openRegistry(emptyHome());
    const group = await registry.create(seed);
    const before = group.record;
    const changes: GroupChange[] = [];
    const stop = registry.onChange((change) => changes.push(change));
    await group.update((record) => ({ ...record, title: "New" }), {
      kind: "group.update",
      by: "user",
      data: { fields: ["title"] },
    });
    assert.equal(before.title, "Team");
    assert.equal(group.record.title, "New");
    assert.ok(group.record.updated_at > before.updated_at);
    assert.throws(() => group.record.actors.push(storedActor("x")), TypeError);
    assert.equal(group.ledger.read(1).kind, "group.update");
    await group.update((record) => record, { kind: "group.update", by: "user", data: { fields: [] } });
    assert.equal(group.ledger.count, 2);
    stop();
    await group.update((record) => ({ ...record, title: "Newer" }), {
      kind: "group.update",
      by: "user",
      data: { fields: ["title"] },
    });
    assert.deepEqual(changes, [{ group_id: group.group_id, what: "changed" }]);
    await registry.close();
  });

  it("feeds each opening's own projections", async () => {
    const root = emptyHome();
    const seen: string[][] = [];
    const projections = (): Projection[] => {
      const kinds: string[] = [];
      seen.push(kinds);
      const projection: Projection = {
        name: "kinds",
        version: 1,
        wants: () => true,
        apply: (event) => void kinds.push(event.kind),
        reset: () => void kinds.splice(0),
        checkpoint: () => Buffer.from(JSON.stringify(kinds)),
        restore: (bytes) => void kinds.splice(0, Infinity, ...JSON.parse(Buffer.from(bytes).toString())),
        fresh: () => projection,
      };
      return [projection];
    };
    const registry = await openRegistry(root, projections);
    const { group_id: groupId } = await registry.create(seed);
    await registry.reset(groupId, groupId, "user");
    await registry.close();
    const again = await openRegistry(root, projections);
    assert.deepEqual(seen, [["group.create"], ["group.reset"], ["group.reset"]]);
    await again.close();
  });

  it("lets work in progress end at close and refuses what comes later", async () => {
    const registry = await openRegistry(emptyHome());
    const group = await registry.create(seed);
    const release = await group.permit.acquireRead();
    const closed = registry.close();
    await group.ledger.append(sample);
    release();
    await closed;
    await assert.rejects(group.permit.acquireRead(), code("shutting_down"));
  });

  it("has a bound on Groups", async () => {
    const { call, close } = await openGroups(temporaryDirectory());
    const open = Reflect.get(LIMITS.group, "perHome") as number;
    assert.equal(open, 4096);
    Object.defineProperty(LIMITS.group, "perHome", { value: 1, configurable: true });
    try {
      await call("group_create", { title: "One" }, USER);
      await assert.rejects(call("group_create", { title: "Two" }, USER), code("limit_reached"));
    } finally {
      Object.defineProperty(LIMITS.group, "perHome", { value: open, configurable: true });
    }
    await close();
  });
});
