/**
 * A frozen Home whose history was damaged while no daemon ran: the daemon starts, says what is
 * missing in every place, keeps the bytes, and records nothing on top until a person decides.
 */
import assert from "node:assert/strict";
import * as fs from "node:fs";
import { join } from "node:path";
import { DaemonClient } from "../../client/client.ts";
import { homePaths } from "../../client/paths.ts";
import { runDaemon } from "../../daemon/assembly/daemon.ts";
import type { ErrorCode } from "../../shared/errors.ts";
import { removeTemporaryDirectories, temporaryDirectory } from "./setting.ts";

const HOMES = join(import.meta.dirname, "../fixtures/homes");

interface Expected {
  group_id: string;
  events: { id: string }[];
}

interface Opened {
  root: string;
  groupId: string;
  client: DaemonClient;
  expected: Expected;
  ledger: string;
  log: () => string;
}

const FILES = ["active.jsonl", "segment-000001.jsonl", "manifest.json"] as const;

const DAMAGES: readonly (readonly [what: string, damage: (path: string) => void])[] = [
  ["deleted", (path) => fs.rmSync(path)],
  ["emptied", (path) => fs.truncateSync(path, 0)],
  ["zeroed at the front", (path) => fill(path, 0, 0.2)],
  ["zeroed in the middle", (path) => fill(path, 0.4, 0.6)],
  ["zeroed at the end", (path) => fill(path, 0.7, 1)],
  ["cut", (path) => fs.truncateSync(path, Math.floor(usedOf(path) * 0.6))],
  [
    "replaced by a directory",
    (path) => {
      fs.rmSync(path);
      fs.mkdirSync(path);
    },
  ],
  [
    "replaced by a link",
    (path) => {
      fs.rmSync(path);
      fs.symlinkSync("/etc/hostname", path);
    },
  ],
];

function usedOf(path: string): number {
  return fs.readFileSync(path, "latin1").replace(/\n+$/, "").length;
}

function fill(path: string, from: number, to: number): void {
  const bytes = fs.readFileSync(path);
  const used = usedOf(path);
  fs.writeFileSync(path, bytes.fill(0, Math.floor(used * from), Math.ceil(used * to)));
}

