/**
 * `npm run sim -- --seeds N --from S [--json] [--minutes M] [--accounts]`: many seeds, shared among
 * the processors. Exits with 1 when one of them breaks an invariant, whose story is printed;
 * `--minutes` and Ctrl+C stop in time and say how many were done. One seed in four has an
 * account service, with `--accounts` every seed.
 */
import { fork } from "node:child_process";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { type Report, simulate } from "./simulation.ts";

/** Seeds that a process does before it tells. */
const BATCH = 4;
/** What is still worth printing. */
const FAILURES_MAX = 5;
const STORY_LINES = 400;

/** Of so many seeds one has an account service. */
const ACCOUNTS_EVERY = process.argv.includes("--accounts") ? 1 : 4;

function hasAccounts(seed: number): boolean {
  return seed % ACCOUNTS_EVERY === 0;
}

type Result = Omit<Report, "story"> & { story: string[] | null };

/** Does the seeds that its parent names, until that lets go of it. */
function serve(): void {
  const work = async (seeds: number[]): Promise<void> => {
    const results: Result[] = [];
    for (const seed of seeds) results.push(await resultOf(seed));
    process.send!(results);
  };
  process.on("message", (seeds: number[]) => void work(seeds));
  // A terminal interrupts it as well; its parent stops it.
  process.on("SIGINT", () => {});
}

async function resultOf(seed: number): Promise<Result> {
  try {
    const report = await simulate(seed, { accounts: hasAccounts(seed) });
    return { ...report, story: report.violations.length > 0 ? report.story : null };
  } catch (error) {
    const what = error instanceof Error ? (error.stack ?? error.message) : String(error);
    const violations = [{ invariant: "nothing unexpected happens", what }];
    return { seed, steps: 0, simulatedHours: 0, violations, story: [], trace: "" };
  }
}

/**
 * Hands out seeds to as many processes as there are processors; `take` gets what they found and
 * says whether to go on.
 */
async function share(from: number, to: number, take: (results: Result[]) => boolean): Promise<void> {
  let next = from;
  let goesOn = true;
  const work = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const child = fork(
        fileURLToPath(import.meta.url),
        ["--serve", ...(ACCOUNTS_EVERY === 1 ? ["--accounts"] : [])],
        { execArgv: process.execArgv },
      );
      const give = (): void => {
        const seeds = goesOn ? Array.from({ length: Math.min(BATCH, to - next) }, (_, at) => next + at) : [];
        next += seeds.length;
        if (seeds.length === 0) child.disconnect();
        else child.send(seeds);
      };
      child.on("message", (results: Result[]) => {
        goesOn &&= take(results);
        give();
      });
      child.on("error", reject);
      child.on("exit", (code) =>
        code === 0 ? resolve() : reject(new Error(`a process ended with ${code}`)),
      );
      give();
    });
  await Promise.all(Array.from({ length: availableParallelism() }, work));
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      seeds: { type: "string", default: "100" },
      from: { type: "string", default: "1" },
      minutes: { type: "string" },
      json: { type: "boolean", default: false },
      accounts: { type: "boolean", default: false },
    },
  });
  const from = Number(values.from);
  const seeds = Number(values.seeds);
  const until = values.minutes === undefined ? Number.POSITIVE_INFINITY : Number(values.minutes) * 60_000;
  let isInterrupted = false;
  process.once("SIGINT", () => (isInterrupted = true));
  const failures: Result[] = [];
  const sum = { seeds: 0, steps: 0, simulated_hours: 0 };
  await share(from, from + seeds, (results) => {
    for (const result of results) {
      sum.seeds += 1;
      sum.steps += result.steps;
      sum.simulated_hours += result.simulatedHours;
      if (result.violations.length > 0) failures.push(result);
    }
    return failures.length < FAILURES_MAX && performance.now() < until && !isInterrupted;
  });
  const seconds = performance.now() / 1000;
  failures.sort((one, other) => one.seed - other.seed);
  if (values.json) {
    const violations = failures.flatMap(({ seed, violations, story }) =>
      violations.map(({ invariant }) => ({ seed, invariant, story })),
    );
    console.log(JSON.stringify({ ...sum, violations }));
  } else {
    for (const { seed, violations, story } of failures) {
      console.log(`\nseed ${seed}:`);
      for (const line of story!.slice(-STORY_LINES)) console.log(line);
      for (const { invariant, what } of violations) console.log(`broken: ${invariant}: ${what}`);
      console.log(`again: npm run sim -- --from ${seed} --seeds 1${hasAccounts(seed) ? " --accounts" : ""}`);
    }
    const perMinute = Math.round((sum.simulated_hours / seconds) * 60);
    console.log(
      `${sum.seeds} seeds, ${sum.steps} steps, ${Math.round(sum.simulated_hours)} simulated hours (${perMinute} per minute), ${failures.length} failed`,
    );
  }
  process.exitCode = failures.length > 0 ? 1 : 0;
}

if (process.argv.includes("--serve")) serve();
else await main();
