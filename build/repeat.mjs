/**
 * `npm run test:repeat -- FILE ... [--times N] [--busy N] [--grep TEXT]`: runs each file, or
 * each file below each folder, N times (20 if not said), one mocha after another, and prints which
 * failed how often and why. `--busy` keeps so many processors busy beside it. A test that passes by
 * luck is found this way. The last line is `N passed, N failed`, in runs of files.
 */
import "./node-version.cjs";
import { spawn } from "node:child_process";
import { statSync } from "node:fs";
import { normalize } from "node:path";
import { parseArgs } from "node:util";
import { prepare } from "./prepare.mjs";
import { reasons, runFiles, testFiles } from "./suite.mjs";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    times: { type: "string", default: "20" },
    busy: { type: "string", default: "0" },
    grep: { type: "string" },
  },
});
const times = Number(values.times);
const busy = Number(values.busy);
if (
  positionals.length === 0 ||
  !(Number.isInteger(times) && times > 0 && Number.isInteger(busy) && busy >= 0)
) {
  console.error("Usage: npm run test:repeat -- FILE ... [--times N] [--busy N] [--grep TEXT]");
  process.exit(2);
}
const files = positionals.flatMap((path) => (statSync(path).isDirectory() ? testFiles(path) : [path]));

await prepare(files.map((file) => normalize(file)));
/** Ends with this process, also when that is killed: its input ends then. */
const LOOP = `process.stdin.on("end", () => process.exit()).resume();
(function turn() { for (const end = Date.now() + 50; Date.now() < end; ); setImmediate(turn); })();`;
const loops = Array.from({ length: busy }, () =>
  spawn(process.execPath, ["--eval", LOOP], { stdio: ["pipe", "ignore", "ignore"] }),
);
const options = values.grep === undefined ? [] : ["--grep", values.grep];
const counts = new Map(files.map((file) => [file, { failed: 0, seconds: 0 }]));
// Each file once, then all again: what the machine does meanwhile is shared among them.
for (let time = 1; time <= times; time += 1)
  for (const file of files) {
    const begun = performance.now();
    const { output, failed } = await runFiles({ files: [file, ...options] });
    const seconds = (performance.now() - begun) / 1000;
    const count = counts.get(file);
    count.seconds += seconds;
    if (failed > 0) {
      count.failed += 1;
      process.stdout.write(`\n${reasons(output, file, Number.POSITIVE_INFINITY)}`);
    }
    console.log(`${time}/${times} ${file} ${failed === 0 ? "passed" : "failed"} ${seconds.toFixed(0)} s`);
  }
for (const loop of loops) loop.kill();
console.log();
for (const [file, { failed, seconds }] of counts)
  console.log(`${failed} of ${times} failed, ${(seconds / times).toFixed(0)} s each: ${file}`);
const failed = [...counts.values()].reduce((sum, count) => sum + count.failed, 0);
console.log(`${files.length * times - failed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
