/**
 * `npm run test:nodes [-- FILES]`: the unit and integration tests on the other supported versions
 * of Node. npm installs each version (`node-<platform>-<arch>`), separate from the dependencies.
 * The browser, interop and longer suites run only on the oldest version.
 */
import "./node-version.cjs";
import { spawnSync } from "node:child_process";
import { delimiter, join } from "node:path";
import { installCached } from "./cache.mjs";

const VERSIONS = ["22.23.3", "24.21.0"];
const ELSEWHERE = ["agents", "browser", "interop", "package", "withstand"];

const files = process.argv.slice(2);
const specification =
  files.length > 0
    ? files
    : ["test/**/*.test.ts", ...ELSEWHERE.flatMap((folder) => ["--ignore", `test/${folder}/**`])];

const built = spawnSync(process.execPath, ["esbuild.mjs", "node"], { stdio: "inherit" });
if (built.status !== 0) process.exit(built.status ?? 1);

/** Runs the tests on one version; says whether they passed. */
function passes(version) {
  const name = `node-${process.platform}-${process.arch}`;
  let folder;
  try {
    folder = installCached(`${name}-${version}`, { [name]: version });
  } catch (error) {
    console.error(`not run: Node ${version} isn't there. ${error.message}`);
    return false;
  }
  const bin = join(folder, "node_modules", name, "bin");
  console.log(`\nNode ${version}`);
  const { status } = spawnSync(
    join(bin, "node"),
    [
      "node_modules/mocha/bin/mocha.js",
      "--config",
      "test/mocharc.json",
      "--reporter",
      "dot",
      ...specification,
    ],
    { stdio: "inherit", env: { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH ?? ""}` } },
  );
  return status === 0;
}

const failed = VERSIONS.filter((version) => !passes(version));
if (failed.length > 0) console.error(`Failed on Node ${failed.join(" and ")}.`);
process.exit(failed.length === 0 ? 0 : 1);
