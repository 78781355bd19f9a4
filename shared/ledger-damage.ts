/** What is wrong with a Group's history on disk. */
import * as z from "zod";

const Range = z.strictObject({ first: z.int(), last: z.int() });

export const LedgerDamage = z.strictObject({
  /** Events that were recorded and aren't there, or can't be read: at least this many. */
  missing_events: z.int(),
  /** Their places in the history, counted from 0, as far as they are known. */
  missing: z.array(Range),
  /** Files of the Group's ledger that hold the damage. They stay as they are. */
  files: z.array(z.string()),
  /** One sentence each. */
  problems: z.array(z.string()),
});
export type LedgerDamage = z.infer<typeof LedgerDamage>;
