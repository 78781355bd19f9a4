/**
 * `npm test [-- FILES]`: sets up what is missing, builds, and runs mocha over real parts. Works on a fresh clone.
 * FILES narrow the run: paths or globs below test/. `--withstand` and `--package` run the longer suites of these names instead.
 */
import { spawnSync } from "node:child_process";
import { installDependencies } from "./dependencies.mjs";
import { requireCommands } from "./prerequisites.mjs";

installDependencies();
requireCommands({ chromium: "chromium", cc: "gcc", git: "git" });

const node = (args) => spawnSync(process.execPath, args, { stdio: "inherit" }).status ?? 1;
const built = node(["esbuild.mjs"]);
if (built !== 0) process.exit(built);

const SUITES = { "--withstand": "test/withstand/**/*.test.ts", "--package": "test/package/**/*.test.ts" };
const [first, ...rest] = process.argv.slice(2);
const specification =
  first === undefined
    ? ["test/**/*.test.ts", ...Object.values(SUITES).flatMap((files) => ["--ignore", files])]
    : [SUITES[first] ?? first, ...rest];
process.exit(node(["node_modules/mocha/bin/mocha.js", "--config", "test/mocharc.json", ...specification]));