describe("A frozen Home with a damaged history", function () {
  this.timeout(600_000);
  after(removeTemporaryDirectories);

  for (const name of FILES)
    for (const [what, damage] of DAMAGES) {
      // Without its manifest alone a ledger is whole.
      if (name === "manifest.json" && what === "deleted") continue;
      it(`says it everywhere when ${name} was ${what}, and records nothing before a person decides`, async () => {
        const home = copied();
        damage(join(home.ledger, name));
        const before = picture(home.ledger);
        await withDaemon(home, async (opened) => {
          const { client, groupId } = opened;
          await toldEverywhere(opened);
          await refusedEverywhere(opened);
          // Other Groups don't notice.
          const { group_id: other } = await client.result("group_create", { title: "other" });
          await client.result("send", { group_id: other, to: ["user"], text: "works" });
          const history = await client.result("ledger_tail", { group_id: groupId, limit: 200 });
          assert.ok(!history.events.some(({ kind }) => kind === "group.reset"));
        });
        for (const [file, bytes] of before)
          assert.equal(pictureOf(join(home.ledger, file)), bytes, `${file} was changed`);
        await withDaemon(home, async ({ client, groupId, ledger }) => {
          const confirm = groupId;
          await refused(
            client,
            "ledger_continue",
            { group_id: groupId, confirm: "no" },
            "confirmation_required",
          );
          const { damage: left } = await client.result("ledger_continue", { group_id: groupId, confirm });
          assert.equal(left, null);
          const { events } = await client.result("ledger_tail", { group_id: groupId, limit: 200 });
          const notice = events.findLast(({ kind }) => kind === "group.continue");
          assert.ok(notice?.kind === "group.continue", "no event says so");
          assert.equal(notice.by, "user");
          for (const kept of notice.data.kept) assert.ok(fs.readdirSync(ledger).includes(kept), kept);
          const all = fs.readdirSync(ledger).map((file) => pictureOf(join(ledger, file)));
          if (name !== "manifest.json")
            assert.ok(all.some((bytes) => bytes.startsWith(before.get(name) ?? "")));
          await client.result("send", { group_id: groupId, to: ["user"], text: "on" });
          assert.deepEqual((await client.result("ledger_verify", { group_id: groupId })).problems, []);
          await healthy(client);
        });
        await withDaemon(home, async ({ client, groupId }) => {
          await healthy(client);
          const { events } = await client.result("ledger_tail", { group_id: groupId, limit: 200 });
          assert.equal(events.filter(({ kind }) => kind === "group.continue").length, 1);
        });
      });
    }

  it("is read again after the file was put back, without a restart", async () => {
    const home = copied();
    const path = join(home.ledger, "active.jsonl");
    const whole = fs.readFileSync(path);
    fs.truncateSync(path, 0);
    await withDaemon(home, async (opened) => {
      const { client, groupId, expected } = opened;
      assert.notEqual((await client.result("ledger_reopen", { group_id: groupId })).damage, null);
      await toldEverywhere(opened);
      fs.writeFileSync(path, whole);
      assert.equal((await client.result("ledger_reopen", { group_id: groupId })).damage, null);
      const { events } = await client.result("ledger_tail", { group_id: groupId, limit: 200 });
      assert.deepEqual(
        events.slice(0, expected.events.length).map(({ id }) => id),
        expected.events.map(({ id }) => id),
      );
      await client.result("send", { group_id: groupId, to: ["user"], text: "on" });
      await healthy(client);
    });
  });

  it("opens without complaint when only files are gone that are made anew", async () => {
    for (const gone of [/\.bin$/, /^index/, /^tables/, /^checkpoint/, /^manifest/, /^(?!active|segment)/]) {
      const home = copied();
      for (const file of fs.readdirSync(home.ledger)) if (gone.test(file)) fs.rmSync(join(home.ledger, file));
      await withDaemon(home, async ({ client, groupId, expected }) => {
        const { events } = await client.result("ledger_tail", { group_id: groupId, limit: 200 });
        assert.deepEqual(
          events.slice(0, expected.events.length).map(({ id }) => id),
          expected.events.map(({ id }) => id),
        );
        await healthy(client);
      });
    }
  });

  function copied(): { root: string; ledger: string; expected: Expected } {
    const root = join(temporaryDirectory(), "home");
    fs.cpSync(join(HOMES, "1"), root, { recursive: true });
    const expected = JSON.parse(fs.readFileSync(join(HOMES, "1.expected.json"), "utf8")) as Expected;
    return { root, expected, ledger: homePaths(root).group(expected.group_id).ledger };
  }

  async function withDaemon(
    { root, expected, ledger }: { root: string; expected: Expected; ledger: string },
    use: (opened: Opened) => Promise<void>,
  ): Promise<void> {
    const daemon = await runDaemon({ home: root, host: "127.0.0.1", port: 0 });
    const client = new DaemonClient(root, null);
    const log = () => fs.readFileSync(homePaths(root).daemon.log, "utf8");
    try {
      await use({ root, groupId: expected.group_id, client, expected, ledger, log });
    } finally {
      client.close();
      await daemon.stop();
    }
  }

  /** Doctor, verify, what the Workbench shows, and the log name the Group and what is missing. */
  async function toldEverywhere({ client, groupId, log, ledger }: Opened): Promise<void> {
    const { groups } = await client.result("group_list", {});
    const { damage } = groups.find((group) => group.group_id === groupId)!;
    assert.ok(damage !== undefined && damage.problems.length > 0, "the Workbench isn't told");
    const { summary } = await client.result("group_show", { group_id: groupId });
    assert.deepEqual(summary.damage, damage);
    const { checks } = await client.result("health", {});
    const check = checks.find(({ code }) => code === "groups")!;
    assert.equal(check.severity, "error");
    for (const part of [groupId, damage.problems[0]!, join(ledger, damage.files[0]!)])
      assert.ok(check.text.includes(part), check.text);
    assert.match(check.remedy, /svc ledger reopen.*svc ledger continue/);
    const { problems } = await client.result("ledger_verify", { group_id: groupId });
    assert.ok(problems.includes(damage.problems[0]!), problems.join(" "));
    assert.ok(log().includes("ledger_damaged") && log().includes(groupId), "the log doesn't say so");
  }

  async function refusedEverywhere({ client, groupId, expected }: Opened): Promise<void> {
    const group = { group_id: groupId };
    const actor = { ...group, actor_id: "ann" };
    await refused(client, "send", { ...group, to: ["user"], text: "more" });
    await refused(client, "reply", { ...group, event_id: expected.events[0]!.id, text: "more" });
    await refused(client, "group_update", { ...group, title: "other" });
    await refused(client, "group_reset", { ...group, confirm: groupId });
    await refused(client, "group_start", group);
    await refused(client, "actor_add", { ...group, actor_id: "new" });
    await refused(client, "actor_remove", actor);
    await refused(client, "inbox_read", actor);
    await refused(client, "ledger_compact", group);
    const { actors } = await client.result("actor_list", group);
    assert.ok(!actors.some(({ id }) => id === "new"));
  }

  async function refused(
    client: DaemonClient,
    name: string,
    input: object,
    code: ErrorCode = "ledger_damaged",
  ): Promise<void> {
    const envelope = await client.callByName(name, input);
    assert.ok(!envelope.ok, `${name} was accepted`);
    assert.equal(envelope.error.code, code, `${name}: ${envelope.error.message}`);
  }

  async function healthy(client: DaemonClient): Promise<void> {
    const { checks } = await client.result("health", {});
    assert.equal(checks.find(({ code }) => code === "groups")?.severity, "ok", JSON.stringify(checks));
  }
});

function pictureOf(path: string): string {
  const status = fs.lstatSync(path);
  if (!status.isFile()) return status.isDirectory() ? "directory" : "link";
  return fs.readFileSync(path, "latin1").replace(/\n+$/, "");
}

function picture(folder: string): Map<string, string> {
  return new Map(fs.readdirSync(folder).map((file) => [file, pictureOf(join(folder, file))]));
}
