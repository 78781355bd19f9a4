/**
 * `npm run test:nodes [-- FILES]`: the unit and integration tests on the other supported versions
 * of Node. npm installs each version (`node-<platform>-<arch>`), separate from the dependencies.
 * The browser, interop and longer suites run only on the oldest version.
 */
import "./node-version.cjs";
import { delimiter, join, sep } from "node:path";
import { installCached } from "./cache.mjs";
import { prepare } from "./prepare.mjs";
import { runHere, runSuite, testFiles } from "./suite.mjs";

const VERSIONS = ["22.23.3", "24.21.0"];
const ELSEWHERE = ["agents", "browser", "editor", "gates", "interop", "package", "withstand"];

const files = process.argv.slice(2);
const usual = testFiles("test").filter((file) => !ELSEWHERE.includes(file.split(sep)[1]));
await prepare(files.length === 0 ? usual : files);

/** Runs the tests on one version; says whether they passed. */
async function passes(version) {
  const name = `node-${process.platform}-${process.arch}`;
  let folder;
  try {
    folder = installCached(`${name}-${version}`, { [name]: version });
  } catch (error) {
    console.error(`not run: Node ${version} isn't there. ${error.message}`);
    return false;
  }
  const bin = join(folder, "node_modules", name, "bin");
  const node = join(bin, "node");
  const environment = { PATH: `${bin}${delimiter}${process.env.PATH ?? ""}` };
  const begin = performance.now();
  console.log(`\nNode ${version}`);
  if (files.length > 0) return runHere(files, { node, environment });
  const { passed, failed } = await runSuite({
    node,
    environment,
    files: usual,
    show(output, isGood) {
      if (!isGood || output.startsWith("\nUnsteady")) process.stdout.write(output);
    },
  });
  const seconds = Math.round((performance.now() - begin) / 1000);
  console.log(`Node ${version}: ${passed} passed, ${failed} failed (${seconds} s)`);
  return failed === 0;
}

const failed = [];
for (const version of VERSIONS) if (!(await passes(version))) failed.push(version);
if (failed.length > 0) console.error(`Failed on Node ${failed.join(" and ")}.`);
process.exit(failed.length === 0 ? 0 : 1);
