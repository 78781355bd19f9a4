/** An older Node than is supported is told in a sentence, whichever way in is taken. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { SVC } from "./svc.ts";

const SENTENCE = /^svc needs Node\.js \d+\.\d+ or newer, and this is [\d.]+\.\n$/;

describe("an older Node", () => {
  let folder: string;

  before(() => {
    folder = mkdtempSync(join(tmpdir(), "svc-node-"));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  function run(version: string, args: readonly string[]) {
    const old = join(folder, `${version}.cjs`);
    writeFileSync(
      old,
      `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "${version}" } });`,
    );
    return spawnSync(process.execPath, ["--require", old, ...args], {
      encoding: "utf8",
      env: { ...process.env, SVC_HOME: join(folder, "home") },
    });
  }

  it("is told by every entry before anything else happens", () => {
    for (const version of ["18.20.8", "20.18.3", "4.9.1"])
      for (const entry of [
        [SVC],
        [SVC, "daemon", "start"],
        [SVC, "mcp"],
        ["build/start.mjs"],
        ["build/test.mjs"],
        ["build/demo.mjs"],
        ["build/nodes.mjs"],
        ["esbuild.mjs"],
      ]) {
        const { status, stdout, stderr } = run(version, entry);
        assert.deepEqual([status, stdout], [1, ""], `${entry.join(" ")}: ${stderr}`);
        assert.match(stderr, SENTENCE, entry.join(" "));
      }
    assert.match(run("18.20.8", ["build/start.mjs"]).stderr, /this is 18\.20\.8/);
  });

  it("doesn't fail what a runtime does through its hook", () => {
    const { status, stdout } = run("18.20.8", [SVC, "hook", "socket", "file"]);
    assert.deepEqual([status, stdout], [0, ""]);
  });

  it("is any before the one that package.json names", () => {
    const { engines } = JSON.parse(readFileSync("package.json", "utf8")) as { engines: { node: string } };
    const [, major, minor] = /^>=(\d+)\.(\d+)$/.exec(engines.node) ?? [];
    const check = resolve("build/node-version.cjs");
    assert.equal(run(`${major}.${Number(minor) - 1}.9`, [check]).status, 1);
    for (const version of [`${major}.${minor}.0`, `${Number(major) + 1}.0.0`])
      assert.deepEqual([run(version, [check]).status, run(version, [check]).stderr], [0, ""]);
  });
});
