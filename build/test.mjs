/**
 * `npm test [-- FILES]`: sets up what is missing, builds, and runs mocha over real parts. Works on
 * a fresh clone. FILES narrow the run: paths or globs below test/, and mocha's options.
 * `--withstand`, `--package`, `--agents` and `--editor` run the longer suites of these names
 * instead. The last line is `N passed, N failed`.
 */
import "./node-version.cjs";
import { spawnSync } from "node:child_process";
import { installAgents } from "./agents.mjs";
import { installEditor } from "./editor.mjs";
import { ensureBuilt } from "./ensure-built.mjs";
import { requireCommands } from "./prerequisites.mjs";
import { MOCHA, runSuite } from "./suite.mjs";

ensureBuilt();
requireCommands({
  chromium: "chromium",
  cc: "gcc",
  git: "git",
  pg_ctlcluster: "postgresql",
  "gnutls-cli": "gnutls-bin",
  "/usr/include/gnutls/gnutls.h": "libgnutls28-dev",
});

/** Suites that take longer, each a folder of test/. */
const LONGER = ["agents", "editor", "package", "withstand"];
const [first, ...rest] = process.argv.slice(2);
if (first === undefined) {
  const failures = [];
  const { passed, failed } = await runSuite({
    without: LONGER,
    show(output, isGood) {
      process.stdout.write(output);
      if (!isGood) failures.push(output);
    },
  });
  if (failures.length > 0) console.log(`\nAgain, what failed:\n${failures.join("")}`);
  console.log(`${passed} passed, ${failed} failed`);
  process.exit(failed === 0 ? 0 : 1);
}
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
if (first === "--editor") {
  try {
    installEditor();
  } catch (error) {
    console.error(`not run: the editor isn't there. ${error.message}`);
    process.exit(1);
  }
  const { status } = spawnSync(process.execPath, ["build/vsix.mjs"], { stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}
const longer = LONGER.find((folder) => first === `--${folder}`);
const files = longer === undefined ? first : `test/${longer}/**/*.test.ts`;
const { status } = spawnSync(process.execPath, [...MOCHA, files, ...rest], { stdio: "inherit" });
process.exit(status ?? 1);
