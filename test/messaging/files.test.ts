import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Refusal } from "../../shared/errors.ts";
import { safeName } from "../../shared/file-name.ts";
import { LIMITS } from "../../shared/limits.ts";
import type { Caller } from "../../shared/operations/caller.ts";
import { until } from "../support/until.ts";
import { BROWSER, refusal, TestHome } from "./setting.ts";

async function* stream(...chunks: (Uint8Array | Error)[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) {
    if (chunk instanceof Error) throw chunk;
    yield chunk;
  }
}

function digestOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

describe("Attached files", () => {
  let home: TestHome;
  let group: string;
  let project: string;
  let outside: string;
  beforeEach(async () => {
    home = await TestHome.open();
    group = await home.group("dev", "doc");
    project = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), "svc-project-")));
    outside = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), "svc-outside-")));
    await home.call("attach", { path: project, group_id: group });
  });
  afterEach(async () => {
    await home.remove();
    for (const directory of [project, outside]) fs.rmSync(directory, { recursive: true, force: true });
  });

  const blobs = () => join(home.registry.get(group).paths.blobs);
  const onDisk = (): string[] =>
    fs.existsSync(blobs())
      ? fs
          .readdirSync(blobs(), { recursive: true, encoding: "utf8" })
          .filter((name) => name !== "uploads")
          .sort()
      : [];
  /** Digests of files that wait for a message. */
  const waiting = (): string[] =>
    fs.existsSync(join(blobs(), "uploads"))
      ? fs.readdirSync(join(blobs(), "uploads")).map((name) => name.replace(".json", ""))
      : [];
  const upload = (...chunks: (Uint8Array | Error)[]) =>
    home.messaging.upload(group, stream(...chunks), { name: "a.bin", mime_type: "application/x-a" });
  const reading = async (sha256: string, range?: { start: number; end: number }) => {
    const { chunks, ...rest } = home.messaging.openBlob(group, sha256, range);
    const parts: Uint8Array[] = [];
    for await (const chunk of chunks) parts.push(chunk);
    return { ...rest, whole: Buffer.concat(parts) };
  };

  it("are streamed in by digest and read back in ranges", async () => {
    const bytes = randomBytes(700_000);
    const uploaded = await upload(bytes.subarray(0, 300_000), bytes.subarray(300_000));
    assert.deepEqual(uploaded, {
      path: `state/blobs/${digestOf(bytes)}`,
      name: "a.bin",
      mime_type: "application/x-a",
      bytes: 700_000,
      sha256: digestOf(bytes),
    });
    const { sha256 } = uploaded;
    const { event } = await home.send(group, "", { attachments: [{ sha256, name: "b", mime_type: "x/y" }] });
    assert.deepEqual(event.data.attachments, [{ ...uploaded, name: "b", mime_type: "x/y" }]);
    assert.deepEqual((await reading(sha256)).whole, bytes);
    const part = await reading(sha256, { start: 299_999, end: 600_001 });
    assert.deepEqual([part.start, part.end, part.bytes], [299_999, 600_001, 700_000]);
    assert.deepEqual(part.whole, bytes.subarray(299_999, 600_001));
    assert.equal((await reading(sha256, { start: 699_999, end: 9e9 })).whole.length, 1);
    assert.deepEqual(onDisk(), [sha256]);
    assert.equal(fs.statSync(join(blobs(), sha256)).mode & 0o777, 0o600);
    assert.throws(() => home.messaging.openBlob(group, "../../settings.json"), refusal("blob_not_found"));
  });

  it("leave nothing when the upload breaks off or is too large", async () => {
    await assert.rejects(upload(randomBytes(10), new Error("gone")), /gone/);
    assert.deepEqual(onDisk(), []);
    const chunk = Buffer.alloc(4 * 1024 * 1024);
    const chunks = Array.from({ length: LIMITS.attachment.uploadBytes / chunk.length }, () => chunk);
    await assert.rejects(upload(...chunks, Buffer.alloc(1)), refusal("too_large"));
    assert.deepEqual(onDisk(), []);
    const before = process.memoryUsage().rss;
    assert.equal((await upload(...chunks)).bytes, 100 * 1024 * 1024);
    assert.ok(process.memoryUsage().rss - before < 50 * 1024 * 1024, "it was whole in memory");
  });

  it("go after a day when no message took them, and at once when a crash cut the upload", async () => {
    const kept = await upload(Buffer.from("kept"));
    const orphan = await upload(Buffer.from("orphan"));
    await home.send(group, "x", { attachments: [{ sha256: kept.sha256, name: "k" }] });
    fs.writeFileSync(join(blobs(), "uploads", ".partial-1"), "cut");
    fs.writeFileSync(join(blobs(), "uploads", `.${kept.sha256}.json.tmp`), "cut");
    home = await home.restarted();
    assert.deepEqual(waiting(), [orphan.sha256]);
    home.clock.advance(day);
    home = await home.restarted();
    assert.deepEqual([onDisk().length, waiting()], [3, [orphan.sha256]]);
    home.clock.advance(1);
    home = await home.restarted();
    assert.deepEqual(onDisk(), [kept.sha256]);
    await assert.rejects(
      home.send(group, "x", { attachments: [{ sha256: orphan.sha256, name: "o" }] }),
      refusal("invalid_attachments", { sha256: orphan.sha256 }),
    );
  });

  const day = LIMITS.attachment.orphanHours * 3_600_000;

  it("go after a day also when their message couldn't be appended, and count from a second upload on", async () => {
    const bytes = Buffer.from("of a message that failed");
    const { sha256 } = await upload(bytes);
    const attachments = [{ sha256, name: "f" }];
    const { ledger } = home.registry.get(group);
    const submit = ledger.submit.bind(ledger);
    ledger.submit = (_event, done) => done(new Refusal("storage_full"));
    await assert.rejects(home.send(group, "x", { attachments }), refusal("storage_full"));
    ledger.submit = submit;
    home = await home.restarted();
    home.clock.advance(day);
    await upload(bytes);
    home.clock.advance(1);
    home = await home.restarted();
    assert.deepEqual(waiting(), [sha256]);
    home.clock.advance(day);
    // Any other upload is the moment to look.
    await upload(Buffer.from("another"));
    assert.equal(fs.existsSync(join(blobs(), sha256)), false);
  });

  it("stay when the daemon ends between the message and the end of its record", async () => {
    const { sha256 } = await upload(Buffer.from("x"));
    const record = join(blobs(), "uploads", `${sha256}.json`);
    const { ledger } = home.registry.get(group);
    const submit = ledger.submit.bind(ledger);
    let atAppend = "";
    ledger.submit = (...args) => {
      atAppend = fs.readFileSync(record, "utf8");
      submit(...args);
    };
    await home.send(group, "x", { attachments: [{ sha256, name: "f" }] });
    assert.deepEqual(waiting(), []);
    fs.writeFileSync(record, atAppend);
    home = await home.restarted();
    assert.deepEqual(waiting(), []);
    home.clock.advance(day + 1);
    home = await home.restarted();
    assert.deepEqual(onDisk(), [sha256]);
    fs.writeFileSync(record, "not a record");
    home = await home.restarted();
    assert.equal((await reading(sha256)).whole.toString(), "x");
  });

  it("stay while a message takes them, however old they are, and are no part of an export before", async () => {
    const { sha256 } = await upload(Buffer.from("x"));
    const { ledger, paths } = home.registry.get(group);
    const submit = ledger.submit.bind(ledger);
    let goOn: (() => void) | undefined;
    ledger.submit = (...args) => {
      goOn = () => submit(...args);
    };
    const exported = async (name: string) => {
      const path = join(outside, name);
      return (await home.call("group_export", { group_id: group, path })).blobs;
    };
    assert.equal(await exported("before"), 0);
    const sending = home.send(group, "x", { attachments: [{ sha256, name: "f" }] });
    await until(() => goOn !== undefined);
    home.clock.advance(day + 1);
    await upload(Buffer.from("another"));
    goOn?.();
    await sending;
    assert.ok(fs.existsSync(join(paths.blobs, sha256)));
    assert.equal(await exported("after"), 1);
  });

  describe("that wait for a message", () => {
    const limits = { waitingBytes: 20_000, waitingBytesPerHome: 30_000 };
    const announced = (into: string, bytes: number) => {
      let wasRead = false;
      const file = (async function* () {
        wasRead = true;
        yield randomBytes(bytes);
      })();
      const answer = home.messaging.upload(into, file, { name: "a", mime_type: "b", bytes });
      return answer.catch((error: unknown) => {
        assert.equal(wasRead, false, "it was read all the same");
        throw error;
      });
    };
    beforeEach(async () => {
      await home.remove();
      home = await TestHome.open({ limits });
      group = await home.group("dev");
    });

    it("take a bounded chat in a Group, also after a restart, until messages take them", async () => {
      const first = await announced(group, 10_000);
      await announced(group, 8_000);
      await assert.rejects(announced(group, 2_001), refusal("limit_reached", { limit_bytes: 20_000 }));
      await assert.rejects(upload(randomBytes(2_001)), refusal("limit_reached"));
      const files = [{ name: "a", bytes: 2_001 }];
      const preflight = () => home.call("message_upload_preflight", { group_id: group, files });
      await assert.rejects(preflight(), refusal("limit_reached"));
      await home.close();
      home = await TestHome.open({ root: home.root, clock: home.clock, limits });
      await assert.rejects(announced(group, 2_001), refusal("limit_reached"));
      await home.send(group, "x", { attachments: [{ sha256: first.sha256, name: "f" }] });
      await preflight();
      await announced(group, 12_000);
      home.clock.advance(day + 1);
      await announced(group, 20_000);
    });

    it("take a bounded chat in the Home, given back with the Group", async () => {
      const other = await home.group("dev");
      await announced(other, 20_000);
      await assert.rejects(announced(group, 10_001), refusal("limit_reached", { limit_bytes: 30_000 }));
      await announced(group, 5_905);
      await assert.rejects(announced(group, 1), refusal("limit_reached"), "the least is a page of the disk");
      await home.call("group_delete", { group_id: other, confirm: other });
      await announced(group, 10_000);
    });

    it("go with a reset that comes while they are being uploaded, and take no chat afterwards", async () => {
      let goOn = (): void => {};
      const over = new Promise<void>((resolve) => (goOn = resolve));
      const late = home.messaging.upload(
        group,
        (async function* () {
          yield randomBytes(14_000);
          await over;
          yield Buffer.from("end");
        })(),
        { name: "a", mime_type: "a/b" },
      );
      late.catch(() => {});
      await until(() => onDisk().length > 0);
      await home.call("group_reset", { group_id: group, confirm: group });
      const { sha256 } = await upload(Buffer.from("new"));
      goOn();
      await assert.rejects(late, refusal("group_busy"));
      assert.deepEqual(waiting(), [sha256]);
      assert.deepEqual(onDisk().length, 2);
      await announced(await home.group("dev"), 20_000);
    });

    it("give chat back when they break off, and count once when they come twice", async () => {
      await assert.rejects(upload(randomBytes(15_000), new Error("gone")), /gone/);
      const bytes = randomBytes(10_000);
      await upload(bytes);
      await upload(bytes);
      await announced(group, 10_000);
    });
  });

  it("of an Actor come from the attached scopes only, whatever links say", async () => {
    const as = home.actor(group, "dev");
    fs.writeFileSync(join(project, "notes.md"), "# notes");
    fs.writeFileSync(join(outside, "secret"), "secret");
    fs.symlinkSync(join(outside, "secret"), join(project, "link"));
    fs.symlinkSync(outside, join(project, "dir"));
    fs.symlinkSync("notes.md", join(project, "inside"));
    execFileSync("mkfifo", [join(project, "fifo")]);
    const send = (path: string) =>
      home.call("send_files", { group_id: group, paths: [path], to: ["doc"] }, { as });
    for (const path of [
      "link",
      "dir/secret",
      join(outside, "secret"),
      "../x",
      "fifo",
      ".",
      "/dev/zero",
      "none",
    ]) {
      await assert.rejects(send(path), refusal("invalid_path"), path);
    }
    assert.deepEqual(onDisk(), []);
    const { event } = await send("notes.md");
    const [attachment] = event.data.attachments;
    assert.deepEqual(
      [attachment?.name, attachment?.mime_type, attachment?.bytes],
      ["notes.md", "text/markdown", 7],
    );
    await send("inside");
  });

  it("of the user at this machine may be any regular file, of a browser none", async () => {
    fs.writeFileSync(join(outside, "any.txt"), "any");
    fs.symlinkSync(join(outside, "any.txt"), join(outside, "link"));
    await home.send(group, "x", { paths: [join(outside, "link")] });
    await assert.rejects(home.send(group, "x", { paths: [outside] }), refusal("invalid_path"));
    await assert.rejects(home.send(group, "x", { paths: ["/dev/null"] }), refusal("invalid_path"));
    const said = async (path: string) => {
      const error: Error | null = await home.send(group, "x", { paths: [path] }).then(
        () => null,
        (refused: Error) => refused,
      );
      assert.ok(error !== null);
      assert.doesNotMatch(error.message, /scope|Actor/, "scopes are for Actors");
      return error.message;
    };
    assert.match(await said(join(outside, "nofile")), /^There is no file '.*nofile'\. Check its name\.$/);
    assert.match(await said("nofile"), /^There is no file 'nofile'\. Give its full path\.$/);
    assert.match(await said(outside), /isn't a regular file that the daemon can read/);
    await assert.rejects(
      home.send(group, "x", { paths: [join(outside, "any.txt")] }, BROWSER),
      refusal("invalid_path"),
    );
  });

  it("wait within a quota that the largest message fits in", () => {
    const { uploadBytes, waitingBytes, waitingBytesPerHome } = LIMITS.attachment;
    assert.ok(LIMITS.message.attachments * uploadBytes <= waitingBytes);
    assert.ok(waitingBytes <= waitingBytesPerHome);
  });

  it("are at most 16 in a message, and a retry answers although the file is gone", async () => {
    const paths = Array.from({ length: 17 }, (_, at) => join(outside, `f${at}`));
    for (const path of paths) fs.writeFileSync(path, path);
    await assert.rejects(home.send(group, "x", { paths }), refusal("invalid_args"));
    const uploaded = await upload(Buffer.from("u"));
    const attachments = [{ sha256: uploaded.sha256, name: "u" }];
    await assert.rejects(
      home.send(group, "x", { paths: paths.slice(1), attachments }),
      refusal("invalid_attachments", { limit: 16 }),
    );
    const first = await home.send(group, "x", { paths: paths.slice(1), client_id: "k" });
    assert.equal((first.event.data.attachments as unknown[]).length, 16);
    for (const path of paths) fs.unlinkSync(path);
    const again = await home.send(group, "x", { paths: paths.slice(1), client_id: "k" });
    assert.deepEqual([again.event.id, again.duplicate], [first.event.id, true]);
  });

  it("are fetched as text when small, and saved inside the project under a new name only", async () => {
    const as = home.actor(group, "dev");
    const text = await upload(Buffer.from("grüße"));
    const binary = await upload(Buffer.from([0xff, 0xfe, 0]));
    const { event } = await home.send(group, "x", {
      to: ["dev"],
      attachments: [
        { sha256: text.sha256, name: "../../evil\u202e.txt" },
        { sha256: binary.sha256, name: "b" },
      ],
    });
    const fetch = (more = {}, who = as) =>
      home.call("file_fetch", { group_id: group, event_id: event.id, ...more }, { as: who });
    assert.equal((await fetch()).text, "grüße");
    assert.equal((await fetch({ sha256: binary.sha256 })).text, null);
    await assert.rejects(fetch({}, home.actor(group, "doc")), refusal("event_not_found"));
    await assert.rejects(fetch({ sha256: "0".repeat(64) }), refusal("blob_not_found"));
    const { saved_to: savedTo } = await fetch({ save_to: "./" });
    assert.equal(savedTo, join(project, "_.._evil_.txt"));
    assert.equal(fs.readFileSync(savedTo ?? "", "utf8"), "grüße");
    await assert.rejects(fetch({ save_to: "./" }), refusal("already_exists"));
    fs.symlinkSync(outside, join(project, "dir"));
    for (const saveTo of ["../x", join(outside, "x"), "dir/x", "no/such/directory/x"]) {
      await assert.rejects(fetch({ save_to: saveTo }), refusal("invalid_path"), saveTo);
    }
    assert.deepEqual(fs.readdirSync(outside), []);
  });

  it("are checked before they are uploaded", async () => {
    const files = [{ name: "a", bytes: LIMITS.attachment.uploadBytes }];
    const check = (more: object) =>
      home.call("message_upload_preflight", { group_id: group, files, ...more });
    assert.deepEqual(await check({}), { accepted: true, upload_limit: LIMITS.attachment.uploadBytes });
    await assert.rejects(check({ to: ["nobody"] }), refusal("invalid_recipient"));
    await assert.rejects(
      check({ files: [{ name: "a", bytes: LIMITS.attachment.uploadBytes + 1 }] }),
      refusal("invalid_attachments"),
    );
  });

  it("are refused before they are uploaded for a reply into a Group that the token doesn't reach", async () => {
    const from = await home.group("boss");
    const { event } = await home.call("send_cross_group", {
      group_id: from,
      dst_group_id: group,
      text: "across",
    });
    const as: Caller = { kind: "member", by: "user", token_id: "t", groups: new Set([group]) };
    const files = [{ name: "a", bytes: 1 }];
    const preflight = (caller: Caller) =>
      home.call("message_upload_preflight", { group_id: group, files, reply_to: event.id }, { as: caller });
    await assert.rejects(preflight(as), refusal("permission_denied"));
    assert.equal((await preflight({ ...as, groups: new Set([group, from]) })).accepted, true);
  });

  it("travel with a message to another Group", async () => {
    const other = await home.group("boss");
    const { sha256 } = await upload(Buffer.from("across"));
    const sent = await home.call("send_cross_group", {
      group_id: group,
      dst_group_id: other,
      text: "",
      attachments: [{ sha256, name: "a.txt" }],
    });
    const fetched = await home.call("file_fetch", { group_id: other, event_id: sent.event.id });
    assert.equal(fetched.text, "across");
  });

  it("get names that are a plain file's on every system", () => {
    const names: [string, string][] = [
      ["a/b\\c:d", "a_b_c_d"],
      ["..", "file"],
      [".hidden", "hidden"],
      ["CON.txt", "_CON.txt"],
      ["a\u0000b\u200bc", "a_b_c"],
      ["   ", "file"],
    ];
    for (const [given, safe] of names) assert.equal(safeName(given), safe);
    const long = safeName("ä€".repeat(3000));
    assert.ok(Buffer.byteLength(long) <= 200 && long.isWellFormed());
  });
});
