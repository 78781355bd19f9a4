/** A disk that is really full, and files that really can't grow. */
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { DaemonClient } from "../../client/client.ts";
import { DaemonProcess } from "../support/daemon-process.ts";
import { messageOf } from "../support/events.ts";
import { SmallDisk } from "./small-disk.ts";

const MiB = 1024 * 1024;
const WRITERS = 16;
const STORAGE = ["storage_full", "storage_failed"];

interface Outcome {
  key: string;
  /** Null when it was acknowledged. */
  code: string | null;
}

/** Every writer sends until it is refused or has sent `each`. */
async function sendFrom(
  daemon: DaemonProcess,
  groupId: string,
  label: string,
  each: number,
): Promise<Outcome[]> {
  const outcomes = await Promise.all(
    Array.from({ length: WRITERS }, async (_, writer) => {
      const client = daemon.client();
      const own: Outcome[] = [];
      for (let number = 0; number < each && own.at(-1)?.code !== "storage_full"; number++) {
        const key = `${label}-${writer}-${number}`;
        const text = key.padEnd(30_000, "x");
        const envelope = await client.call("send", { group_id: groupId, to: ["user"], text, client_id: key });
        own.push({ key, code: envelope.ok ? null : envelope.error.code });
      }
      return own;
    }),
  );
  return outcomes.flat();
}

async function keysOf(client: DaemonClient, groupId: string): Promise<string[]> {
  const keys: string[] = [];
  let before: string | undefined;
  for (;;) {
    const page = await client.result("ledger_tail", {
      group_id: groupId,
      before,
      limit: 100,
      kinds: ["chat.message"],
    });
    keys.unshift(...page.events.map((event) => messageOf(event).client_id as string));
    if (!page.has_more) return keys;
    before = page.events[0]!.id;
  }
}

/**
 * What was acknowledged stands there once, what was refused isn't there, and index and projections
 * agree with it.
 */
async function agree(client: DaemonClient, groupId: string, outcomes: readonly Outcome[]): Promise<void> {
  const keys = await keysOf(client, groupId);
  const acknowledged = outcomes.filter(({ code }) => code === null).map(({ key }) => key);
  assert.deepEqual(keys.toSorted(), acknowledged.toSorted());
  const { problems } = await client.result("ledger_verify", { group_id: groupId });
  assert.deepEqual(problems, []);
}

/** A daemon whose Home is on a small disk of its own. It does nothing where none can be mounted. */
async function onSmallDisk(
  bytes: number,
  run: (daemon: DaemonProcess, disk: SmallDisk) => Promise<void>,
): Promise<void> {
  const disk = SmallDisk.mount(bytes);
  if (disk === null) {
    // The limit on file sizes below stands in where nothing can be mounted.
    assert.notEqual(process.getuid?.(), 0, "root can mount a small disk");
    return;
  }
  const home = join(disk.path, "home");
  mkdirSync(home, { mode: 0o700 });
  const daemon = await DaemonProcess.started({ home });
  try {
    await run(daemon, disk);
  } finally {
    await daemon.dispose();
    disk.unmount();
  }
}

