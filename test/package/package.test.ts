/** The tarball that `npm pack` makes, installed where nothing else is. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { plainEnvironment } from "../support/daemon-process.ts";

/** What the daemon and the account service import when it is first needed. */
const CHUNK = /^(?:account|daemon)-.*\.mjs$/;
const ROOT = join(import.meta.dirname, "../..");

describe("the packed tarball", function () {
  this.timeout(300_000);
  let folder: string;
  let home: string;

  function execute(command: string, args: readonly string[], cwd = folder): string {
    const { status, stdout, stderr } = spawnSync(command, args, {
      cwd,
      encoding: "utf8",
      env: { ...plainEnvironment(), SVC_HOME: home },
      maxBuffer: 64 * 1024 * 1024,
    });
    assert.equal(status, 0, `${command} ${args.join(" ")}\n${stdout}${stderr}`);
    return stdout;
  }

  function svc(...args: string[]): string {
    return execute(join(folder, "node_modules", ".bin", "svc"), args);
  }

  before(() => {
    folder = mkdtempSync(join(tmpdir(), "svc-package-"));
    home = join(folder, "home");
    const packed = execute("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", folder], ROOT);
    const [{ filename }] = JSON.parse(packed) as [{ filename: string }];
    execute("npm", ["init", "-y"]);
    const options = ["--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund", "--loglevel=error"];
    execute("npm", ["install", ...options, join(folder, filename)]);
  });
  after(() => {
    spawnSync(join(folder, "node_modules", ".bin", "svc"), ["daemon", "stop", "--home", home]);
    rmSync(folder, { recursive: true, force: true });
  });

  it("depends on what is prebuilt for each platform alone, and carries no sources", () => {
    const installed = join(folder, "node_modules", "svc");
    const manifest = JSON.parse(readFileSync(join(installed, "package.json"), "utf8")) as {
      dependencies: object;
    };
    assert.deepEqual(Object.keys(manifest.dependencies).sort(), ["@lydell/node-pty", "libsql"]);
    for (const name of ["daemon", "test", "esbuild.mjs", "node_modules"])
      assert.ok(!existsSync(join(installed, name)), name);
    const shipped = readdirSync(join(installed, "dist"));
    const code = shipped.filter((name) => /\.[cm]js$/.test(name));
    assert.deepEqual(code.filter((name) => !CHUNK.test(name)).sort(), [
      "account.mjs",
      "cli.cjs",
      "daemon.mjs",
      "demo.cjs",
      "hook.cjs",
      "mcp.cjs",
      "qr.cjs",
      "svc.cjs",
      "websocket.cjs",
    ]);
    const maps = code.filter((name) => name !== "svc.cjs").map((name) => `${name}.map`);
    assert.deepEqual(shipped.sort(), [...code, ...maps, "THIRD_PARTY_NOTICES", "webview"].sort());
    assert.ok(existsSync(join(installed, "LICENSE")));
    const own = readdirSync(join(ROOT, "dist")).filter((name) => !["extension", "vsix"].includes(name));
    assert.deepEqual(own.sort(), shipped);
  });

  it("is named by 'npm pack --silent' and nothing else, as the README's install command needs it", () => {
    assert.match(execute("npm", ["pack", "--silent", "--dry-run"], ROOT), /^svc-\d+\.\d+\.\d+\.tgz\n$/);
  });

  it("runs: version, daemon, a Group, a message, a process in a terminal, the Workbench's page, the demo", async () => {
    assert.match(svc("--version"), /^svc \d+\.\d+\.\d+\n$/);
    svc("daemon", "start", "--port", "0");
    svc("group", "create", "Packed");
    svc("actor", "add", "alice");
    const sent = JSON.parse(svc("send", "hello", "--to", "alice", "--json")) as { ok: boolean };
    assert.equal(sent.ok, true);
    assert.match(svc("tail"), /hello/);
    svc("attach", folder);
    svc("actor", "add", "bob", "--runtime", "custom", "--", "/bin/cat");
    assert.match(svc("actor", "start", "bob"), /bob runs/);
    const status = JSON.parse(svc("daemon", "status", "--json")) as { result: { web_origin: string } };
    const page = await fetch(status.result.web_origin);
    assert.equal(page.status, 200);
    assert.match(await page.text(), /workbench\.js/);
    svc("daemon", "stop");
    assert.match(svc("demo", "--exit"), /The agents are done/);
  });

  it("says what to do when an upgrade took away what the daemon hasn't loaded yet, and logs where in the sources", async () => {
    const dist = join(folder, "node_modules", "svc", "dist");
    svc("daemon", "start", "--port", "0");
    const status = JSON.parse(svc("daemon", "status", "--json")) as { result: { web_origin: string } };
    for (const name of readdirSync(dist)) if (CHUNK.test(name)) rmSync(join(dist, name));
    const page = await fetch(status.result.web_origin);
    assert.equal(page.status, 500);
    assert.match(await page.text(), /^svc was upgraded while this daemon was running\. Restart the daemon: /);
    const lines = readFileSync(join(home, "daemon", "log"), "utf8")
      .trimEnd()
      .split("\n");
    const logged = lines.map((line) => JSON.parse(line) as { msg: string; stack: string });
    const { stack } = logged.findLast(({ msg }) => msg === "web application")!;
    const first = /^ +at tellReplaced \(.*\/node_modules\/svc\/platform\/replaced\.ts:(\d+):\d+\)$/m.exec(
      stack,
    );
    assert.ok(first, stack);
    const source = readFileSync(join(ROOT, "platform/replaced.ts"), "utf8").split("\n");
    assert.match(source[Number(first[1]) - 1]!, /throw new Refusal/);
    svc("daemon", "stop");
  });
});
