/** The tarball that `npm pack` makes, installed where nothing else is. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { plainEnvironment } from "../withstand/daemon-process.ts";

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
    assert.deepEqual(readdirSync(join(installed, "dist")).sort(), [
      "cli.bundle",
      "daemon.bundle",
      "daemon.cjs",
      "daemon.later",
      "demo.cjs",
      "hook.cjs",
      "mcp.bundle",
      "scan.cjs",
      "svc.cjs",
      "webview",
    ]);
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
    // An upgrade takes away what the running daemon hasn't loaded yet; it has it open.
    const later = join(folder, "node_modules", "svc", "dist", "daemon.later");
    renameSync(later, `${later}-gone`);
    svc("attach", folder);
    svc("actor", "add", "bob", "--runtime", "custom", "--", "/bin/cat");
    assert.match(svc("actor", "start", "bob"), /bob runs/);
    const status = JSON.parse(svc("daemon", "status", "--json")) as { result: { web_origin: string } };
    const page = await fetch(status.result.web_origin);
    assert.equal(page.status, 200);
    assert.match(await page.text(), /workbench\.js/);
    svc("daemon", "stop");
    renameSync(`${later}-gone`, later);
    assert.match(svc("demo", "--exit"), /The agents are done/);
  });
});
