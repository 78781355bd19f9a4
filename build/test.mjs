/**
 * `npm test [-- FILES]`: sets up and builds what its tests need, and runs mocha over real parts.
 * Works on a fresh clone. FILES narrow the run: paths or globs below test/, then mocha's options,
 * or those alone. `--withstand`, `--package`, `--gates`, `--agents` and `--editor` in front of them
 * run the longer suites of these names instead. Files that fail run once more, alone
 * (build/suite.mjs). The last line is `N passed, N failed`.
 */
import "./node-version.cjs";
import { sep } from "node:path";
import { prepare } from "./prepare.mjs";
import { runHere, runSuite, testFiles } from "./suite.mjs";

/** Suites that take longer, each a folder of test/. */
const LONGER = ["agents", "editor", "gates", "package", "withstand"];
/** Those that nobody repeats: a failure is evidence, however rare it is. */
const ONCE = ["gates", "package", "withstand"];
const [first, ...rest] = process.argv.slice(2);

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

const longer = LONGER.find((folder) => first === `--${folder}`);
const args = longer === undefined ? process.argv.slice(2) : rest;
const options = args.findIndex((arg) => arg.startsWith("-"));
const named = options === -1 ? args : args.slice(0, options);
const all = testFiles("test").filter((file) => {
  const folder = file.split(sep)[1];
  return longer === undefined ? !LONGER.includes(folder) : folder === longer;
});
await prepare(named.length === 0 ? all : named);
if (args.length === 0 && !ONCE.includes(longer)) await runAll(all, longer === undefined ? undefined : 1);
process.exit(runHere(named.length === 0 ? [...all, ...args] : args) ? 0 : 1);
