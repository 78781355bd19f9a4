/** In-process append and sync, compared with a C program that writes and syncs the same bytes. */
import type { Ledger } from "../../daemon/ledger/ledger.ts";
import { compare, type Figure, interleave, type Measurement } from "../figure.ts";
import { scratchPath } from "../folder.ts";
import { nativeProgram } from "../native.ts";
import { output } from "../processes.ts";
import { LINE_BYTES, message, openLedger } from "./setting.ts";

/**
 * Events per second with this many writers, each of which appends again when its event is durable.
 */
function appendRate(ledger: Ledger, writers: number, total: number): Promise<number> {
  const first = ledger.count;
  return new Promise((done, failed) => {
    const started = performance.now();
    let begun = 0;
    let finished = 0;
    const next = (): void => {
      if (begun === total) return;
      begun += 1;
      ledger.submit(message(first + begun), (refusal) => {
        if (refusal !== null) return failed(refusal);
        finished += 1;
        if (finished === total) done((total / (performance.now() - started)) * 1000);
        else next();
      });
    };
    for (let writer = 0; writer < writers; writer += 1) next();
  });
}

const rows = [
  { writers: 1, syncs: 2000, goal: 0.95, floor: 0.7 },
  { writers: 64, syncs: 600, goal: 0.5, floor: 0.25 },
];

const nameOf = ({ writers }: { writers: number }): string =>
  `ledger append, ${writers} writer${writers === 1 ? "" : "s"}`;

export const appends: Measurement = {
  figures: rows.map(nameOf),
  async run({ short, only }): Promise<Figure[]> {
    const program = await nativeProgram("append");
    const ledger = await openLedger(scratchPath("ledger"));
    const native = scratchPath("native");
    const figures: Figure[] = [];
    for (const row of rows.filter((row) => nameOf(row).includes(only))) {
      const { writers, goal, floor } = row;
      const syncs = short ? row.syncs / 10 : row.syncs;
      const sides = {
        ours: () => appendRate(ledger, writers, writers * syncs),
        theirs: async () =>
          Number(await output(program, [native, `${LINE_BYTES}`, `${writers}`, `${syncs}`])),
      };
      // Once unmeasured, for compiled code.
      await interleave(1, sides);
      const { ours, theirs } = await interleave(short ? 3 : 9, sides);
      const against =
        writers === 1 ? "C write and fdatasync of the same bytes" : `C with ${writers} records per sync`;
      const name = nameOf(row);
      figures.push(
        compare({
          name,
          unit: "events/s",
          value: ours,
          against,
          against_value: theirs,
          goal,
          floor,
          better: "higher",
        }),
      );
    }
    await ledger.close();
    return figures;
  },
};
