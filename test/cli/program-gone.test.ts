/** A daemon whose program was updated or removed while it runs says so, and starts no agent. */
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DaemonProcess, DIST } from "../support/daemon-process.ts";
import { run } from "./svc.ts";

const MODULES = join(import.meta.dirname, "../../node_modules");

describe("a daemon whose program is gone", () => {
  let folder: string;
  let daemon: DaemonProcess | undefined;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "svc-gone-"));
  });
  after(async () => {
    await daemon?.dispose();
    rmSync(folder, { recursive: true, force: true });
  });

  it("names it in doctor, at a start and in the browser, and is as it was when it is back", async () => {
    const installed = join(folder, "installed");
    cpSync(DIST, join(installed, "dist"), { recursive: true });
    symlinkSync(MODULES, join(installed, "node_modules"));
    const program = join(installed, "dist/svc.cjs");
    daemon = await DaemonProcess.started({ program: [program, "daemon", "run"] });
    const { home } = daemon;
    const client = daemon.client();
    const { group_id: groupId } = await client.result("group_create", { title: "Kept" });
    assert.equal((await run(["attach", folder, "-g", groupId], { home })).code, 0);
    const at = { group_id: groupId, actor_id: "waits" };
    await client.result("actor_add", { ...at, runner: "pty", command: ["/bin/sleep", "1000"] });
    const { web_origin: origin } = await client.result("daemon_status", {});
    const page = async () => {
      const answer = await fetch(`${origin}/`, { headers: { accept: "text/html" } });
      return { status: answer.status, text: await answer.text() };
    };
    const doctor = async () => (await run(["doctor"], { home })).out;
    assert.equal((await page()).status, 200);
    assert.match(await doctor(), /The daemon's program: It is where it was\./u);

    const moved = join(folder, "updated");
    renameSync(installed, moved);
    assert.match(await doctor(), /isn't there any more: \S*svc\.cjs\..*svc daemon stop/su);
    const refused = await run(["actor", "start", "waits", "-g", groupId], { home });
    assert.notEqual(refused.code, 0);
    assert.match(refused.err, /isn't there any more: \S*svc\.cjs\..*svc daemon stop/su);
    const { status, text } = await page();
    assert.equal(status, 503);
    assert.match(text, /program that the daemon runs isn't there any more.*svc daemon stop/su);
    await client.result("send", { group_id: groupId, text: "still kept", to: ["waits"] });

    renameSync(moved, installed);
    assert.equal((await page()).status, 200);
    const { actor } = await client.result("actor_start", at);
    assert.equal(actor.enabled, true);
  });
});
