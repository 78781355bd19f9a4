import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ProgramVersions } from "../../daemon/runtimes/program-version.ts";
import { RealFiles } from "../../platform/real-files.ts";
import { RealProjectFiles } from "../../platform/real-project-files.ts";
import { ManualClock } from "../support/manual-clock.ts";

describe("A program's version", () => {
  const folder = mkdtempSync(join(tmpdir(), "svc-version-"));
  const program = join(folder, "agent");
  const entry = { versionArguments: ["--version"] };
  after(() => rmSync(folder, { recursive: true }));

  /** Versions over real files and a program that says `says`. */
  function versions(says: { now: string | null }) {
    const clock = new ManualClock();
    const asked = { times: 0 };
    const known = new ProgramVersions({
      clock,
      files: new RealFiles(),
      projects: new RealProjectFiles(folder),
      processes: {
        async outputOf() {
          asked.times += 1;
          return says.now;
        },
      },
    });
    return { clock, asked, of: () => known.of(program, entry) };
  }

  beforeEach(() => {
    writeFileSync(program, "one");
    chmodSync(program, 0o755);
  });

  it("is asked once for each state of the file", async () => {
    const says = { now: "agent 1.2.3\n" };
    const { asked, of } = versions(says);
    assert.deepEqual([await of(), await of(), asked.times], ["1.2.3", "1.2.3", 1]);
    writeFileSync(program, "another");
    says.now = "agent 1.3.0\n";
    assert.deepEqual([await of(), asked.times], ["1.3.0", 2]);
  });

  it("doesn't delay each start of a program that never says it, and is asked again later", async () => {
    const says: { now: string | null } = { now: null };
    const { clock, asked, of } = versions(says);
    assert.deepEqual([await of(), await of(), asked.times], [null, null, 1]);
    says.now = "2.0.0";
    clock.advance(600_000);
    assert.deepEqual([await of(), asked.times], ["2.0.0", 2]);
  });
});
