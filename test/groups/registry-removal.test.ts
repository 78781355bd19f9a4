import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { homePaths } from "../../client/paths.ts";
import { RealFiles } from "../../platform/real-files.ts";
import { Refusal } from "../../shared/errors.ts";
import { removeTemporaryDirectories } from "../home/setting.ts";
import { verifies } from "../requirements.ts";
import { chatMessage } from "../support/events.ts";
import { code, emptyHome, openGroups, openRegistry, storedActor } from "./setting.ts";

const seed = { title: "Team", topic: "", by: "user" };
const sample = {
  kind: "chat.message",
  scope_key: "",
  by: "user",
  data: chatMessage({ text: "hello" }),
} as const;

describe("GroupRegistry: what goes", () => {
  after(removeTemporaryDirectories);

  it("wants the id as confirmation before it destroys anything", async () => {
    const registry = await openRegistry(emptyHome());
    const { group_id: groupId } = await registry.create(seed);
    for (const confirm of ["", "yes", groupId.toUpperCase()]) {
      await assert.rejects(registry.delete(groupId, confirm), code("confirmation_required"));
      await assert.rejects(registry.reset(groupId, confirm, "user"), code("confirmation_required"));
    }
    assert.equal(registry.get(groupId).ledger.count, 1);
    await registry.close();
  });

  it("deletes a Group with all its files, once nobody uses it", async () => {
    const root = emptyHome();
    const registry = await openRegistry(root);
    const group = await registry.create(seed);
    const { group_id: groupId } = group;
    const order: string[] = [];
    registry.onChange(({ what }) => order.push(what));
    const release = await group.permit.acquireRead();
    const deleted = registry.delete(groupId, groupId).then(() => order.push("deleted"));
    const waiting = group.permit.acquireRead();
    const second = registry.delete(groupId, groupId);
    await group.ledger.append(sample);
    order.push("released");
    release();
    await deleted;
    await assert.rejects(waiting, code("group_not_found"));
    await assert.rejects(second, code("group_not_found"));
    assert.deepEqual(order, ["released", "removed", "deleted"]);
    assert.throws(() => registry.get(groupId), code("group_not_found"));
    assert.deepEqual(readdirSync(homePaths(root).groups), []);
    await registry.close();
  });

  it("resets history and files under a fresh generation; Actors, tokens and settings stay", async () => {
    const root = emptyHome();
    const { registry, launchTokens, call, close } = await openGroups(root);
    const { group_id: groupId } = await call("group_create", { title: "Team" });
    const { token_file: tokenFile } = await call("actor_add", { group_id: groupId, actor_id: "ann" });
    await call("actor_secrets", { group_id: groupId, actor_id: "ann", set: { KEY: "value" } });
    const old = registry.get(groupId);
    const before = old.record;
    for (const name of ["blobs", "cursors", "drafts"]) {
      mkdirSync(join(old.paths.root, name));
      writeFileSync(join(old.paths.root, name, "x"), "x");
    }
    const changes: string[] = [];
    const revoked: string[] = [];
    registry.onChange(({ what }) => changes.push(what));
    launchTokens.onRevoked(({ actor_id: actorId }) => revoked.push(actorId));
    const group = await call("group_reset", { group_id: groupId, confirm: groupId });
    const fresh = registry.get(groupId);
    assert.notEqual(fresh, old);
    assert.notEqual(group.generation, before.generation);
    assert.deepEqual(fresh.record.actors, before.actors);
    assert.deepEqual(fresh.record.settings, before.settings);
    assert.deepEqual(group.actors[0]?.private_env, ["KEY"]);
    assert.deepEqual(changes, ["removed", "created"]);
    assert.deepEqual(revoked, ["ann"]);
    assert.equal(fresh.ledger.count, 1);
    assert.equal(fresh.ledger.read(0).kind, "group.reset");
    const { token } = JSON.parse(readFileSync(tokenFile, "utf8"));
    assert.equal(launchTokens.verify(token)?.actor_id, "ann");
    for (const name of ["blobs", "cursors", "drafts", "reset.json"]) {
      assert.ok(!existsSync(join(fresh.paths.root, name)), name);
    }
    await assert.rejects(old.permit.acquireRead(), code("group_busy"));
    await close();
  });

  it("builds an import's directory aside and leaves nothing of one that failed", async () => {
    const root = emptyHome();
    const registry = await openRegistry(root);
    const group = await registry.create({
      ...seed,
      record: { state: "stopped", actors: [storedActor("ann")] },
      async prepare(groupId, paths) {
        assert.throws(() => registry.get(groupId), code("group_not_found"));
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
    const { group_id: groupId } = await registry.create(seed);
    const works = files.syncDir.bind(files);
    files.syncDir = (_path, done) => setImmediate(done, Object.assign(new Error("I/O"), { code: "EIO" }));
    await assert.rejects(registry.delete(groupId, groupId), code("storage_failed"));
    files.syncDir = works;
    assert.deepEqual([registry.list(), registry.unavailable()], [[], []]);
    assert.throws(() => registry.get(groupId), code("group_not_found"));
    await registry.close();
    const again = await openRegistry(root);
    assert.equal(again.knows(groupId), false);
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
      const { group_id: groupId } = await registry.create(seed);
      files.syncDir = (_path, done) => setImmediate(done, Object.assign(new Error("I/O"), { code: "EIO" }));
      await assert.rejects(registry.delete(groupId, groupId), code("storage_failed"));
      await assert.rejects(registry.delete(groupId, groupId), code("storage_failed"));
      files.syncDir = works;
      assert.equal(readdirSync(groups).length, 1);
      return groupId;
    };
    const first = await doomed();
    await assert.rejects(registry.delete(first, "g_000000000000"), code("confirmation_required"));
    await registry.delete(first, first);
    assert.deepEqual(readdirSync(groups), []);
    await assert.rejects(registry.delete(first, first), code("group_not_found"));
    await doomed();
    const { group_id: groupId } = await registry.create(seed);
    while (readdirSync(groups).length > 1) await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(readdirSync(groups), [groupId]);
    await registry.close();
  });

  it("tells who keeps something about a Group when it was deleted or reset for good, and not when that was rolled back", async () => {
    verifies("DRC-073", "DRC-074", "DRC-075");
    const files = new RealFiles();
    const registry = await openRegistry(emptyHome(), () => [], files);
    const gone: string[] = [];
    registry.onGone((groupId) => {
      gone.push(groupId);
      return Promise.reject(new Error("the Group is gone either way"));
    });
    const { group_id: groupId } = await registry.create(seed);
    const works = files.rename.bind(files);
    files.rename = () => {
      throw Object.assign(new Error("I/O"), { code: "EIO" });
    };
    await assert.rejects(registry.delete(groupId, groupId), code("storage_failed"));
    files.rename = works;
    assert.ok(registry.find(groupId));
    assert.deepEqual(gone, []);
    await registry.reset(groupId, groupId, "user");
    assert.deepEqual(gone, [groupId]);
    await registry.delete(groupId, groupId);
    assert.deepEqual(gone, [groupId, groupId]);
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
    const { group_id: groupId, paths } = await registry.create(seed);
    mkdirSync(paths.blobs);
    for (let made = 0; made < 2000; made += 1) writeFileSync(join(paths.blobs, String(made)), "");
    let turns = 0;
    let isOver = false;
    const count = (): void => {
      turns += 1;
      if (!isOver) setImmediate(count);
    };
    count();
    await registry.delete(groupId, groupId);
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
    // What an earlier generation left behind is known by this event, so it comes first and only
    // once.
    const { ledger } = again.get(kept.group_id);
    assert.deepEqual([ledger.count, ledger.read(0).kind], [1, "group.reset"]);
    await again.close();
    const later = await openRegistry(root);
    assert.equal(later.get(kept.group_id).ledger.count, 1);
    await later.close();
  });
});
