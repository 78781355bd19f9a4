/**
 * `npm test [-- FILES]`: sets up what is missing, builds, and runs mocha over real parts. Works on
 * a fresh clone. FILES narrow the run: paths or globs below test/. `--withstand`, `--package` and
 * `--agents` run the longer suites of these names instead.
 */
import "./node-version.cjs";
import { spawnSync } from "node:child_process";
import { installAgents } from "./agents.mjs";
import { installDependencies } from "./dependencies.mjs";
import { requireCommands } from "./prerequisites.mjs";

installDependencies();
requireCommands({
  chromium: "chromium",
  cc: "gcc",
  git: "git",
  "gnutls-cli": "gnutls-bin",
  "/usr/include/gnutls/gnutls.h": "libgnutls28-dev",
});

const node = (args) => spawnSync(process.execPath, args, { stdio: "inherit" }).status ?? 1;
const built = node(["esbuild.mjs"]);
if (built !== 0) process.exit(built);

const SUITES = {
  "--withstand": "test/withstand/**/*.test.ts",
  "--package": "test/package/**/*.test.ts",
  "--agents": "test/agents/**/*.test.ts",
};
const [first, ...rest] = process.argv.slice(2);
if (first === "--agents") {
  try {
    process.env.SVC_AGENTS_BIN = installAgents();
    process.env.SVC_AGENTS_NEWEST_BIN = installAgents("newest");
    process.env.SVC_AGENTS_OTHERS_BIN = installAgents("others");
  } catch (error) {
    console.error(`not run: the real agents aren't there. ${error.message}`);
    process.exit(1);
  }
}
const specification =
  first === undefined
    ? ["test/**/*.test.ts", ...Object.values(SUITES).flatMap((files) => ["--ignore", files])]
    : [SUITES[first] ?? first, ...rest];
process.exit(node(["node_modules/mocha/bin/mocha.js", "--config", "test/mocharc.json", ...specification]));
