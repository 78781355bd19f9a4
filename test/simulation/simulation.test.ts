/** Seeds of the simulation on every run of the tests; `npm run sim` does many more. */
import assert from "node:assert/strict";
import { without } from "./crash.ts";
import { type Options, type Report, simulate } from "./simulation.ts";

/** The first of some seeds that breaks an invariant. */
async function firstFailure(seeds: number, options: Options): Promise<Report | null> {
  for (let seed = 1; seed <= seeds; seed += 1) {
    const report = await simulate(seed, options);
    if (report.violations.length > 0) return report;
  }
  return null;
}

describe("Simulation", () => {
  it("keeps every promise, whatever happens, for 12 seeds", async function () {
    this.timeout(120_000);
    const failed = await firstFailure(12, {});
    assert.equal(failed, null, failed?.story.join("\n"));
  });

  it("is the same for the same seed, and another one for another", async function () {
    this.timeout(120_000);
    const [one, again, other] = [await simulate(3), await simulate(3), await simulate(4)];
    assert.deepEqual(one, again);
    assert.notEqual(one.trace, other.trace);
  });

  it("finds a disk that says that it has synced and hasn't", async function () {
    this.timeout(120_000);
    const failed = await firstFailure(30, { plants: { files: without("files") } });
    assert.ok(failed !== null);
  });
});
