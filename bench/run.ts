/**
 * `npm run bench [-- --json] [--short] [--only NAME]`: what the product takes, each figure compared
 * with something timed in the same run. Prints a table, or JSON. Exits with 1 if a figure couldn't
 * be measured, or (without `--short`) if one is below its floor. Standard error shows each figure
 * as soon as it is taken.
 */
import { parseArgs } from "node:util";
import { requireCommands } from "../build/prerequisites.mjs";
import { accountMeasurements } from "./account/all.ts";
import { connectMeasurements } from "./connect/all.ts";
import { editorMeasurements } from "./editor/all.ts";
import { externalMeasurements } from "./external/all.ts";
import { fanout } from "./fanout.ts";
import type { Figure, Measurement } from "./figure.ts";
import { hooks } from "./hooks.ts";
import { idle } from "./idle.ts";
import { instances } from "./instances.ts";
import { ledgerMeasurements } from "./ledger/all.ts";
import { describeMachine, type Machine } from "./machine.ts";
import { prompts } from "./prompts.ts";
import { redisVersion } from "./redis.ts";
import { roundTrip } from "./round-trip.ts";
import { send } from "./send.ts";
import { startUp } from "./start-up.ts";
import { terminals } from "./terminals.ts";
import { tls } from "./tls/all.ts";

const measurements: readonly Measurement[] = [
  send,
  ...ledgerMeasurements,
  fanout,
  roundTrip,
  startUp,
  tls,
  ...connectMeasurements,
  ...accountMeasurements,
  ...externalMeasurements,
  hooks,
  prompts,
  terminals,
  idle,
  instances,
  ...editorMeasurements,
];

function number(value: number): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : Math.abs(value) >= 1 ? 2 : 3;
  return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

function verdict({ ratio, goal, better, holds }: Figure): string {
  if (!holds) return "BELOW ITS FLOOR";
  return (better === "higher" ? ratio >= goal : ratio <= goal) ? "goal reached" : "holds";
}

/**
 * A short run takes too little to judge by: with a fiftieth of the events, say, under the same
 * name.
 */
const SHORT =
  "A short run: it shows that every figure can be taken. What they are worth, only a whole run says.";

function table(machine: Machine, figures: readonly Figure[], isShort: boolean): string {
  const rows = figures.map((figure) => [
    figure.name,
    `${number(figure.value)} ${figure.unit}`,
    `${number(figure.against_value)} ${figure.against}`,
    `${number(figure.ratio)} x`,
    `${figure.better === "higher" ? "≥" : "≤"} ${figure.goal} (${figure.floor})`,
    isShort ? "" : verdict(figure),
  ]);
  const all = [["Figure", "Value", "Against", "Ratio", "Goal (floor)", ""], ...rows];
  const widths = all[0]!.map((_, column) => Math.max(...all.map((row) => row[column]!.length)));
  const lines = all.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join("  ")
      .trimEnd(),
  );
  const facts = `${machine.platform}, ${machine.cores} cores (${machine.processor}), ${machine.memory_gib} GiB, ${machine.file_system}`;
  const note = isShort ? `\n\n${SHORT}` : "";
  return `${facts}, sync ${machine.sync_us} us, Node ${machine.node}, Redis ${machine.redis}\n\n${lines.join("\n")}${note}`;
}

const { values: flags } = parseArgs({
  options: {
    json: { type: "boolean", default: false },
    short: { type: "boolean", default: false },
    only: { type: "string", default: "" },
  },
});

const isQuick = flags.short && flags.only === "";
const chosen = measurements.filter(
  ({ figures, needsBrowser }) =>
    figures.some((name) => name.includes(flags.only)) && !(isQuick && needsBrowser === true),
);
if (chosen.length === 0) {
  const names = measurements.flatMap(({ figures }) => figures);
  console.error(`No figure's name contains '${flags.only}'. There are:\n  ${names.join("\n  ")}`);
  process.exit(2);
}
requireCommands({
  cc: "gcc",
  pg_ctlcluster: "postgresql",
  openssl: "openssl",
  "redis-server": "redis-server",
  ...(chosen.some(({ needsBrowser }) => needsBrowser) ? { chromium: "chromium" } : {}),
});

const machine = describeMachine(await redisVersion());
const figures: Figure[] = [];
let failed = false;
for (const measurement of chosen) {
  const begin = performance.now();
  try {
    const measured = await measurement.run({ short: flags.short, only: flags.only });
    const wanted = measured.filter(({ name }) => name.includes(flags.only));
    figures.push(...wanted);
    const seconds = Math.round((performance.now() - begin) / 1000);
    for (const { name, ratio } of wanted) console.error(`${seconds} s  ${name}: ${number(ratio)} x`);
  } catch (error) {
    failed = true;
    console.error(
      `Couldn't measure ${measurement.figures.join(", ")}: ${error instanceof Error ? error.stack : String(error)}`,
    );
  }
}
console.log(
  flags.json ? JSON.stringify({ machine, figures }, null, 2) : table(machine, figures, flags.short),
);
const below = !flags.short && figures.some(({ holds }) => !holds);
process.exit(failed || below ? 1 : 0);
