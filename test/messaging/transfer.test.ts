import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { verifies } from "../requirements.ts";
import { BROWSER, refusal, TestHome, textsOf } from "./setting.ts";

type Line = Record<string, unknown>;

describe("Group export and import", () => {
  let home: TestHome;
  let group: string;
  let directory: string;
  let path: string;
  beforeEach(async () => {
    home = await TestHome.open();
    group = await home.group("dev", "lead");
    directory = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), "svc-export-")));
    path = join(directory, "export.jsonl");
    const { sha256 } = await home.messaging.upload(
      group,
      (async function* () {
        yield Buffer.alloc(500_000, 7);
      })(),
      { name: "a", mime_type: "b" },
    );
    await home.call("actor_secrets", { group_id: group, actor_id: "dev", set: { KEY: "private value" } });
    await home.send(group, "first", { client_id: "k", attachments: [{ sha256, name: "a" }] });
    await home.send(group, "?", { to: ["lead"], message_mode: "request_reply" });
    await home.send(group, "letter", { to: ["dev"], message_mode: "mail" });
    await home.read(group, "dev", { limit: 1 });
    await home.call("ledger_compact", { group_id: group });
  });
  afterEach(async () => {
    await home.remove();
    fs.rmSync(directory, { recursive: true, force: true });
  });

  const groups = () => home.registry.list().length;
  const exported = () => home.call("group_export", { group_id: group, path });
  const lines = (): Line[] =>
    fs
      .readFileSync(path, "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Line);
  /** Writes lines with a last line that fits them. */
  const write = (all: Line[]): void => {
    const body = all.slice(0, -1).map((line) => `${JSON.stringify(line)}\n`);
    const end = all.at(-1)!.end as Line;
    const sha256 = createHash("sha256").update(body.join("")).digest("hex");
    fs.writeFileSync(path, `${body.join("")}${JSON.stringify({ end: { ...end, sha256 } })}\n`);
  };

  it("carries history, Actors and files over, without secrets, into a new stopped Group", async () => {
    const told = await exported();
    assert.equal(told.bytes, fs.statSync(path).size);
    assert.equal(told.blobs, 1);
    assert.equal(fs.statSync(path).mode & 0o777, 0o600);
    const whole = fs.readFileSync(path, "utf8");
    assert.ok(!whole.includes("private value") && !whole.includes(home.root));
    const imported = await home.call("group_import", { path, title: "Copy" });
    assert.deepEqual([imported.events, imported.blobs], [told.events, 1]);
    const original = home.registry.get(group).record;
    const { record, ledger } = home.registry.get(imported.group.group_id);
    assert.equal(record.state, "stopped");
    assert.equal(record.title, "Copy");
    assert.notEqual(record.group_id, original.group_id);
    verifies("MSG-020");
    assert.notEqual(record.generation, original.generation);
    assert.deepEqual(record.scopes, []);
    assert.deepEqual(
      imported.group.actors.map(({ id, private_env }) => [id, private_env]),
      [
        ["dev", []],
        ["lead", []],
      ],
    );
    const copy = imported.group.group_id;
    const messages = await home.call("ledger_search", { group_id: copy, query: "letter" });
    assert.deepEqual(textsOf(messages.events), ["letter"]);
    assert.deepEqual((await ledger.verify()).problems, []);
    const again = await home
      .call("send", { group_id: copy, text: "other", client_id: "k" })
      .catch((error) => error);
    assert.equal((again as { code?: string }).code, "idempotency_conflict");
    const file = await home.call("file_fetch", { group_id: copy, event_id: messageId(copy, "first") });
    assert.equal(file.attachment.bytes, 500_000);
    // What was open there is open here: "first" was claimed, the letter wasn't read.
    await home.call("group_start", { group_id: copy });
    const reading = await home.read(copy, "dev");
    assert.deepEqual(
      reading.messages.map(({ event, redelivered }) => [event.data.text, redelivered]),
      [
        ["first", true],
        ["letter", false],
      ],
    );
    const owed = await home.status(copy, messageId(copy, "?"));
    assert.equal(owed.obligation_status.lead?.state, "open");
  });
  const messageId = (group_id: string, text: string): string =>
    home.registry
      .get(group_id)
      .ledger.page({ limit: 200 })
      .events.find(({ data }) => data.text === text)!.id;

  it("writes a new file only, at an absolute path, for the owner of the socket", async () => {
    await exported();
    await assert.rejects(exported(), refusal("already_exists"));
    await assert.rejects(home.call("group_export", { group_id: group, path: "x" }), refusal("invalid_path"));
    fs.rmSync(path);
    const both = await Promise.allSettled([exported(), exported()]);
    assert.deepEqual(
      both.map(({ status }) => status),
      ["fulfilled", "rejected"],
      "one at a time to one place",
    );
    assert.equal((lines().at(-1)!.end as Line).blobs, 1);
    await assert.rejects(
      home.call("group_export", { group_id: group, path: join(directory, "no", "where") }),
      refusal("invalid_path"),
    );
    for (const as of [BROWSER]) {
      const elsewhere = join(directory, "other");
      await assert.rejects(
        home.call("group_export", { group_id: group, path: elsewhere }, { as }),
        refusal("permission_denied"),
      );
      await assert.rejects(home.call("group_import", { path }, { as }), refusal("permission_denied"));
    }
  });

  const change = (all: Line[], name: string, edit: (value: Line) => void): Line[] => {
    const line = all.find((one) => name in one)!;
    edit(line[name] as Line);
    return all;
  };
  const hostile: [string, (all: Line[]) => Line[] | string][] = [
    ["is no export", () => "hello\n"],
    ["is empty", () => ""],
    ["isn't UTF-8 JSON", (all) => `${JSON.stringify(all[0])}\n\xff{\n`],
    ["has an unknown version", (all) => [{ ...all[0], v: 2 }, ...all.slice(1)]],
    ["has an unknown member", (all) => [{ ...all[0], more: 1 }, ...all.slice(1)]],
    ["names a reserved Actor", (all) => change(all, "group", (g) => ((g.actors as Line[])[0]!.id = "user"))],
    [
      "names an Actor like a path",
      (all) => change(all, "group", (g) => ((g.actors as Line[])[0]!.id = "../x")),
    ],
    ["names an Actor twice", (all) => change(all, "group", (g) => ((g.actors as Line[])[1]!.id = "DEV"))],
    ["has a file with a wrong digest", (all) => change(all, "blob", (b) => (b.sha256 = "0".repeat(64)))],
    [
      "has a file named like a path",
      (all) => change(all, "blob", (b) => (b.sha256 = "../../../../etc/passwd")),
    ],
    ["has a file of a wrong size", (all) => change(all, "blob", (b) => (b.bytes = 400_000))],
    ["has a file that ends early", (all) => change(all, "blob", (b) => (b.bytes = 600_000))],
    ["claims a file over the limit", (all) => change(all, "blob", (b) => (b.bytes = 1e12))],
    ["has a file twice", (all) => [all[0]!, ...all.slice(1, 5), ...all.slice(1)]],
    ["has an event twice", (all) => [...all.slice(0, -1), all.at(-2)!, all.at(-1)!]],
    ["has an event with a bad id", (all) => change(all, "event", (e) => (e.id = "x"))],
    ["has an event with a bad time", (all) => change(all, "event", (e) => (e.ts = "yesterday"))],
    [
      "attaches another file than it says",
      (all) => {
        const message = all.find((one) => ((one.event as Line)?.data as Line)?.text === "first")!;
        const [file] = ((message.event as Line).data as Line).attachments as Line[];
        file!.path = "state/blobs/../../../settings.json";
        return all;
      },
    ],
    [
      "lacks its end",
      (all) =>
        all
          .slice(0, -1)
          .map((line) => `${JSON.stringify(line)}\n`)
          .join(""),
    ],
    ["goes on behind its end", (all) => `${all.map((line) => JSON.stringify(line)).join("\n")}\nnull\n`],
    ["lacks an event", (all) => [...all.slice(0, -2), all.at(-1)!]],
    ["has changed bytes", (all) => change(all, "group", (g) => (g.title = "Changed")) && "same digest"],
  ];
  for (const [what, edit] of hostile) {
    it(`refuses a file that ${what}, and leaves nothing behind`, async () => {
      await exported();
      const original = fs.readFileSync(path, "utf8");
      const edited = edit(lines());
      if (edited === "same digest")
        fs.writeFileSync(path, original.replace('"title":"Test"', '"title":"Text"'));
      else if (typeof edited === "string") fs.writeFileSync(path, edited, "latin1");
      else write(edited);
      const before = [groups(), fs.readdirSync(join(home.root, "groups")).sort()];
      await assert.rejects(home.call("group_import", { path }), refusal("invalid_import"));
      assert.deepEqual([groups(), fs.readdirSync(join(home.root, "groups")).sort()], before);
    });
  }

  it("names what isn't a file to import", async () => {
    for (const wrong of ["relative", directory, join(directory, "nothing"), "/dev/zero"]) {
      await assert.rejects(home.call("group_import", { path: wrong }), refusal("invalid_path"), wrong);
    }
  });
});
