import assert from "node:assert/strict";
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { WorkGenerations } from "../../daemon/peers/outbox/work-generations.ts";
import type { OutboxRecord } from "../../shared/wire/v1/outbox.ts";
import { refusal } from "../messaging/setting.ts";
import { verifies } from "../requirements.ts";
import { SimulatedFiles } from "../simulation/files.ts";
import { FaultyFiles } from "../support/faulty-files.ts";
import { until } from "../support/until.ts";
import { DOWN, UP } from "./memory-transport.ts";
import { MINUTE, Pair, rest, SECOND } from "./sending-setting.ts";

const MiB = 1024 * 1024;

describe("the outbox", () => {
  let pair: Pair;
  beforeEach(async () => {
    pair = await Pair.open("direct");
    pair.here.transport.wire = DOWN;
  });
  afterEach(() => pair.close());

  it("holds one owner-only file per message, with its work, its source event and its progress", async () => {
    verifies("OUT-001", "OUT-003", "OUT-004", "OUT-005", "OUT-006", "OUT-017", "MSG-044", "DRC-023");
    const { here, there } = pair;
    const answer = await pair.send();
    const [path, ...more] = here.outboxFiles();
    assert.deepEqual(more, []);
    assert.equal(path, join(here.outboxPath, there.instance_id, `${answer.delivery_id}.json`));
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.equal(statSync(dirname(path)).mode & 0o777, 0o700);
    const [record] = here.records();
    assert.deepEqual(Object.keys(record!), ["work", "source_event", "progress"]);
    assert.deepEqual(record!.source_event, here.messages()[0]);
    // Direct has neither account nor devices, and makes none up.
    assert.ok(!/account|device/u.test(JSON.stringify(record!.work)), JSON.stringify(record!.work));
    const [entry] = here.outbox.entries();
    assert.deepEqual([entry?.source.device_id, entry?.target.device_id], ["", ""]);
    await rest();
    const { progress } = here.records()[0]!;
    assert.equal(progress.attempts, 1);
    assert.equal(progress.needs_receipt, false);
    assert.equal(progress.last_error?.code, "connect_unreachable");
    assert.equal(progress.next_attempt_at, "2026-01-01T00:00:05.000Z");
  });

  it("comes back after a restart, with what was known of each message", async () => {
    verifies("OUT-002");
    const { here, there } = pair;
    for (let message = 0; message < 3; message += 1) {
      await pair.send();
      pair.clock.advance(1);
    }
    await rest();
    const before = here.records();
    await here.restart();
    assert.deepEqual(here.records(), before);
    here.transport.wire = UP;
    await pair.ended(here, 3);
    assert.equal(there.messages().length, 3);
    assert.deepEqual(
      there.messages().map(({ data }) => data.src_event_id),
      here.messages().map(({ id }) => id),
    );
  });

  it("takes 128 messages for one peer and no more, and says so", async () => {
    verifies("LIM-036");
    const { here } = pair;
    for (let message = 0; message < 128; message += 1) await pair.send();
    const before = here.messages().length;
    await assert.rejects(pair.send(), refusal("outbox_full", { limit: 128 }));
    assert.equal(here.messages().length, before);
    here.transport.wire = UP;
    await pair.ended(here, 128);
    assert.equal((await pair.send()).accepted, true);
  });

  it("takes 64 MiB of files for one peer and no more, and one message of 10 MiB", async () => {
    verifies("LIM-038", "LIM-031", "OUT-008");
    const { here, there } = pair;
    const folder = mkdtempSync(join(tmpdir(), "svc-project-"));
    try {
      await here.home.call("attach", { group_id: here.group_id, path: folder });
      writeFileSync(join(folder, "ten"), Buffer.alloc(10 * MiB, 1));
      writeFileSync(join(folder, "more"), Buffer.alloc(10 * MiB + 1, 2));
      const files = (clientId: string, ...paths: string[]) =>
        here.home.call("connect_send_files", {
          group_id: here.group_id,
          instance_id: there.instance_id,
          target_group_id: there.group_id,
          client_id: clientId,
          paths,
        });
      await assert.rejects(files("large", "more"), refusal("invalid_attachments", { limit: 10 * MiB }));
      writeFileSync(join(folder, "one"), "1");
      await assert.rejects(files("sum", "ten", "one"), refusal("invalid_attachments", { limit: 10 * MiB }));
      for (let message = 0; message < 6; message += 1) await files(`file-${message}`, "ten");
      assert.ok(here.outboxFiles().every((path) => statSync(path).size < 16 * 1024));
      await assert.rejects(files("seventh", "ten"), refusal("outbox_full", { limit: 64 * MiB }));
      assert.equal((await pair.send()).accepted, true);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it("refuses a record over its size, and queues nothing of it", async () => {
    verifies("LIM-039", "LIM-029");
    const { here } = pair;
    const text = "\u0001".repeat(60 * 1024);
    await assert.rejects(pair.send({ text }), refusal("too_large", { limit: 512 * 1024 }));
    assert.deepEqual(here.outboxFiles(), []);
    assert.deepEqual(here.messages(), []);
    assert.equal((await pair.send({ text: '"\n'.repeat(32 * 1024) })).accepted, true);
  });

  it("keeps what it can't read, and counts it as a whole message", async () => {
    verifies("OUT-041", "OUT-042");
    const { here, there } = pair;
    const directory = join(here.outboxPath, there.instance_id);
    await here.close();
    mkdirSync(directory, { recursive: true });
    for (let file = 0; file < 6; file += 1) {
      writeFileSync(join(directory, `00000000-0000-4000-8000-00000000000${file}.json`), '{"work":', {
        mode: 0o600,
      });
    }
    await here.open(here.home.root);
    here.start();
    assert.equal(here.outbox.unreadable.length, 6);
    await pair.send();
    const folder = mkdtempSync(join(tmpdir(), "svc-project-"));
    writeFileSync(join(folder, "file"), Buffer.alloc(5 * MiB));
    await here.home.call("attach", { group_id: here.group_id, path: folder });
    await assert.rejects(
      pair.send({ paths: [join(folder, "file")] }),
      refusal("outbox_full", { limit: 64 * MiB }),
    );
    rmSync(folder, { recursive: true });
    await pair.pass(16 * MINUTE, 10 * SECOND);
    await here.restart();
    const left = here
      .outboxFiles()
      .map((path) => basename(path))
      .sort();
    assert.equal(left.length, 6);
  });

  for (const [what, make] of [
    ["a file", (path: string) => writeFileSync(path, "not a directory")],
    ["a link to /dev/zero", (path: string) => symlinkSync("/dev/zero", path)],
    ["a link to a folder", (path: string) => symlinkSync(tmpdir(), path)],
  ] as const) {
    it(`says that ${what} is in the place of a peer's records, and leaves it there`, async () => {
      const { here, there } = pair;
      const path = join(here.outboxPath, there.instance_id);
      await here.close();
      rmSync(path, { recursive: true, force: true });
      make(path);
      await here.open(here.home.root);
      here.start();
      assert.deepEqual(here.outbox.unreadable, [path]);
      await assert.rejects(pair.send(), refusal("storage_failed"));
      assert.equal(lstatSync(path).isDirectory(), false);
      assert.deepEqual(here.messages(), []);
    });
  }

  it("never sends what the source Group's ledger doesn't say: a record with another text counts as unreadable", async () => {
    verifies("OUT-041");
    const { here, there } = pair;
    const { source_event: sourceEvent } = await pair.send({ text: "as it was said" });
    await pair.send({ text: "another one" });
    await here.close();
    for (const path of here.outboxFiles()) {
      const record = JSON.parse(readFileSync(path, "utf8")) as OutboxRecord;
      if (record.work.kind === "message" && record.work.data.text === "as it was said") {
        record.work.data.text = "as nobody said it";
        writeFileSync(path, JSON.stringify(record));
      }
    }
    await here.open(here.home.root);
    assert.equal(here.outbox.unreadable.length, 1);
    here.transport.wire = UP;
    here.start();
    await pair.ended(here, 1);
    assert.deepEqual(
      there.messages().map(({ data }) => data.text),
      ["another one"],
    );
    assert.equal((await here.delivery(sourceEvent.id))?.state, "unconfirmed");
    assert.equal(here.outboxFiles().length, 1);
  });

  it("doesn't call a record queued that was damaged or taken away while the daemon runs", async () => {
    verifies("OUT-041");
    const { here, there } = pair;
    const damaged = await pair.send({ text: "damaged" });
    const taken = await pair.send({ text: "taken" });
    const pathOf = (deliveryId: string) => join(here.outboxPath, there.instance_id, `${deliveryId}.json`);
    await pair.eventually(() => here.records().every(({ progress }) => progress.attempts > 0));
    writeFileSync(pathOf(damaged.delivery_id), "{}");
    rmSync(pathOf(taken.delivery_id));
    here.transport.wire = UP;
    await pair.eventually(() => here.outbox.size === 0);
    for (const { source_event: sourceEvent } of [damaged, taken])
      assert.equal((await here.delivery(sourceEvent.id))?.state, "unconfirmed");
    assert.deepEqual(here.outbox.unreadable, [pathOf(damaged.delivery_id)]);
    assert.equal(readFileSync(pathOf(damaged.delivery_id), "utf8"), "{}");
    assert.deepEqual(there.messages(), []);
  });

  it("is gone for good when its Group is reset, and its receipt with it", async () => {
    verifies("OUT-037");
    const { here } = pair;
    const calls: string[] = [];
    const files = new FaultyFiles();
    files.fail = (step, path) => {
      if (step === "unlinked" && path.endsWith(".json")) calls.push(`unlink in ${dirname(path)}`);
      if (step === "syncDir") calls.push(`sync of ${path}`);
      return null;
    };
    await here.close();
    await here.open(here.home.root, files);
    here.start();
    here.transport.wire = UP;
    await pair.send();
    await pair.eventually(() => here.receipts().length === 1 && here.outbox.size === 0);
    await here.home.call("group_reset", { group_id: here.group_id, confirm: here.group_id });
    const directory = join(here.outboxPath, pair.there.instance_id);
    const unlinked = calls.lastIndexOf(`unlink in ${directory}`);
    assert.ok(unlinked >= 0 && calls.lastIndexOf(`sync of ${directory}`) > unlinked);
  });

  it("ends without a trace when its Group is deleted or reset", async () => {
    verifies("OUT-036", "OUT-037");
    const { here, there } = pair;
    await pair.send();
    await rest();
    await here.home.call("group_reset", { group_id: here.group_id, confirm: here.group_id });
    await pair.eventually(() => here.outboxFiles().length === 0);
    assert.deepEqual(here.receipts(), []);
    assert.deepEqual(here.notices(), []);
    pair.grant();
    here.transport.wire = UP;
    await pair.eventually(() => here.transport.seen.some(({ op }) => op === "catalog"));
    await rest();
    here.transport.wire = DOWN;
    await pair.send();
    await rest();
    const { root } = here.group.paths;
    await here.home.call("group_delete", { group_id: here.group_id, confirm: here.group_id });
    await pair.eventually(() => here.outboxFiles().length === 0);
    await pair.pass(5 * SECOND);
    assert.throws(() => statSync(root));
    assert.deepEqual(there.messages(), []);
  });

  it("is no work any more when the power went while its Group was reset, and brought it back", async () => {
    verifies("OUT-037");
    const { here, there } = pair;
    await pair.send();
    await rest();
    const [path] = here.outboxFiles() as [string];
    const bytes = readFileSync(path);
    await here.home.call("group_reset", { group_id: here.group_id, confirm: here.group_id });
    await pair.eventually(() => here.outboxFiles().length === 0);
    await here.close();
    writeFileSync(path, bytes, { mode: 0o600 });
    await here.open(here.home.root);
    here.start();
    assert.equal(here.outbox.size, 0);
    assert.deepEqual(here.outboxFiles(), []);
    pair.grant();
    here.transport.wire = UP;
    // The next message is the Group's first: nothing of before may be taken for its generation
    // then.
    const next = await pair.send();
    await pair.eventually(() => here.receipts().length === 1 && here.outbox.size === 0);
    assert.equal(here.receipts()[0]?.data.source_event_id, next.source_event.id);
    assert.deepEqual(here.outboxFiles(), []);
    assert.equal(there.messages().length, 1);
  });

  it("takes messages again after a full disk had no room for the first one of a peer", async () => {
    const { here } = pair;
    const files = new FaultyFiles();
    await here.close();
    await here.open(here.home.root, files);
    here.start();
    files.fail = (step, path) =>
      step === "open" && path.includes("outbox_generations")
        ? Object.assign(new Error("full"), { code: "ENOSPC" })
        : null;
    await assert.rejects(pair.send(), refusal("storage_full"));
    assert.deepEqual(here.outboxFiles(), []);
    files.fail = () => null;
    assert.equal((await pair.send()).accepted, true);
    assert.equal(here.outboxFiles().length, 1);
  });

  it("takes messages again after somebody removed a peer's directory, and the Group was reset", async () => {
    const { here, there } = pair;
    await pair.send();
    await rest();
    const directory = join(here.outboxPath, there.instance_id);
    rmSync(directory, { recursive: true });
    await here.home.call("group_reset", { group_id: here.group_id, confirm: here.group_id });
    pair.grant();
    // The first finds out.
    await assert.rejects(pair.send(), refusal("storage_failed"));
    assert.equal((await pair.send()).accepted, true);
    assert.equal(dirname(here.outboxFiles()[0]!), directory);
  });

  it("is synced again when a record goes while its directory is being synced", async () => {
    verifies("OUT-037");
    const { here, there } = pair;
    await pair.send();
    await pair.send();
    await rest();
    const directory = join(here.outboxPath, there.instance_id);
    const [first, second] = [...here.outbox.entries()];
    const syncs: ((error: Error | null) => void)[] = [];
    const syncDir = here.files.syncDir.bind(here.files);
    here.files.syncDir = (path, done) => {
      if (path === directory) syncs.push((error) => done(error));
      else syncDir(path, done);
    };
    here.outbox.remove(first!);
    const settled = here.outbox.settle();
    assert.equal(syncs.length, 1);
    here.outbox.remove(second!);
    syncs.shift()!(null);
    await settled;
    const again = here.outbox.settle();
    assert.equal(syncs.length, 1, "the first sync says nothing about the second record");
    syncs.shift()!(null);
    await again;
    await here.outbox.settle();
    assert.equal(syncs.length, 0);
  });

  it("belongs to the Group as it is when it was reset while its generation was being noted", async () => {
    verifies("OUT-037");
    let generation = "first";
    const generations = await WorkGenerations.open(new SimulatedFiles(), "/generations", () => generation);
    await generations.begin("g_0123456789ab", async () => {});
    generation = "second";
    const begun = generations.begin("g_0123456789ab", async () => {
      await new Promise((resolve) => setImmediate(resolve));
    });
    generation = "third";
    await begun;
    assert.equal(generations.isPast("g_0123456789ab"), false);
  });

  it("doesn't leave when its Group is reset while the disk takes the note that it goes out", async () => {
    verifies("OUT-036");
    await pair.close();
    pair = await Pair.open("account");
    const { here, there } = pair;
    here.files.slow = "/outbox/";
    const sending = pair.send();
    await until(() => here.files.held.length > 0);
    for (const go of here.files.held.splice(0)) go();
    await sending;
    await until(() => here.files.held.length > 0);
    await here.home.call("group_reset", { group_id: here.group_id, confirm: here.group_id });
    here.files.recover();
    await pair.pass(10 * SECOND);
    assert.deepEqual(here.transport.ops(), []);
    assert.deepEqual(there.messages(), []);
    assert.deepEqual(here.outboxFiles(), []);
  });
});
