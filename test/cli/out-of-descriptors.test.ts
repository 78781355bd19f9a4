/** A daemon that can open nothing more: every refusal says so, and nothing blames another. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DaemonClient } from "../../client/client.ts";
import { DaemonProcess } from "../support/daemon-process.ts";
import { until } from "../support/until.ts";
import { run } from "./svc.ts";

/** Only Linux changes the limits of a running process. */
(process.platform === "linux" ? describe : describe.skip)("a daemon that can open nothing more", function () {
  this.timeout(120_000);
  let folder: string;
  let file: string;
  let daemon: DaemonProcess;
  let client: DaemonClient;
  let groupId: string;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "svc-exhausted-"));
    file = join(folder, "notes.txt");
    writeFileSync(file, "notes");
    daemon = await DaemonProcess.started();
    client = daemon.client();
    const group = await client.result("group_create", { title: "before" });
    groupId = group.group_id;
    await client.result("attach", { group_id: groupId, path: folder });
    exhaust();
  });
  after(async () => {
    await daemon.dispose();
    rmSync(folder, { recursive: true, force: true });
  });

  function setLimit(files: number): void {
    execFileSync("prlimit", ["--pid", String(daemon.pid), `--nofile=${files}:`]);
  }

  /** From now on the lowest descriptor that is free is one too many. */
  function exhaust(): void {
    const open = new Set(readdirSync(`/proc/${daemon.pid}/fd`).map(Number));
    let lowest = 0;
    while (open.has(lowest)) lowest += 1;
    setLimit(lowest);
  }

  for (const [name, input] of [
    ["group_create", () => ({ title: "after" })],
    ["send", () => ({ group_id: groupId, to: ["user"], text: "see", paths: [file] })],
    ["group_export", () => ({ group_id: groupId, path: join(folder, "again.jsonl") })],
  ] as const) {
    it(`says so to ${name}`, async () => {
      const answer = await client.callByName(name, input());
      assert.ok(!answer.ok, "it can't have been done");
      assert.equal(answer.error.code, "too_many_open_files", answer.error.message);
      assert.doesNotMatch(answer.error.message, /disk|permission/i);
    });
  }

  it("isn't taken for one that doesn't run", async () => {
    const { home } = daemon;
    for (const words of [
      ["daemon", "status"],
      ["daemon", "start"],
      ["group", "list"],
    ]) {
      const ran = await run(words, { home });
      assert.equal(ran.code, 3, ran.out + ran.err);
      assert.match(ran.err, /too many files and connections open/);
      assert.doesNotMatch(ran.out + ran.err, /No daemon|Start it/);
    }
    const doctor = await run(["doctor", "--json"], { home });
    assert.match(doctor.out, /"daemon_out_of_reach"/);
  });

  it("goes on once it may open more", async () => {
    setLimit(512);
    await client.result("send", { group_id: groupId, to: ["user"], text: "see", paths: [file] });
    await client.result("group_create", { title: "after" });
    await until(
      "the command line reaches it",
      async () => (await run(["daemon", "status"], daemon)).code === 0,
    );
  });
});
