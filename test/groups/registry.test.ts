import assert from "node:assert/strict";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { homePaths } from "../../client/paths.ts";
import type { GroupChange } from "../../daemon/groups/registry.ts";
import type { Projection } from "../../daemon/ledger/types.ts";
import { RealFiles } from "../../platform/real-files.ts";
import { type ErrorCode, Refusal } from "../../shared/errors.ts";
import { LIMITS } from "../../shared/limits.ts";
import { removeTemporaryDirectories, temporaryDirectory } from "../home/setting.ts";
import { verifies } from "../requirements.ts";
import { diskError, FaultyFiles } from "../support/faulty-files.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { openGroups, openRegistry, storedActor, USER } from "./setting.ts";

function emptyHome(): string {
  const root = temporaryDirectory();
  mkdirSync(homePaths(root).groups, { mode: 0o700 });
  return root;
}

function code(expected: ErrorCode): (error: unknown) => boolean {
  return (error) => error instanceof Refusal && error.code === expected;
}

/** A disk where no ledger's file can be written. */
function fullDisk(step: string, path: string): Error | null {
  return step === "open" && path.includes("/ledger/") ? diskError("ENOSPC") : null;
}

const seed = { title: "Team", topic: "", by: "user" };
const sample = { kind: "chat.message", scope_key: "", by: "user", data: { text: "hello" } };

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
    const { group_id, paths } = await registry.create(seed);
    await registry.close();
    const stored = JSON.parse(readFileSync(paths.document, "utf8"));
    delete stored.generation;
    const { generation: _, ...actor } = storedActor("old", { created_at: "2020-01-01T00:00:00.000Z" });
    stored.actors = [actor];
    writeFileSync(paths.document, JSON.stringify(stored));
    for (let round = 0; round < 2; round += 1) {
      const again = await openRegistry(root);
      const group = again.get(group_id);
      assert.equal(group.record.generation, `legacy:${stored.created_at}`);
      assert.equal(group.actor("old").generation, "legacy:2020-01-01T00:00:00.000Z");
      await group.update((record) => ({ ...record, topic: `round ${round}` }), {
        kind: "group.update",
        by: "user",
        data: {},
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
      again.list().map(({ group_id }) => group_id),
      [good.group_id],
    );
    assert.deepEqual(
      again
        .unavailable()
        .map(({ group_id }) => group_id)
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
    const { group_id } = await registry.create(seed);
    await registry.close();
    const files = new FaultyFiles();
    files.fail = fullDisk;
    const clock = new ManualClock({ tick: 1 });
    const again = await openRegistry(root, () => [], files, clock);
    const changes: GroupChange[] = [];
    again.onChange((change) => changes.push(change));
    assert.throws(() => again.get(group_id), code("group_unavailable"));
    const pass = async (): Promise<void> => {
      assert.equal(clock.foregroundTimers, 0);
      assert.ok(clock.advanceToTimer());
      while (again.knows(group_id) && again.find(group_id) === undefined && clock.timers === 0)
        await new Promise((resolve) => setImmediate(resolve));
    };
    await pass();
    assert.throws(() => again.get(group_id), code("group_unavailable"));
    assert.deepEqual(changes, []);
    files.fail = () => null;
    await pass();
    assert.equal(again.get(group_id).group_id, group_id);
    assert.deepEqual([changes, again.unavailable(), clock.timers], [[{ group_id, what: "created" }], [], 0]);
    files.fail = fullDisk;
    await assert.rejects(again.reset(group_id, group_id, "user"));
    files.fail = () => null;
    if (again.find(group_id) === undefined) await pass();
    assert.ok(again.get(group_id), "a reset that met a full disk leaves a Group that opens");
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
    await group.update((record) => record, { kind: "group.update", by: "user", data: {} });
    assert.equal(group.ledger.count, 2);
    stop();
    await group.update((record) => ({ ...record, title: "Newer" }), {
      kind: "group.update",
      by: "user",
      data: {},
    });
    assert.deepEqual(changes, [{ group_id: group.group_id, what: "changed" }]);
    await registry.close();
  });

  it("wants the id as confirmation before it destroys anything", async () => {
    const registry = await openRegistry(emptyHome());
    const { group_id } = await registry.create(seed);
    for (const confirm of ["", "yes", group_id.toUpperCase()]) {
      await assert.rejects(registry.delete(group_id, confirm), code("confirmation_required"));
      await assert.rejects(registry.reset(group_id, confirm, "user"), code("confirmation_required"));
    }
    assert.equal(registry.get(group_id).ledger.count, 1);
    await registry.close();
  });

  it("deletes a Group with all its files, once nobody uses it", async () => {
    const root = emptyHome();
    const registry = await openRegistry(root);
    const group = await registry.create(seed);
    const { group_id } = group;
    const order: string[] = [];
    registry.onChange(({ what }) => order.push(what));
    const release = await group.permit.acquireRead();
    const deleted = registry.delete(group_id, group_id).then(() => order.push("deleted"));
    const waiting = group.permit.acquireRead();
    const second = registry.delete(group_id, group_id);
    await group.ledger.append(sample);
    order.push("released");
    release();
    await deleted;
    await assert.rejects(waiting, code("group_not_found"));
    await assert.rejects(second, code("group_not_found"));
    assert.deepEqual(order, ["released", "removed", "deleted"]);
    assert.throws(() => registry.get(group_id), code("group_not_found"));
    assert.deepEqual(readdirSync(homePaths(root).groups), []);
    await registry.close();
  });

  it("resets history and files under a fresh generation; Actors, tokens and settings stay", async () => {
    const root = emptyHome();
    const { registry, launchTokens, call } = await openGroups(root);
    const { group_id } = await call("group_create", { title: "Team" });
    const { token_file } = await call("actor_add", { group_id, actor_id: "ann" });
    await call("actor_secrets", { group_id, actor_id: "ann", set: { KEY: "value" } });
    const old = registry.get(group_id);
    const before = old.record;
    for (const name of ["blobs", "cursors", "drafts"]) {
      mkdirSync(join(old.paths.root, name));
      writeFileSync(join(old.paths.root, name, "x"), "x");
    }
    const changes: string[] = [];
    const revoked: string[] = [];
    registry.onChange(({ what }) => changes.push(what));
    launchTokens.onRevoked(({ actor_id }) => revoked.push(actor_id));
    const group = await call("group_reset", { group_id, confirm: group_id });
    const fresh = registry.get(group_id);
    assert.notEqual(fresh, old);
    assert.notEqual(group.generation, before.generation);
    assert.deepEqual(fresh.record.actors, before.actors);
    assert.deepEqual(fresh.record.settings, before.settings);
    assert.deepEqual(group.actors[0]?.private_env, ["KEY"]);
    assert.deepEqual(changes, ["removed", "created"]);
    assert.deepEqual(revoked, ["ann"]);
    assert.equal(fresh.ledger.count, 1);
    assert.equal(fresh.ledger.read(0).kind, "group.reset");
    const { token } = JSON.parse(readFileSync(token_file, "utf8"));
    assert.equal(launchTokens.verify(token)?.actor_id, "ann");
    for (const name of ["blobs", "cursors", "drafts", "reset.json"]) {
      assert.ok(!existsSync(join(fresh.paths.root, name)), name);
    }
    await assert.rejects(old.permit.acquireRead(), code("group_busy"));
    await registry.close();
  });

  it("builds an import's directory aside and leaves nothing of one that failed", async () => {
    const root = emptyHome();
    const registry = await openRegistry(root);
    const group = await registry.create({
      ...seed,
      record: { state: "stopped", actors: [storedActor("ann")] },
      async prepare(group_id, paths) {
        assert.throws(() => registry.get(group_id), code("group_not_found"));
        mkdirSync(paths.blobs);
        writeFileSync(join(paths.blobs, "x"), "x");
      },
    });
    assert.equal(group.record.state, "stopped");
    assert.equal(readFileSync(join(group.paths.blobs, "x"), "utf8"), "x");
    const failing = registry.create({
      ...seed,
      prepare: () => Promise.reject(new Refusal("invalid_import")),
    });
    await assert.rejects(failing, code("invalid_import"));
    assert.deepEqual(readdirSync(homePaths(root).groups), [group.group_id]);
    await registry.close();
  });

  it("leaves no phantom of a Group whose deletion couldn't be made durable, and says so", async () => {
    const root = emptyHome();
    const files = new RealFiles();
    const registry = await openRegistry(root, () => [], files);
    const { group_id } = await registry.create(seed);
    const works = files.syncDir.bind(files);
    files.syncDir = (_path, done) => setImmediate(done, Object.assign(new Error("I/O"), { code: "EIO" }));
    await assert.rejects(registry.delete(group_id, group_id), code("storage_failed"));
    files.syncDir = works;
    assert.deepEqual([registry.list(), registry.unavailable()], [[], []]);
    assert.throws(() => registry.get(group_id), code("group_not_found"));
    await registry.close();
    const again = await openRegistry(root);
    assert.equal(again.knows(group_id), false);
    assert.deepEqual(readdirSync(homePaths(root).groups), []);
    await again.close();
  });

  it("removes the files of such a Group as soon as the disk works again: at another try, or with the next Group", async () => {
    const root = emptyHome();
    const { groups } = homePaths(root);
    const files = new RealFiles();
    const registry = await openRegistry(root, () => [], files);
    const works = files.syncDir.bind(files);
    const doomed = async (): Promise<string> => {
      const { group_id } = await registry.create(seed);
      files.syncDir = (_path, done) => setImmediate(done, Object.assign(new Error("I/O"), { code: "EIO" }));
      await assert.rejects(registry.delete(group_id, group_id), code("storage_failed"));
      await assert.rejects(registry.delete(group_id, group_id), code("storage_failed"));
      files.syncDir = works;
      assert.equal(readdirSync(groups).length, 1);
      return group_id;
    };
    const first = await doomed();
    await assert.rejects(registry.delete(first, "g_000000000000"), code("confirmation_required"));
    await registry.delete(first, first);
    assert.deepEqual(readdirSync(groups), []);
    await assert.rejects(registry.delete(first, first), code("group_not_found"));
    await doomed();
    const { group_id } = await registry.create(seed);
    while (readdirSync(groups).length > 1) await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(readdirSync(groups), [group_id]);
    await registry.close();
  });

  it("tells who keeps something about a Group when it was deleted or reset for good, and not when that was rolled back", async () => {
    verifies("DRC-073", "DRC-074", "DRC-075");
    const files = new RealFiles();
    const registry = await openRegistry(emptyHome(), () => [], files);
    const gone: string[] = [];
    registry.onGone((group_id) => {
      gone.push(group_id);
      return Promise.reject(new Error("the Group is gone either way"));
    });
    const { group_id } = await registry.create(seed);
    const works = files.rename.bind(files);
    files.rename = () => {
      throw Object.assign(new Error("I/O"), { code: "EIO" });
    };
    await assert.rejects(registry.delete(group_id, group_id), code("storage_failed"));
    files.rename = works;
    assert.ok(registry.find(group_id));
    assert.deepEqual(gone, []);
    await registry.reset(group_id, group_id, "user");
    assert.deepEqual(gone, [group_id]);
    await registry.delete(group_id, group_id);
    assert.deepEqual(gone, [group_id, group_id]);
    await registry.close();
  });

  it("takes a new Group back when its first event finds the disk full", async () => {
    const root = emptyHome();
    const files = new RealFiles();
    const registry = await openRegistry(root, () => [], files);
    const changes: string[] = [];
    registry.onChange(({ what }) => changes.push(what));
    const open = files.open.bind(files);
    files.open = (path, mode) => {
      if (path.endsWith("active.jsonl")) throw Object.assign(new Error("full"), { code: "ENOSPC" });
      return open(path, mode);
    };
    await assert.rejects(registry.create(seed), (error: unknown) => {
      assert.ok(error instanceof Refusal);
      assert.equal(error.code, "storage_full");
      assert.doesNotMatch(error.message, /was made/);
      return true;
    });
    assert.deepEqual(changes, ["created", "removed"]);
    assert.deepEqual([registry.list(), registry.unavailable()], [[], []]);
    assert.deepEqual(readdirSync(homePaths(root).groups), []);
    await registry.close();
  });

  it("gives way to others while it removes a Group with many files", async () => {
    const registry = await openRegistry(emptyHome());
    const { group_id, paths } = await registry.create(seed);
    mkdirSync(paths.blobs);
    for (let made = 0; made < 2000; made += 1) writeFileSync(join(paths.blobs, String(made)), "");
    let turns = 0;
    let isOver = false;
    const count = (): void => {
      turns += 1;
      if (!isOver) setImmediate(count);
    };
    count();
    await registry.delete(group_id, group_id);
    isOver = true;
    assert.ok(turns > 2000 / 100, `${turns} turns`);
    assert.ok(!existsSync(paths.root));
    await registry.close();
  });

  it("completes on the next start what a crash interrupted", async () => {
    const root = emptyHome();
    const registry = await openRegistry(root);
    const kept = await registry.create(seed);
    const doomed = await registry.create(seed);
    await registry.close();
    const { groups } = homePaths(root);
    renameSync(doomed.paths.root, join(groups, `gone-${doomed.group_id}`));
    mkdirSync(join(groups, "new-g_111111111111", "blobs"), { recursive: true });
    const marker = { v: 1, generation: "the new one", updated_at: "2026-02-02T00:00:00.000Z" };
    writeFileSync(kept.paths.resetMarker, JSON.stringify(marker));
    const again = await openRegistry(root);
    assert.deepEqual(readdirSync(groups), [kept.group_id]);
    assert.equal(again.get(kept.group_id).record.generation, "the new one");
    // What an earlier generation left behind is known by this event, so it comes first and only once.
    const { ledger } = again.get(kept.group_id);
    assert.deepEqual([ledger.count, ledger.read(0).kind], [1, "group.reset"]);
    await again.close();
    const later = await openRegistry(root);
    assert.equal(later.get(kept.group_id).ledger.count, 1);
    await later.close();
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
    const { group_id } = await registry.create(seed);
    await registry.reset(group_id, group_id, "user");
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
    const { registry, call } = await openGroups(temporaryDirectory());
    const open = Reflect.get(LIMITS.group, "perHome") as number;
    assert.equal(open, 4096);
    Object.defineProperty(LIMITS.group, "perHome", { value: 1, configurable: true });
    try {
      await call("group_create", { title: "One" }, USER);
      await assert.rejects(call("group_create", { title: "Two" }, USER), code("limit_reached"));
    } finally {
      Object.defineProperty(LIMITS.group, "perHome", { value: open, configurable: true });
    }
    await registry.close();
  });
});
