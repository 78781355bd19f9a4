/** What `svc runtime list` finds on a machine. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { listRuntimes } from "../../daemon/runtimes/runtime-list.ts";
import { RealProcesses } from "../../platform/real-processes.ts";

describe("the list of runtimes", () => {
  let bin: string;
  beforeEach(() => {
    bin = mkdtempSync(join(tmpdir(), "svc-bin-"));
  });
  afterEach(() => rmSync(bin, { recursive: true, force: true }));

  const program = (name: string, script: string, mode = 0o755): void =>
    writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`, { mode });

  it("says what is installed, in which version, and what works with it", async () => {
    program("claude", '[ "$1" = --version ] && echo "2.1.329 (Claude Code)"');
    program("codex", 'echo "codex-cli 0.169.0-alpha.2"');
    program("gemini", "exit 3");
    program("cursor-agent", 'echo "version 1.0"', 0o644);
    const list = await listRuntimes(new RealProcesses(), bin, null);
    const rows = list.map((one) => [
      one.runtime,
      one.installed,
      one.version,
      one.tools,
      one.activity,
      one.proof,
      ...one.missing,
    ]);
    assert.deepEqual(rows, [
      ["claude", true, "2.1.329", true, true, true],
      ["codex", true, "0.169.0-alpha.2", true, true, true],
      ["gemini", true, null, false, false, false],
      ["opencode", false, null, true, false, false, "program"],
      ["copilot", false, null, false, false, false, "program"],
      ["cursor", false, null, false, false, false, "program"],
      ["custom", false, null, false, false, false],
    ]);
    assert.equal(list[0]!.path, join(bin, "claude"));
    assert.equal(list[3]!.path, null);
    assert.equal(list.at(-1)!.command, null);
  });

  it("waits for no program that never answers", async () => {
    program("claude", "exec sleep 1000");
    const [claude] = await listRuntimes(new RealProcesses(), `${bin}:/usr/bin:/bin`, null);
    assert.deepEqual([claude!.installed, claude!.version], [true, null]);
  }).timeout(60_000);
});
