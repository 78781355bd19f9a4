import assert from "node:assert/strict";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { LIMITS } from "../../shared/limits.ts";
import type { Caller } from "../../shared/operations/caller.ts";
import type { ArgumentsOf } from "../../shared/operations/registry.ts";
import { BROWSER, refusal, TestHome } from "./setting.ts";

const PNG = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex");

describe("Presentations", () => {
  let home: TestHome;
  let group: string;
  let project: string;
  let dev: Caller;
  beforeEach(async () => {
    home = await TestHome.open();
    group = await home.group("dev", "doc");
    dev = home.actor(group, "dev");
    project = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), "svc-project-")));
    await home.call("attach", { path: project, group_id: group });
  });
  afterEach(async () => {
    await home.remove();
    fs.rmSync(project, { recursive: true, force: true });
  });

  type Given = Partial<ArgumentsOf<"presentation_publish">>;
  const publish = (given: Given, as?: Caller) =>
    home.call(
      "presentation_publish",
      { group_id: group, slot: 1, title: "A", kind: "markdown", ...given },
      ...(as === undefined ? [] : [{ as }]),
    );
  const list = (slot?: number) =>
    home.call("presentation_list", { group_id: group, ...(slot === undefined ? {} : { slot }) });
  const written = (name: string, bytes: string | Uint8Array): string => {
    fs.writeFileSync(join(project, name), bytes);
    return name;
  };
  const content = async (slot: number, eventId: string | null = null) => {
    const { reading, ...rest } = home.messaging.openPresentation(group, slot, eventId);
    const parts: Uint8Array[] = [];
    for await (const chunk of reading.chunks) parts.push(chunk);
    return { ...rest, bytes: Buffer.concat(parts) };
  };
  const onDisk = (): string[] => {
    const { blobs } = home.registry.get(group).paths;
    return fs.existsSync(blobs) ? fs.readdirSync(blobs).filter((name) => name !== "uploads") : [];
  };
  const reopen = async (): Promise<void> => {
    const { root, clock } = home;
    await home.close();
    home = await TestHome.open({ root, clock });
  };

  it("show a file that was uploaded, once it is what it is said to be", async () => {
    const upload = (bytes: Buffer) =>
      home.messaging.upload(group, Readable.from([bytes]), {
        name: "a",
        mime_type: "b",
        bytes: bytes.length,
      });
    const { sha256 } = await upload(PNG);
    const given = { kind: "image", sha256, slot: 2, client_id: "once" } as const;
    const { presentation } = await publish(given);
    assert.deepEqual([presentation.mime_type, presentation.bytes], ["image/png", PNG.length]);
    assert.deepEqual((await content(2)).bytes, PNG);
    assert.equal((await publish(given)).duplicate, true);
    const other = await upload(Buffer.from("%PDF-1.7 other"));
    await assert.rejects(publish({ ...given, sha256: other.sha256 }), refusal("idempotency_conflict"));
    await assert.rejects(publish({ kind: "image", sha256: other.sha256 }), refusal("invalid_content"));
    await assert.rejects(publish({ kind: "pdf", sha256: "0".repeat(64) }), refusal("invalid_attachments"));
    await assert.rejects(
      publish({ kind: "pdf", sha256: other.sha256, path: "a.pdf" }),
      refusal("invalid_args"),
    );
    assert.equal((await publish({ kind: "pdf", sha256: other.sha256 })).presentation.kind, "pdf");
    await reopen();
    assert.deepEqual((await content(2)).bytes, PNG);
  });

  it("are shown in their slot, by whom, and step back through their versions", async () => {
    const first = await publish({ text: "# One", title: "Plan" }, dev);
    assert.deepEqual(
      [first.duplicate, first.presentation.by, first.presentation.current],
      [false, "dev", true],
    );
    assert.deepEqual((await content(1)).bytes.toString(), "# One");
    const second = await publish({ text: "<p>two", kind: "html", title: "Page" });
    assert.equal(second.presentation.mime_type, "text/html");
    await publish({ slot: 4, kind: "url", url: "https://example.org/a b", title: "Link" }, dev);
    const { slots, versions } = await list(1);
    assert.deepEqual(
      slots.map(({ slot, presentation, versions: count }) => [slot, presentation?.title ?? null, count]),
      [
        [1, "Page", 2],
        [2, null, 0],
        [3, null, 0],
        [4, "Link", 1],
      ],
    );
    assert.equal(slots[3]!.presentation!.url, "https://example.org/a%20b");
    assert.deepEqual(
      versions.map(({ title, current }) => [title, current]),
      [
        ["Page", true],
        ["Plan", false],
      ],
    );
    const before = await content(1, first.presentation.event_id);
    assert.deepEqual([before.kind, before.bytes.toString()], ["markdown", "# One"]);
    // A version belongs to its slot, and a link has no content.
    assert.throws(
      () => home.messaging.openPresentation(group, 2, first.presentation.event_id),
      refusal("presentation_not_found"),
    );
    assert.throws(() => home.messaging.openPresentation(group, 4, null), refusal("presentation_not_found"));
  });

  it("are emptied once, and survive a restart, a checkpoint and verification", async () => {
    const { presentation } = await publish({ text: "x" }, dev);
    await publish({ slot: 2, text: "y" }, dev);
    const clear = () => home.call("presentation_clear", { group_id: group, slot: 1 }, { as: dev });
    const count = () => home.registry.get(group).ledger.count;
    assert.deepEqual(await clear(), { slot: 1, cleared: true });
    const events = count();
    assert.deepEqual([await clear(), count()], [{ slot: 1, cleared: false }, events]);
    await home.call("ledger_compact", { group_id: group });
    await reopen();
    const { slots, versions } = await list(1);
    assert.deepEqual([slots[0]!.presentation, slots[1]!.presentation?.title], [null, "A"]);
    assert.deepEqual(
      versions.map(({ event_id: id, current }) => [id, current]),
      [[presentation.event_id, false]],
    );
    assert.throws(() => home.messaging.openPresentation(group, 1, null), refusal("presentation_not_found"));
    assert.equal((await content(1, presentation.event_id)).bytes.toString(), "x");
    assert.deepEqual((await home.call("ledger_verify", { group_id: group })).problems, []);
  });

  it("keep as many versions as can be stepped through", async () => {
    const { versions: most } = LIMITS.presentation;
    for (let at = 0; at <= most; at += 1)
      await publish({ kind: "url", url: `https://example.org/${at}`, title: String(at) });
    const { slots, versions } = await list(1);
    assert.deepEqual([slots[0]!.versions, versions.length, versions.at(-1)!.title], [most, most, "1"]);
  });

  it("are published once under a key, also after a restart", async () => {
    const given: Given = { text: "same", client_id: "k" };
    const [first, again] = await Promise.all([publish(given, dev), publish(given, dev)]);
    assert.deepEqual([first.duplicate, again.duplicate], [false, true]);
    assert.equal(again.presentation.event_id, first.presentation.event_id);
    await reopen();
    const later = await publish(given, home.actor(group, "dev"));
    assert.deepEqual([later.duplicate, later.presentation], [true, first.presentation]);
    await assert.rejects(
      publish({ ...given, text: "other" }, home.actor(group, "dev")),
      refusal("idempotency_conflict"),
    );
    // Another author's key is another one.
    assert.equal((await publish(given)).duplicate, false);
  });

  it("take files of an attached project only, for whomever", async () => {
    const { presentation } = await publish({ kind: "image", path: written("a.png", PNG) }, dev);
    assert.deepEqual([presentation.mime_type, presentation.bytes], ["image/png", PNG.length]);
    assert.deepEqual((await content(1)).bytes, PNG);
    await publish({ kind: "csv", path: join(project, written("t.csv", "a,b\n1,2\n")) });
    const outside = fs.mkdtempSync(join(tmpdir(), "svc-outside-"));
    try {
      fs.writeFileSync(join(outside, "s.md"), "secret");
      fs.symlinkSync(join(outside, "s.md"), join(project, "link.md"));
      for (const path of [join(outside, "s.md"), "../s.md", "link.md", "none.md", "a\0b"]) {
        await assert.rejects(publish({ path }, dev), refusal("invalid_path"), path);
        await assert.rejects(publish({ path }), refusal("invalid_path"), path);
      }
    } finally {
      fs.rmSync(outside, { recursive: true });
    }
    await assert.rejects(publish({ path: "t.csv", kind: "csv" }, BROWSER), refusal("invalid_path"));
  });

  it("are refused when the bytes aren't of their kind, and leave nothing", async () => {
    const svg = '<?xml version="1.0"?><!-- a --><svg xmlns="http://www.w3.org/2000/svg"/>';
    assert.equal((await publish({ kind: "image", text: svg })).presentation.mime_type, "image/svg+xml");
    const left = onDisk();
    const wrong: [Given, string][] = [
      [{ kind: "image", text: "<html><svg></svg></html>" }, "invalid_content"],
      [{ kind: "image", path: written("a.gif", "GIF88a") }, "invalid_content"],
      [{ kind: "pdf", path: written("a.pdf", "<html>%PDF-1.7") }, "invalid_content"],
      [{ kind: "markdown", path: written("latin1.md", Buffer.from([0x41, 0xe9, 0x42])) }, "invalid_content"],
      [{ kind: "html", path: written("cut.html", Buffer.from([0x41, 0xc3])) }, "invalid_content"],
      [{ kind: "csv", path: written("empty.csv", "") }, "invalid_content"],
      [{ kind: "markdown" }, "invalid_args"],
      [{ kind: "markdown", text: "a", path: "b" }, "invalid_args"],
      [{ kind: "url", text: "https://example.org" }, "invalid_args"],
      [{ kind: "url", url: "javascript:alert(1)" }, "invalid_args"],
      [{ kind: "url", url: "https://user@example.org" }, "invalid_args"],
      [{ text: "a", slot: 5 }, "invalid_args"],
      [{ text: "a", title: "a\u202eb" }, "invalid_args"],
      [{ text: "a", title: " " }, "invalid_args"],
    ];
    for (const [given, code] of wrong)
      await assert.rejects(publish(given, dev), refusal(code), JSON.stringify(given));
    const large = written("large.md", "");
    fs.truncateSync(join(project, large), LIMITS.presentation.contentBytes + 1);
    await assert.rejects(publish({ path: large }, dev), refusal("too_large"));
    assert.deepEqual(onDisk(), left);
    assert.equal((await list()).slots[0]!.versions, 1);
  });

  it("keep their file through exports and imports", async () => {
    const { presentation } = await publish({ text: "kept", title: "T", client_id: "c" }, dev);
    const path = join(project, "export");
    await home.call("group_export", { group_id: group, path });
    const imported = await home.call("group_import", { path });
    group = imported.group.group_id;
    assert.equal((await content(1)).bytes.toString(), "kept");
    assert.equal((await list()).slots[0]!.presentation!.event_id, presentation.event_id);
    assert.deepEqual((await home.call("ledger_verify", { group_id: group })).problems, []);
  });

  it("end with their Group's history", async () => {
    await publish({ text: "gone" });
    await home.call("group_reset", { group_id: group, confirm: group });
    assert.deepEqual((await list()).slots[0], { slot: 1, presentation: null, versions: 0 });
  });
});
