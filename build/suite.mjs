/**
 * Runs mocha over the suite in several processes next to each other: most tests wait for a process,
 * a browser or the disk. Each mocha runs a few files of one folder, and its output appears in one
 * piece when it ends.
 */
import { spawn, spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { availableParallelism, constants } from "node:os";
import { dirname, join } from "node:path";

/**
 * Node's arguments that run mocha; paths, globs and more of mocha's options follow. With tsx among
 * its own options, mocha would start a second process, and answer an interrupt with success.
 */
const MOCHA = ["--import=tsx/esm", "node_modules/mocha/bin/mocha.js", "--config", "test/mocharc.json"];

/** As test/reporter.cjs prints it. */
const CLOSING = /^(\d+) passed, (\d+) failed\n?/gmu;
/** Files of one mocha, which takes about a second to start. */
const FILES = 6;
/**
 * More mochas at once would slow each other down: many tests have a browser and daemons of their
 * own. With two more than cores, those that wait leave their core to another.
 */
const MOST = 6;
const MORE_THAN_CORES = 2;
/** A failure next to others may be their doing. More of them than this aren't. */
const MOST_AGAIN = 3;
/** Runs of mocha whose times are shown. */
const SLOWEST = 12;
/** Lines that say why a mocha failed which passed alone. */
const REASON_LINES = 12;
/** Each file of these folders takes long: they begin, each with a mocha of its own. */
const SLOW = ["test/agents", "test/browser", "test/cli", "test/editor"];

/** The test files of this folder. */
export function testFiles(folder) {
  const files = readdirSync(folder, { recursive: true }).map((path) => join(folder, path));
  return files.filter((path) => path.endsWith(".test.ts")).sort();
}

/** What one mocha runs, the longest first. */
function shares(files) {
  const open = new Map();
  const all = [];
  for (const file of files) {
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

/** No daemon of a test asks the login shell of whoever runs the tests, unless the test wants it. */
const QUICK = { SVC_LOGIN_SHELL: "none" };

/**
 * Runs one mocha in this terminal, with these paths and options of mocha's. Answers whether it
 * passed. An interrupt of mocha's ends this process too.
 */
export function runHere(args, { node = process.execPath, environment = {} } = {}) {
  const env = { ...process.env, ...QUICK, ...environment };
  const { status, signal } = spawnSync(node, [...MOCHA, ...args], { stdio: "inherit", env });
  if (signal !== null) process.exit(128 + constants.signals[signal]);
  return status === 0;
}

/**
 * Runs one mocha; answers its output and counts. One that ended badly without a failed test counts
 * as one more that failed.
 */
export async function runFiles({ files, node = process.execPath, environment = {} }) {
  const child = spawn(node, [...MOCHA, ...files], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...QUICK, ...environment },
  });
  running.add(child);
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text) => (output += text));
  child.on("error", (error) => (output += `${error.message}\n`));
  const [code, signal] = await new Promise((resolve) => {
    child.on("close", (...end) => resolve(end));
  });
  running.delete(child);
  const last = [...output.matchAll(CLOSING)].at(-1);
  const [passed, failed] = [Number(last?.[1] ?? 0), Number(last?.[2] ?? 0)];
  const text = output.replaceAll(CLOSING, "");
  if (failed > 0 || (code === 0 && last !== undefined)) return { output: text, passed, failed };
  const end = `mocha ended with ${signal ?? `code ${code}`}: ${files.join(" ")}`;
  return { output: `${text}${end}\n`, passed, failed: 1 };
}

/**
 * Runs these files. `show` gets the output of each mocha, and whether it ended well. A mocha that
 * failed next to others runs once more when they have ended; what passes then is named as unsteady
 * and counts as passed. Answers the counts.
 */
export async function runSuite({ files, show, atOnce = MOST, node = process.execPath, environment = {} }) {
  const left = shares(files);
  const counts = { passed: 0, failed: 0 };
  const times = [];
  const count = ({ passed, failed }) => {
    counts.passed += passed;
    counts.failed += failed;
  };
  const again = [];
  const runNext = async () => {
    for (let share = left.shift(); share !== undefined; share = left.shift()) {
      const begin = performance.now();
      const ended = await runFiles({ node, environment, files: share });
      times.push({ seconds: Math.round((performance.now() - begin) / 1000), share });
      show(ended.output, ended.failed === 0);
      if (ended.failed === 0) count(ended);
      else again.push({ share, ended });
    }
  };
  const mochas = Math.min(atOnce, availableParallelism() + MORE_THAN_CORES);
  await Promise.all(Array.from({ length: mochas }, runNext));
  show(slowest(times), true);
  const isChance = again.length <= MOST_AGAIN;
  for (const { share, ended } of again) {
    const second = isChance ? await runFiles({ node, environment, files: share }) : ended;
    count(second);
    if (!isChance) continue;
    const isUnsteady = second.failed === 0;
    show(
      isUnsteady
        ? `\nUnsteady, which is a defect: failed next to others and passed alone: ${share.join(" ")}\n${reasons(ended.output, "Unsteady")}`
        : `\nFailed alone as well:\n${second.output}`,
      isUnsteady,
    );
  }
  return counts;
}

/** The mochas that took longest, next to others, one a line. */
function slowest(times) {
  const first = times.toSorted((a, b) => b.seconds - a.seconds).slice(0, SLOWEST);
  const lines = first.map(({ seconds, share }) => `${String(seconds).padStart(6)} s  ${share.join(" ")}\n`);
  return `\nThe slowest of ${times.length} runs of mocha:\n${lines.join("")}`;
}

/** What mocha says about the failed tests, in at most so many lines, each with a mark in front. */
export function reasons(output, mark, most = REASON_LINES) {
  const lines = output.slice(Math.max(0, output.search(/^ +\d+ failing$/mu))).split("\n");
  const said = lines.filter((line) => line.trim() !== "").slice(0, most);
  return said.map((line) => `${mark} | ${line}\n`).join("");
}
