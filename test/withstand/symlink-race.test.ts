/** Directories swapped for links while files are sent from them and saved into them. */
import assert from "node:assert/strict";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { homePaths } from "../../client/paths.ts";
import { DaemonProcess } from "../support/daemon-process.ts";

const ATTEMPTS = 400;
const SECRET = "the secret outside";

/**
 * Swaps `inside/door` between a directory and a link to `outside` as fast as it can, until it is
 * told to stop.
 */
const SWAPPER = `
  const { parentPort, workerData } = require("node:worker_threads");
  const { renameSync } = require("node:fs");
  const { door, real, link } = workerData;
  let stop = false, swaps = 0;
  parentPort.on("message", () => { stop = true; });
  function swap() {
    for (let times = 0; times < 50; times++) {
      renameSync(door, real); renameSync(link, door);
      renameSync(door, link); renameSync(real, door);
      swaps++;
    }
    if (stop) parentPort.postMessage(swaps); else setImmediate(swap);
  }
  swap();
`;

describe("links swapped in while a path is used", () => {
  let daemon: DaemonProcess;
  let folder: string;
  let project: string;
  let outside: string;
  let groupId: string;
  let tokenFile: string;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "svc-withstand-links-"));
    project = join(folder, "project");
    outside = join(folder, "outside");
    mkdirSync(join(project, "door"), { recursive: true });
    mkdirSync(outside);
    writeFileSync(join(project, "door", "file.txt"), "inside");
    writeFileSync(join(outside, "file.txt"), SECRET);
    symlinkSync(outside, join(project, "link"));
    daemon = await DaemonProcess.started();
    const client = daemon.client();
    ({ group_id: groupId } = await client.result("attach", { path: project }));
    ({ token_file: tokenFile } = await client.result("actor_add", { group_id: groupId, actor_id: "a" }));
  });
  afterEach(async () => {
    await daemon.dispose();
    rmSync(folder, { recursive: true, force: true });
  });

  async function whileSwapping(attempt: (number: number) => Promise<void>): Promise<void> {
    const swapper = new Worker(SWAPPER, {
      eval: true,
      workerData: { door: join(project, "door"), real: join(project, "real"), link: join(project, "link") },
    });
    for (let number = 0; number < ATTEMPTS; number++) await attempt(number);
    const swaps = await new Promise<number>((resolve) => {
      swapper.once("message", resolve);
      swapper.postMessage("stop");
    });
    await swapper.terminate();
    assert.ok(swaps > ATTEMPTS, `only ${swaps} swaps`);
  }

  it("never sends what lies outside", async () => {
    const actor = daemon.actorClient(tokenFile);
    let sent = 0;
    await whileSwapping(async () => {
      const envelope = await actor.call("send", {
        group_id: groupId,
        to: ["user"],
        paths: ["door/file.txt"],
      });
      if (envelope.ok) sent++;
      else
        assert.ok(["invalid_path", "invalid_attachments"].includes(envelope.error.code), envelope.error.code);
    });
    assert.ok(sent > 0, "some attempts met the directory");
    const { blobs } = homePaths(daemon.home).group(groupId);
    for (const name of readdirSync(blobs, { recursive: true, withFileTypes: true })) {
      if (name.isFile()) assert.notEqual(readFileSync(join(name.parentPath, name.name), "utf8"), SECRET);
    }
  });

  it("never saves outside", async () => {
    const actor = daemon.actorClient(tokenFile);
    const { event } = await actor.result("send", {
      group_id: groupId,
      to: ["user"],
      paths: ["door/file.txt"],
    });
    let saved = 0;
    await whileSwapping(async (number) => {
      const saveTo = `door/copy-${number}.txt`;
      const envelope = await actor.call("file_fetch", {
        group_id: groupId,
        event_id: event.id,
        save_to: saveTo,
      });
      if (envelope.ok) saved++;
      else assert.ok(["invalid_path", "already_exists"].includes(envelope.error.code), envelope.error.code);
    });
    assert.ok(saved > 0, "some attempts met the directory");
    assert.deepEqual(readdirSync(outside), ["file.txt"]);
    assert.equal(readFileSync(join(outside, "file.txt"), "utf8"), SECRET);
  });

  it("refuses every spelling of a path that leads out", async () => {
    const actor = daemon.actorClient(tokenFile);
    renameSync(join(project, "link"), join(project, "out"));
    symlinkSync("/etc/passwd", join(project, "passwd"));
    const { event } = await actor.result("send", {
      group_id: groupId,
      to: ["user"],
      paths: ["door/file.txt"],
    });
    for (const path of [
      "out/file.txt",
      "passwd",
      "../outside/file.txt",
      "door/../../outside/file.txt",
      "./door/./../../outside/file.txt",
      join(outside, "file.txt"),
      "/etc/passwd",
      "/proc/self/environ",
      "/dev/zero",
      "door",
      ".",
      "..",
      "door/file.txt/",
      "door//../../outside/file.txt",
      "door\u0000/file.txt",
      "~/file.txt",
    ]) {
      const send = await actor.call("send", { group_id: groupId, to: ["user"], paths: [path] });
      assert.equal(
        send.ok ? "ok" : send.error.code,
        path.includes("\u0000") ? (send.ok ? "" : send.error.code) : "invalid_path",
        path,
      );
      const save = await actor.call("file_fetch", { group_id: groupId, event_id: event.id, save_to: path });
      assert.ok(
        !save.ok && ["invalid_path", "already_exists", "invalid_args"].includes(save.error.code),
        path,
      );
    }
    assert.deepEqual(readdirSync(outside), ["file.txt"]);
  });
});