describe("a full disk", () => {
  it("tells every waiting caller, shows nothing half, and goes on once there is room", () =>
    onSmallDisk(32 * MiB, async (daemon, disk) => {
      let client = daemon.client();
      const group = await client.result("group_create", { title: "small" });
      const { group_id: groupId } = group;
      const outcomes = await sendFrom(daemon, groupId, "before", 2);
      disk.fill(2 * MiB);
      const full = await sendFrom(daemon, groupId, "full", 200);
      const refused = full.filter(({ code }) => code !== null);
      assert.ok(refused.length >= WRITERS, "every writer was refused");
      for (const { code } of refused) assert.equal(code, "storage_full");
      outcomes.push(...full);
      await agree(client, groupId, outcomes);

      disk.fill(0);
      const more: [string, object][] = [
        ["group_create", { title: "one more" }],
        ["group_update", { group_id: groupId, title: "changed" }],
        ["actor_add", { group_id: groupId, actor_id: "a" }],
        ["send", { group_id: groupId, to: ["user"], paths: [process.execPath] }],
        ["access_token_create", {}],
        ["draft_put", { group_id: groupId, draft: { text: "x".repeat(9000) } }],
      ];
      for (const [name, input] of more) {
        const envelope = await client.callByName(name, input);
        if (envelope.ok) continue;
        assert.ok(STORAGE.includes(envelope.error.code), `${name} answers ${envelope.error.code}`);
      }
      const { groups } = await client.result("group_list", {});
      await daemon.kill();
      disk.free();
      await daemon.start();
      client = daemon.client();
      const again = await client.result("group_list", {});
      assert.deepEqual(
        new Set(again.groups.map(({ title }) => title)),
        new Set(groups.map(({ title }) => title)),
        "the Groups are those that were shown while the disk was full",
      );
      await agree(client, groupId, outcomes);
      const retried = refused[0]!.key;
      const text = retried.padEnd(30_000, "x");
      const sent = await client.result("send", { group_id: groupId, to: ["user"], text, client_id: retried });
      assert.equal(sent.duplicate, false, "what was refused was never recorded");
    }));

  it("goes on in the same process as soon as there is room", () =>
    onSmallDisk(24 * MiB, async (daemon, disk) => {
      const client = daemon.client();
      const group = await client.result("group_create", { title: "small" });
      const { group_id: groupId } = group;
      const outcomes: Outcome[] = [];
      for (let round = 0; round < 3; round++) {
        disk.fill(MiB);
        const full = await sendFrom(daemon, groupId, `full${round}`, 100);
        assert.ok(full.some(({ code }) => code === "storage_full"));
        disk.free();
        const free = await sendFrom(daemon, groupId, `free${round}`, 1);
        assert.deepEqual(
          free.map(({ code }) => code),
          free.map(() => null),
          "with room again everything is taken at once",
        );
        outcomes.push(...full, ...free);
        await agree(client, groupId, outcomes);
      }
      assert.equal(await daemon.stop(), 0);
    }));

  it("starts while the disk is full, or says why not, and then with room", () =>
    onSmallDisk(24 * MiB, async (daemon, disk) => {
      const group = await daemon.client().result("group_create", { title: "small" });
      const { group_id: groupId } = group;
      const outcomes = await sendFrom(daemon, groupId, "before", 2);
      await daemon.kill();
      disk.fill(0);
      try {
        await daemon.start();
        await agree(daemon.client(), groupId, outcomes);
      } catch (error) {
        assert.match(
          daemon.output,
          /ENOSPC|disk is full|no space/i,
          `it ended without a reason: ${String(error)}`,
        );
      }
      await daemon.kill();
      disk.free();
      await daemon.start();
      await agree(daemon.client(), groupId, outcomes);
    }));
});

describe("files that can't grow beyond a size", () => {
  it("are an error of storage for the callers concerned and of nobody else", async () => {
    const daemon = await DaemonProcess.started({ prefix: ["prlimit", `--fsize=${3 * MiB}`] });
    try {
      const client = daemon.client();
      const group = await client.result("group_create", { title: "short files" });
      const { group_id: groupId } = group;
      const outcomes: Outcome[] = [];
      for (let round = 0; round < 4; round++)
        outcomes.push(...(await sendFrom(daemon, groupId, `r${round}`, 10)));
      for (const { code } of outcomes) assert.ok(code === null || STORAGE.includes(code), String(code));
      assert.ok(outcomes.some(({ code }) => code === null));
      await agree(client, groupId, outcomes);
      await daemon.kill();
      await daemon.start();
      await agree(daemon.client(), groupId, outcomes);
    } finally {
      await daemon.dispose();
    }
  });
});
