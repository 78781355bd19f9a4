/** `npm test -- FILE` sets up what that file needs, and nothing else (docs/architecture.md). */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { NEEDS, needsOf } from "../../build/needs.mjs";

describe("what a test needs", () => {
  it("follows from the modules that it imports", async () => {
    assert.deepEqual(await needsOf(["test/groups/recipients.test.ts"]), { build: false, programs: {} });
    const browser = { chromium: "chromium", "chromium-headless-shell": "chromium-headless-shell" };
    assert.deepEqual(await needsOf(["test/browser/finding.test.ts"]), { build: true, programs: browser });
    const both = await needsOf(["test/groups/scopes.test.ts", "test/interop/gnutls.test.ts"]);
    const gnutls = ["cc", "gnutls-cli", "/usr/include/gnutls/gnutls.h"];
    assert.deepEqual(Object.keys(both.programs), ["git", ...gnutls]);
  });

  it("is told of modules that are there", () => {
    for (const path of Object.keys(NEEDS)) assert.ok(existsSync(path), path);
  });

  it("is nothing but Node for a test of a pure function", () => {
    const bin = mkdtempSync(join(tmpdir(), "svc-needs-"));
    try {
      symlinkSync(process.execPath, join(bin, "node"));
      const { stdout, stderr } = spawnSync(
        process.execPath,
        ["build/test.mjs", "test/groups/recipients.test.ts"],
        { encoding: "utf8", env: { PATH: bin } },
      );
      assert.match(stdout, /\n[1-9]\d* passed, 0 failed\n$/, stderr);
      assert.doesNotMatch(stdout, /Building/);
    } finally {
      rmSync(bin, { recursive: true, force: true });
    }
  });
});
