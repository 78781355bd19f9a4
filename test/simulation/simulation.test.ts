/** Seeds of the simulation on every run of the tests; `npm run sim` does many more. */
import assert from "node:assert/strict";
import { MUTANTS } from "./mutants.ts";
import { type Options, type Report, simulate } from "./simulation.ts";

const SEEDS = 10;
const SEEDS_WITH_ACCOUNTS = 4;
/**
 * Seeds that are searched for a mutant, should the one that showed it have become another story.
 */
const SEARCHED = 80;
/** A slow machine with much else to do. */
const PATIENCE_MS = 300_000;

/** The first seed that breaks an invariant. */
async function firstFailure(from: number, seeds: number, options: Options = {}): Promise<Report | null> {
  for (let seed = from; seed < from + seeds; seed += 1) {
    const report = await simulate(seed, options);
    if (report.violations.length > 0) return report;
  }
  return null;
}

describe("Simulation", function () {
  this.timeout(PATIENCE_MS);

  it(`keeps every promise, whatever happens, for ${SEEDS} seeds`, async () => {
    const failed = await firstFailure(1, SEEDS);
    assert.equal(failed, null, failed?.story.join("\n"));
  });

  it("is the same for the same seed, and another one for another", async () => {
    const [one, again, other] = [await simulate(3), await simulate(3), await simulate(4)];
    // What other tests left behind may take turns meanwhile; nothing of it is in the story.
    assert.deepEqual({ ...one, steps: 0 }, { ...again, steps: 0 });
    assert.notEqual(one.trace, other.trace);
  });

  it("keeps every promise with accounts", async () => {
    const failed = await firstFailure(1, SEEDS_WITH_ACCOUNTS, { accounts: true });
    assert.equal(failed, null, failed?.story.join("\n"));
  });

  describe("finds", () => {
    for (const { what, seed, files, apply, accounts = false } of MUTANTS) {
      it(what, async () => {
        const remove = apply?.();
        try {
          const failed = await firstFailure(seed, SEARCHED, {
            accounts,
            ...(files !== undefined && { mutation: { files } }),
          });
          assert.ok(failed !== null);
        } finally {
          remove?.();
        }
      });
    }
  });
});
