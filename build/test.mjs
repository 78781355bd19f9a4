/**
 * `npm test [-- FILES]`: sets up what is missing, builds, and runs mocha over real parts. Works on a fresh clone.
 * FILES narrow the run: paths or globs below test/.
 */
import { spawnSync } from "node:child_process";
import { installDependencies } from "./dependencies.mjs";
import { requireCommands } from "./prerequisites.mjs";

installDependencies();
requireCommands({ chromium: "chromium", cc: "gcc", git: "git" });

const node = (args) => spawnSync(process.execPath, args, { stdio: "inherit" }).status ?? 1;
const built = node(["esbuild.mjs"]);
if (built !== 0) process.exit(built);

const files = process.argv.slice(2);
process.exit(node(["node_modules/mocha/bin/mocha.js", "--config", "test/mocharc.json", ...(files.length > 0 ? files : ["test/**/*.test.ts"])]));
