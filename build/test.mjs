/**
 * `npm test [-- FILES]`: sets up what is missing, builds, and runs mocha over real parts. Works on
 * a fresh clone. FILES narrow the run: paths or globs below test/, then mocha's options, or those
 * alone.
 * `--withstand`, `--package`, `--agents` and `--editor` in front of them run the longer suites of
 * these names instead. Files that fail run once more, alone (build/suite.mjs). The last line is
 * `N passed, N failed`.
 */
import "./node-version.cjs";
import { sep } from "node:path";
import { ensureBuilt } from "./ensure-built.mjs";
import { prepare } from "./prepare.mjs";
import { runHere, runSuite, testFiles } from "./suite.mjs";

/** Suites that take longer, each a folder of test/. */
const LONGER = ["agents", "editor", "package", "withstand"];
/** Those that nobody repeats: a failure is evidence, however rare it is. */
const ONCE = ["package", "withstand"];
const [first, ...rest] = process.argv.slice(2);

ensureBuilt();
prepare([first?.replace(/^--/, "")]);

/** Runs these files, shows again what failed, and ends this process. */
async function runAll(files, atOnce) {
  const failures = [];
  const { passed, failed } = await runSuite({
    files,
    ...(atOnce === undefined ? {} : { atOnce }),
    show(output, isGood) {
      process.stdout.write(output);
      if (!isGood) failures.push(output);
    },
  });
  if (failures.length > 0) console.log(`\nAgain, what failed:\n${failures.join("")}`);
  console.log(`${passed} passed, ${failed} failed`);
  process.exit(failed === 0 ? 0 : 1);
}

const usual = testFiles("test").filter((file) => !LONGER.includes(file.split(sep)[1]));
if (first === undefined) await runAll(usual);
const longer = LONGER.find((folder) => first === `--${folder}`);
if (longer !== undefined && !ONCE.includes(longer) && rest.length === 0)
  await runAll(testFiles(`test/${longer}`), 1);
const narrowing = longer === undefined ? [first, ...rest] : rest;
const namesFiles = narrowing[0]?.startsWith("-") === false;
const all = longer === undefined ? usual : [`test/${longer}/**/*.test.ts`];
process.exit(runHere(namesFiles ? narrowing : [...all, ...narrowing]) ? 0 : 1);
