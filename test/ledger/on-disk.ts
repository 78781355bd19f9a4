/** A Group's ledger in a folder of its own, for each test anew. */
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Ledger } from "../../daemon/ledger/ledger.ts";
import type { LedgerLimits } from "../../daemon/ledger/types.ts";
import { RealClock } from "../../platform/real-clock.ts";
import { RealFiles } from "../../platform/real-files.ts";
import { RealRandom } from "../../platform/real-random.ts";
import type { Refusal } from "../../shared/errors.ts";
import { GROUP, keyOf, Tally } from "./setting.ts";

/**
 * For the describe around it. What was opened is closed after each test, and the folder removed.
 */
export function useLedger() {
  const root = fs.mkdtempSync(join(tmpdir(), "svc-ledger-"));
  const directory = join(root, "ledger");
  const opened: Ledger[] = [];
  let tally = new Tally();
  afterEach(async () => {
    for (const ledger of opened.splice(0)) await ledger.close();
    fs.rmSync(directory, { recursive: true, force: true });
  });
  after(() => fs.rmSync(root, { recursive: true, force: true }));
  return {
    directory,
    /** Closed after the test. */
    opened,
    open: async (limits: Partial<LedgerLimits> = {}): Promise<Ledger> => {
      tally = new Tally();
      const deps = { files: new RealFiles(), clock: new RealClock(), random: new RealRandom() };
      const options = { group_id: GROUP, projections: [tally], keyOf, limits };
      const ledger = await Ledger.open(deps, directory, options);
      opened.push(ledger);
      return ledger;
    },
    /** The projection of the ledger that was opened last. */
    tally: () => tally,
    /** Names of files in the folder. */
    names: (pattern: RegExp): string[] =>
      fs
        .readdirSync(directory)
        .filter((name) => pattern.test(name))
        .sort(),
  };
}

export function hasCode(code: string): (error: unknown) => boolean {
  return (error) => (error as Refusal).code === code;
}
