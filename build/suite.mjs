/**
 * Runs mocha over the suite in several processes next to each other: most tests wait for a process,
 * a browser or the disk. Each mocha runs a few files of one folder, and its output appears in one
 * piece when it ends.
 */
import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";

/** Node's arguments that run mocha; paths, globs and more of mocha's options follow. */
export const MOCHA = ["node_modules/mocha/bin/mocha.js", "--config", "test/mocharc.json"];

/** As test/reporter.cjs prints it. */
const CLOSING = /^(\d+) passed, (\d+) failed\n?/gmu;
/** Files of one mocha, which takes about a second to start. */
const FILES = 6;
/**
 * More mochas at once would slow each other down: many tests have a browser and daemons of their
 * own. With as many mochas as cores, half of the processor time is unused.
 */
const MOST = 4;
/** Each file of these folders takes long: they begin, each with a mocha of its own. */
const SLOW = ["test/browser", "test/cli"];

/** The test files, but for those in these folders of test/. */
function testFiles(without) {
  const files = readdirSync("test", { recursive: true }).map((path) => join("test", path));
  const left = without.map((folder) => join("test", folder, "/"));
  return files
    .filter((path) => path.endsWith(".test.ts") && !left.some((folder) => path.startsWith(folder)))
    .sort();
}

/** What one mocha runs, the longest first. */
function shares(without) {
  const open = new Map();
  const all = [];
  for (const file of testFiles(without)) {
    const folder = dirname(file);
    const share = open.get(folder);
    if (share !== undefined && share.length < FILES && !SLOW.includes(folder)) share.push(file);
    else {
      open.set(folder, [file]);
      all.push(open.get(folder));
    }
  }
  const isSlow = ([file]) => SLOW.includes(dirname(file));
  return [...all.filter(isSlow), ...all.filter((share) => !isSlow(share))];
}

/** Mochas that run now: they end with this process. */
const running = new Set();
for (const signal of ["SIGINT", "SIGTERM"])
  process.once(signal, () => {
    for (const child of running) child.kill(signal);
    process.kill(process.pid, signal);
  });

/** Runs one mocha; answers its output and whether it ended well. */
function run({ node, environment, files }) {
  return new Promise((resolve) => {
    const child = spawn(node, [...MOCHA, ...files], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, ...environment },
    });
    running.add(child);
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text) => (output += text));
    child.on("error", (error) => (output += `${error.message}\n`));
    child.on("close", (code, signal) => {
      running.delete(child);
      resolve({ output, isGood: code === 0, end: signal ?? `code ${code}` });
    });
  });
}

/**
 * Runs the suite without these folders of test/. `show` gets the output of each mocha. Answers the
 * counts; a mocha that ended badly without a failed test is one more that failed.
 */
export async function runSuite({ without, show, node = process.execPath, environment = {} }) {
  const left = shares(without);
  const counts = { passed: 0, failed: 0 };
  const runNext = async () => {
    for (let files = left.shift(); files !== undefined; files = left.shift()) {
      const { output, isGood, end } = await run({ node, environment, files });
      const last = [...output.matchAll(CLOSING)].at(-1);
      counts.passed += Number(last?.[1] ?? 0);
      let failed = Number(last?.[2] ?? 0);
      let text = output.replaceAll(CLOSING, "");
      if (failed === 0 && (!isGood || last === undefined)) {
        failed = 1;
        text += `mocha ended with ${end}: ${files.join(" ")}\n`;
      }
      counts.failed += failed;
      show(text, failed === 0);
    }
  };
  const mochas = Math.min(MOST, availableParallelism() + 1);
  await Promise.all(Array.from({ length: mochas }, runNext));
  return counts;
}
