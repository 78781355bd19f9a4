/** Attached files whose bytes on disk aren't those that were attached, at every door. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import * as fs from "node:fs";
import type { IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DaemonClient } from "../../client/client.ts";
import { RefusedByDaemon } from "../../client/failures.ts";
import { homePaths } from "../../client/paths.ts";
import { API_PREFIX } from "../../shared/names.ts";
import { run } from "../cli/svc.ts";
import { DaemonProcess } from "../support/daemon-process.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { refusal, TestHome } from "./setting.ts";

const LARGE_BYTES = 1024 * 1024;

/** What can happen to a file, and what is said of it then. */
const HARMS: readonly [
  name: string,
  code: "file_damaged" | "blob_not_found",
  harm: (path: string) => void,
][] = [
  ["changed", "file_damaged", (path) => changeByte(path, 0)],
  ["emptied", "file_damaged", (path) => fs.truncateSync(path, 0)],
  ["shortened", "file_damaged", (path) => fs.truncateSync(path, 10)],
  ["longer", "file_damaged", (path) => fs.appendFileSync(path, "x")],
  ["removed", "blob_not_found", (path) => fs.unlinkSync(path)],
  [
    "directory",
    "blob_not_found",
    (path) => {
      fs.unlinkSync(path);
      fs.mkdirSync(path);
    },
  ],
  [
    "link",
    "blob_not_found",
    (path) => {
      fs.renameSync(path, `${path}.elsewhere`);
      fs.symlinkSync(`${path}.elsewhere`, path);
    },
  ],
];

/** Another byte in the same place; size and time of modification stay. */
function changeByte(path: string, at: number): void {
  const { atime, mtime } = fs.statSync(path);
  const file = fs.openSync(path, "r+");
  const byte = Buffer.alloc(1);
  fs.readSync(file, byte, 0, 1, at);
  fs.writeSync(file, Buffer.from([byte[0]! ^ 0xff]), 0, 1, at);
  fs.closeSync(file);
  fs.utimesSync(path, atime, mtime);
}

function digestOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

const codeOf = (error: unknown): string =>
  error instanceof RefusedByDaemon ? error.body().code : String(error);

async function bytesOf(response: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of response) parts.push(part);
  return Buffer.concat(parts);
}

