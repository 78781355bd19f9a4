import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { verifies } from "../requirements.ts";
import { textOf } from "../support/events.ts";
import { FaultyFiles } from "../support/faulty-files.ts";
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
      imported.group.actors.map(({ id, private_env: privateEnv }) => [id, privateEnv]),
      [
        ["dev", []],
        ["lead", []],
      ],
    );
    const copy = imported.group.group_id;
    const messages = await home.call("ledger_search", { group_id: copy, query: "letter" });
    assert.deepEqual(textsOf(messages.events), ["letter"]);
    assert.deepEqual((await ledger.verify()).problems, []);
    const file = await home.call("file_fetch", { group_id: copy, event_id: messageId(copy, "first") });
    assert.equal(file.attachment.bytes, 500_000);
    verifies("MSG-015");
    for (const [at, { generation }] of record.actors.entries()) {
      assert.match(generation, /^[0-9a-f]{8}-/);
      assert.notEqual(generation, original.actors[at]!.generation);
    }
    assert.equal(new Set(record.actors.map(({ generation }) => generation)).size, 2);
  });

  it("makes history of what it brings: nothing of it is open, owed or done here", async () => {
    await home.call("group_update", { group_id: group, settings: { start_actors: true } });
    await exported();
    const copy = (await home.call("group_import", { path })).group.group_id;
    const texts = ["first", "?", "letter"];
    const check = async (): Promise<void> => {
      assert.deepEqual((await home.read(copy, "dev")).texts, []);
      assert.deepEqual((await home.read(copy, "lead")).texts, []);
      const { projection } = home.messaging.get(copy);
      assert.deepEqual([projection.obligations.size, projection.halfDone.size], [0, 0]);
      assert.deepEqual([projection.reading.count, home.messaging.counts(copy).attention], [0, 0]);
      const shown = await home.status(copy, messageId(copy, "?"));
      assert.deepEqual(shown.obligation_status, {});
      assert.equal(shown.delivery_status.lead?.reason, "imported");
      for (const text of texts) {
        const eventId = messageId(copy, text);
        const calls = [
          home.call("reply", { group_id: copy, event_id: eventId, text: "r" }),
          home.call("reply", { group_id: copy, event_id: eventId, text: "r", to: ["dev"] }),
          home.call("send", { group_id: copy, reply_to: eventId, text: "r", to: ["dev"] }),
          home.call("reply_request_cancel", { group_id: copy, event_id: eventId }),
          home.call("message_deliver", { group_id: copy, source_event_id: eventId, actor_ids: ["dev"] }),
          home.call("message_upload_preflight", {
            group_id: copy,
            reply_to: eventId,
            to: ["dev"],
            files: [{ name: "a", bytes: 1 }],
          }),
        ];
        for (const done of await Promise.allSettled(calls)) {
          assert.ok(done.status === "rejected" && refusal("imported_history")(done.reason));
        }
      }
      home.clock.advance(24 * 3_600_000);
      const { problems } = await home.call("ledger_verify", { group_id: copy });
      assert.deepEqual(problems, []);
    };
    assert.equal(home.registry.get(copy).record.settings.start_actors, false);
    await home.call("group_start", { group_id: copy });
    const count = home.registry.get(copy).ledger.count;
    await check();
    home = await home.restarted();
    await check();
    assert.equal(home.registry.get(copy).ledger.count, count, "no notice came");
    // A sender's key of there is none here.
    const sent = await home.send(copy, "first of ours", { client_id: "k", to: ["dev"] });
    assert.equal(sent.duplicate, false);
    assert.equal((await home.send(copy, "first of ours", { client_id: "k", to: ["dev"] })).duplicate, true);
    home = await home.restarted();
    assert.equal((await home.send(copy, "first of ours", { client_id: "k", to: ["dev"] })).duplicate, true);
    assert.deepEqual((await home.read(copy, "dev")).texts, ["first of ours"]);
    // The original goes on as it was.
    assert.equal((await home.status(group, messageId(group, "?"))).obligation_status.lead?.state, "open");
  });

  it("acts for neither side of a message between two Groups", async () => {
    const other = await home.group("boss");
    const asked = await home.call("send_cross_group", {
      group_id: group,
      dst_group_id: other,
      text: "across?",
      message_mode: "request_reply",
    });
    const owed = async () => (await home.status(group, asked.source_event.id)).obligation_status;
    assert.equal((await owed())[`${other}::boss`]?.state, "open");
    for (const [from, eventId] of [
      [group, asked.source_event.id],
      [other, asked.event.id],
    ] as const) {
      fs.rmSync(path, { force: true });
      await home.call("group_export", { group_id: from, path });
      const copy = (await home.call("group_import", { path })).group.group_id;
      await home.call("group_start", { group_id: copy });
      for (const restarts of [false, true]) {
        if (restarts) home = await home.restarted();
        const input = { group_id: copy, event_id: eventId };
        await assert.rejects(home.call("reply_request_cancel", input), refusal("imported_history"));
        await assert.rejects(home.call("reply", { ...input, text: "r" }), refusal("imported_history"));
        assert.equal((await owed())[`${other}::boss`]?.state, "open");
        assert.equal(home.messaging.get(other).projection.obligations.size, 1);
      }
    }
  });

  /** The export with these events before its end. */
  const forge = async (...events: { kind: string; by: string; data: Line }[]): Promise<void> => {
    fs.rmSync(path, { force: true });
    await exported();
    const all = lines();
    const model = all.find((one) => "event" in one)!.event as Line;
    const added = events.map((event, at) => ({
      event: { ...model, id: (at + 1).toString(16).padStart(32, "a"), ...event },
    }));
    const end = all.at(-1)!.end as Line;
    const more = { end: { ...end, events: (end.events as number) + added.length } };
    write([...all.slice(0, -1), ...added, more]);
  };
  const message = (data: Line): Line => ({
    message_mode: "send",
    to: [],
    to_generations: {},
    sender_title: "user",
    text: "forged",
    format: "plain",
    attachments: [],
    refs: [],
    ...data,
  });

  it("speaks in no other Group, whatever a forged file says", async () => {
    const victim = await home.group("target");
    const { generation } = home.registry.get(victim).actor("target");
    const before = home.registry.get(victim).ledger.count;
    const data = {
      dst_group_id: victim,
      dst_group_title: "Test",
      dst_to: ["target"],
      dst_to_generations: { target: generation },
    };
    await forge(
      { kind: "chat.message", by: "user", data: message(data) },
      { kind: "group.create", by: "user", data: { title: "x" } },
      {
        kind: "chat.message",
        by: "user",
        data: message({ ...data, message_mode: "request_reply", client_id: "k9" }),
      },
    );
    const copy = (await home.call("group_import", { path })).group.group_id;
    for (let start = 0; start < 2; start += 1) {
      home = await home.restarted();
      assert.equal(home.registry.get(victim).ledger.count, before);
      assert.deepEqual((await home.read(victim, "target")).texts, []);
      assert.deepEqual((await home.call("ledger_verify", { group_id: copy })).problems, []);
    }
  });

  it("was never reset, whatever a forged file says first", async () => {
    await exported();
    const all = lines();
    const first = all.find((one) => "event" in one)!.event as Line;
    const data = { generation: "other" };
    Object.assign(first, { kind: "group.reset", ts: "2999-01-01T00:00:00.000Z", data });
    write(all);
    const copy = (await home.call("group_import", { path })).group.group_id;
    assert.equal(home.messaging.get(copy).resetAt, null);
    await home.call("group_reset", { group_id: copy, confirm: copy });
    home = await home.restarted();
    assert.notEqual(home.messaging.get(copy).resetAt, null);
    assert.equal(home.messaging.get(copy).projection.begin, 0);
    await home.call("group_start", { group_id: copy });
    await home.send(copy, "now", { to: ["dev"] });
    assert.deepEqual((await home.read(copy, "dev")).texts, ["now"]);
  });

  it("takes a key so often that the ledger's index stays quick, and no more", async () => {
    const same = (count: number) =>
      Array.from({ length: count }, () => ({
        kind: "chat.message",
        by: "user",
        data: message({ client_id: "same" }),
      }));
    await forge(...same(64));
    await home.call("group_import", { path });
    await forge(...same(65));
    await assert.rejects(home.call("group_import", { path }), refusal("invalid_import"));
  });

  const messageId = (groupId: string, text: string): string =>
    home.registry
      .get(groupId)
      .ledger.page({ limit: 200 })
      .events.find((event) => textOf(event) === text)!.id;

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

  it("is written beside that of another Home to the same path, and one of them gets the name", async () => {
    const other = await TestHome.open();
    try {
      const theirs = await other.group("dev");
      const both = await Promise.allSettled([
        exported(),
        other.call("group_export", { group_id: theirs, path }),
      ]);
      const [refused] = both.filter((one) => one.status === "rejected");
      assert.ok(refused);
      assert.equal((refused.reason as { code?: string }).code, "already_exists");
      assert.equal(both.filter(({ status }) => status === "fulfilled").length, 1);
      assert.ok(lines().at(-1)?.end);
      assert.deepEqual(fs.readdirSync(directory), ["export.jsonl"]);
    } finally {
      await other.remove();
    }
  });

  it("leaves a file alone that another program makes at the last moment", async () => {
    const files = new FaultyFiles();
    files.fail = (step, at) => {
      if (at === path && step === "link" && !fs.existsSync(path)) fs.writeFileSync(path, "someone else's");
      return null;
    };
    await home.close();
    home = await TestHome.open({ root: home.root, files });
    await assert.rejects(exported(), refusal("already_exists"));
    assert.equal(fs.readFileSync(path, "utf8"), "someone else's");
    assert.deepEqual(fs.readdirSync(directory), ["export.jsonl"]);
  });

  it("reads no more of a file than it had when it was opened", async () => {
    await exported();
    const all = fs.readFileSync(path);
    const { length } = all;
    const lineFeed = all.lastIndexOf(10, length - 2) + 1;
    fs.writeFileSync(path, all.subarray(0, lineFeed));
    const files = new FaultyFiles();
    let last = 0;
    const open = files.open.bind(files);
    files.open = (at, mode) => {
      const file = open(at, mode);
      if (at !== path) return file;
      const read = file.read.bind(file);
      file.read = (buffer, position) => {
        // What was missing arrives as soon as the rest is read.
        if (last === 0) fs.appendFileSync(path, all.subarray(lineFeed));
        last = Math.max(last, position + buffer.length);
        return read(buffer, position);
      };
      return file;
    };
    await home.close();
    home = await TestHome.open({ root: home.root, files });
    await assert.rejects(home.call("group_import", { path }), refusal("invalid_import"));
    assert.equal(last, lineFeed);
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
      "has an Actor with a bad time",
      (all) => change(all, "group", (g) => ((g.actors as Line[])[0]!.created_at = "x")),
    ],
    ["has an unknown member in an event", (all) => change(all, "event", (e) => (e.more = 1))],
    ["has an endless author", (all) => change(all, "event", (e) => (e.by = "x".repeat(513)))],
    ["has an event in a scope like a path", (all) => change(all, "event", (e) => (e.scope_key = "../x"))],
    [
      "has a message to nobody knows whom",
      (all) => {
        const message = all.find((one) => ((one.event as Line)?.data as Line)?.text === "first")!;
        ((message.event as Line).data as Line).to = "dev";
        return all;
      },
    ],
    [
      "has a member twice",
      (all) => all.map((line) => JSON.stringify(line).replace('"v":1', '"v":1,"v":1')).join("\n") + "\n",
    ],
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
  it("refuses a line of millions of values before it builds them", async () => {
    await exported();
    const [header] = lines();
    const text = JSON.stringify(header);
    for (const bomb of ["{}", "[]", '""', "1"]) {
      const actors = Array.from({ length: 300_000 }, () => bomb).join(",");
      fs.writeFileSync(path, `${text.replace('"actors":[', `"actors":[${actors},`)}\n`);
      await assert.rejects(home.call("group_import", { path }), /A line isn't valid JSON of an export/u);
    }
  });

  it("says itself how large its files are, whatever a message claims", async () => {
    await exported();
    const all = lines();
    const { event } = all.find((one) => ((one.event as Line)?.data as Line)?.text === "first")! as {
      event: { id: string; data: { attachments: Line[] } };
    };
    event.data.attachments[0]!.bytes = 1;
    write(all);
    const copy = (await home.call("group_import", { path })).group.group_id;
    const fetched = await home.call("file_fetch", { group_id: copy, event_id: event.id });
    assert.equal(fetched.text, null);
  });

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
