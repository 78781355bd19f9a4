/** Commands act only on the daemon that serves their own Home, however that was copied. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isAlive } from "../../client/process-state.ts";
import type { HealthCheck } from "../../shared/health.ts";
import { until } from "../support/until.ts";
import { collect, envelope, run, start } from "./svc.ts";

/** Too long for a socket in it. */
const LONG = "x".repeat(120);

describe("a copied Home", function () {
  this.timeout(120_000);
  let folder: string;
  const pids: number[] = [];

  beforeEach(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), "svc-copied-")));
  });
  afterEach(async () => {
    for (const pid of pids.splice(0)) {
      if (isAlive(pid)) process.kill(pid, "SIGKILL");
      await until("the daemon has ended", () => !isAlive(pid));
    }
    rmSync(folder, { recursive: true, force: true });
  });

  async function serve(home: string): Promise<number> {
    const ran = await run(["daemon", "start", "--port", "0", "--json"], { home });
    assert.equal(ran.code, 0, ran.err);
    const { pid } = envelope<{ pid: number }>(ran).result;
    pids.push(pid);
    return pid;
  }

  function copy(from: string, to: string, ...options: string[]): void {
    execFileSync("cp", ["-a", ...options, from, to], { stdio: "ignore" });
  }

  async function titles(home: string): Promise<string[]> {
    const ran = await run(["group", "list", "--json"], { home });
    return envelope<{ groups: { title: string }[] }>(ran).result.groups.map(({ title }) => title);
  }

  /** No command on the Home reaches a daemon, and each says why. */
  async function isRefused(home: string): Promise<void> {
    for (const args of [
      ["group", "create", "made in the copy"],
      ["daemon", "stop"],
    ]) {
      const ran = await run(args, { home });
      assert.equal(ran.code, 3, `${args.join(" ")}: ${ran.out}${ran.err}`);
      assert.match(ran.err, /It is a copy.*Start it with/s);
    }
    assert.equal((await run(["daemon", "status"], { home })).code, 3);
    const doctor = await run(["doctor"], { home });
    assert.equal(doctor.code, 1);
    assert.match(doctor.out, /It is a copy/);
    const mcp = start(["mcp", "--as", "a", "--group", "g"], { home });
    const said = collect(mcp);
    const messages = [
      {
        id: 1,
        method: "initialize",
        params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "x", version: "1" } },
      },
      { method: "notifications/initialized" },
      { id: 2, method: "tools/call", params: { name: "svc_bootstrap", arguments: {} } },
    ];
    for (const message of messages) mcp.stdin?.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
    await until("the tool answers", () => said.out.includes('"id":2'));
    mcp.kill();
    assert.match(said.out, /daemon_unreachable.*It is a copy/s);
  }

  for (const [how, options, path] of [
    ["with all its files", [], ""],
    ["by links to its files", ["-l"], ""],
    ["whose path is too long for a socket", [], LONG],
  ] as const)
    it(`${how} never reaches the original's daemon`, async function () {
      if (process.platform === "win32") this.skip();
      mkdirSync(join(folder, path), { recursive: true });
      const [one, two] = [join(folder, path, "one"), join(folder, path, "two")];
      const pid = await serve(one);
      copy(one, two, ...options);
      await isRefused(two);
      assert.ok(isAlive(pid));
      assert.deepEqual(await titles(one), []);
    });

  it("gets a daemon of its own, which says that the original is in use", async function () {
    if (process.platform === "win32") this.skip();
    const [one, two] = [join(folder, "one"), join(folder, "two")];
    const first = await serve(one);
    copy(one, two);
    assert.notEqual(await serve(two), first);
    await run(["group", "create", "B"], { home: two });
    assert.deepEqual([await titles(one), await titles(two)], [[], ["B"]]);
    const copied = async (): Promise<HealthCheck | undefined> =>
      envelope<{ checks: HealthCheck[] }>(await run(["doctor", "--json"], { home: two })).result.checks.find(
        ({ code }) => code === "home_copy",
      );
    assert.equal((await copied())?.severity, "error");
    assert.match((await copied())!.text, new RegExp(`process ${first}`));
    await run(["daemon", "stop"], { home: one });
    assert.equal((await copied())?.severity, "ok");
  });

  it("that took the original's place doesn't reach the daemon that still runs", async function () {
    if (process.platform === "win32") this.skip();
    mkdirSync(join(folder, LONG));
    const [one, two] = [join(folder, LONG, "one"), join(folder, LONG, "two")];
    const pid = await serve(one);
    copy(one, two);
    rmSync(one, { recursive: true });
    renameSync(two, one);
    await isRefused(one);
    assert.ok(isAlive(pid));
  });

  it("isn't what another path to the Home, or a moved Home, is", async function () {
    if (process.platform === "win32") this.skip();
    const [one, two] = [join(folder, "one"), join(folder, "two")];
    const pid = await serve(one);
    await run(["group", "create", "A"], { home: one });
    symlinkSync(folder, join(folder, "link"));
    assert.deepEqual(await titles(join(folder, "link", "one")), ["A"]);
    renameSync(one, two);
    assert.deepEqual(await titles(two), ["A"]);
    // A new Home at the old place has nothing to do with the daemon of the moved one.
    assert.notEqual(await serve(one), pid);
    assert.deepEqual([await titles(one), await titles(two)], [[], ["A"]]);
  });
});