describe("Damaged attached files", () => {
  describe("of a daemon", function () {
    this.timeout(120_000);
    let root: string;
    let client: DaemonClient;
    let daemon: DaemonProcess;
    let group: string;
    beforeEach(async () => {
      root = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), "svc-damaged-")));
      daemon = await DaemonProcess.started();
      client = new DaemonClient(daemon.home, null);
      ({ group_id: group } = await client.result("group_create", { title: "files" }));
    });
    afterEach(async () => {
      client.close();
      await daemon.dispose();
      fs.rmSync(root, { recursive: true, force: true });
    });

    const blob = (sha256: string): string => join(homePaths(client.home).group(group).blobs, sha256);
    /** Sends a message with a file of this name. */
    const attach = async (name: string, bytes: Uint8Array): Promise<{ id: string; sha256: string }> => {
      const path = join(root, name);
      fs.writeFileSync(path, bytes);
      const { event } = await client.result("send", {
        group_id: group,
        to: ["user"],
        text: name,
        paths: [path],
      });
      return { id: event.id, sha256: digestOf(bytes) };
    };
    const open = (sha256: string, headers: Record<string, string> = {}): Promise<IncomingMessage> =>
      client.open(`${API_PREFIX}/groups/${group}/blobs/${sha256}`, headers);

    it("are refused by name wherever they are read, and named by verify, doctor and export", async () => {
      await attach("whole.txt", Buffer.from("whole"));
      for (const [name, code, harm] of HARMS) {
        const { id, sha256 } = await attach(`${name}.txt`, Buffer.from(`what is in ${name}`));
        harm(blob(sha256));
        for (const read of [
          () => client.result("file_fetch", { group_id: group, event_id: id }),
          () => open(sha256),
          () => open(sha256, { Range: "bytes=2-4" }),
        ])
          await assert.rejects(read, (error) => {
            assert.equal(codeOf(error), code, name);
            return true;
          });
      }
      const { problems } = await client.result("ledger_verify", { group_id: group });
      const { checks } = await client.result("health", {});
      const { severity, text } = checks.find(({ code }) => code === "groups")!;
      assert.equal(severity, "error");
      assert.match(text, /The file changed\.txt .* is damaged: /u);
      const path = join(root, "export");
      const exported = await run(["group", "export", path, "--group", group], { home: client.home });
      assert.equal(exported.code, 1, exported.err);
      for (const [name, code] of HARMS) {
        const told = code === "file_damaged" ? "is damaged" : "is missing";
        const pattern = new RegExp(
          `The file ${name}\\.txt \\([0-9a-f]{64}\\) of event [0-9a-f]{32} ${told}`,
          "u",
        );
        assert.match(problems.join("\n"), pattern);
        assert.match(exported.out, pattern);
      }
      assert.equal(problems.length, HARMS.length);
      const imported = await client.result("group_import", { path });
      assert.equal(imported.blobs, 1);
      const verified = await run(["ledger", "verify", "--group", group], { home: client.home });
      assert.equal(verified.code, 1);
      assert.match(verified.out, /The file emptied\.txt/u);
    });

    it("end short when that is seen on the way, aren't saved, and are repaired by attaching them again", async () => {
      const bytes = Buffer.alloc(LARGE_BYTES, 7);
      const { id, sha256 } = await attach("large.bin", bytes);
      assert.deepEqual(await bytesOf(await open(sha256)), bytes);
      changeByte(blob(sha256), 5);
      let received = 0;
      const response = await open(sha256);
      await assert.rejects(async () => {
        for await (const part of response) received += (part as Buffer).length;
      });
      assert.ok(received < LARGE_BYTES, String(received));
      changeByte(blob(sha256), 6);
      const copy = join(root, "copy.bin");
      const saved = await run(["file", id, "--group", group, "--save-to", copy], { home: client.home });
      assert.equal(saved.code, 1);
      assert.match(saved.err, /The attached file is damaged/u);
      assert.ok(!fs.existsSync(copy));
      await assert.rejects(
        client.result("send", {
          group_id: group,
          to: ["user"],
          text: "on",
          attachments: [{ sha256, name: "a" }],
        }),
        (error) => codeOf(error) === "file_damaged",
      );
      await attach("large.bin", bytes);
      assert.deepEqual(await bytesOf(await open(sha256)), bytes);
      assert.deepEqual((await client.result("ledger_verify", { group_id: group })).problems, []);
    });
  });

  it("are found after they were checked, and while they are read", async () => {
    // What was written this long ago isn't read again before it changes.
    const home = await TestHome.open({ clock: new ManualClock({ start: Date.now() + 60_000 }) });
    try {
      const group = await home.group("dev");
      const bytes = Buffer.alloc(LARGE_BYTES, 3);
      const sha256 = digestOf(bytes);
      await home.messaging.upload(
        group,
        (async function* () {
          yield bytes;
        })(),
        { name: "a", mime_type: "application/x-a" },
      );
      await home.send(group, "file", { attachments: [{ sha256, name: "a" }] });
      const path = join(home.registry.get(group).paths.blobs, sha256);
      const read = (range?: { start: number; end: number }) =>
        home.messaging.openBlob(group, sha256, range).chunks;
      for (const range of [undefined, undefined, { start: 5, end: 50 }])
        assert.ok(
          digestOf(bytes.subarray(range?.start, range?.end)) === digestOf(await bytesOf(read(range))),
        );
      changeByte(path, LARGE_BYTES - 1);
      await assert.rejects(async () => bytesOf(read({ start: 0, end: 10 })), refusal("file_damaged"));
      changeByte(path, LARGE_BYTES - 1);
      // First one that is known to be whole, then one that isn't known.
      for (const isKnown of [true, false]) {
        if (isKnown) await bytesOf(read());
        else fs.chmodSync(path, 0o640);
        let received = 0;
        await assert.rejects(async () => {
          for await (const chunk of read()) {
            if (received === 0) changeByte(path, LARGE_BYTES - 1);
            received += chunk.length;
          }
        }, refusal("file_damaged"));
        assert.ok(received < LARGE_BYTES);
        changeByte(path, LARGE_BYTES - 1);
      }
    } finally {
      await home.remove();
    }
  });
});
