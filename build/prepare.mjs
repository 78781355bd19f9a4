/** What the suites of test/ need besides npm's packages and the build. */
import { spawnSync } from "node:child_process";
import { installAgents } from "./agents.mjs";
import { installEditor } from "./editor.mjs";
import { requireCommands } from "./prerequisites.mjs";

/**
 * Installs what is missing for the tests in these folders of test/, such as `browser`. Ends this
 * process when it can't.
 */
export function prepare(folders) {
  requireCommands({
    chromium: "chromium",
    "chromium-headless-shell": "chromium-headless-shell",
    caddy: "caddy",
    cc: "gcc",
    git: "git",
    pg_ctlcluster: "postgresql",
    "/usr/sbin/pgbouncer": "pgbouncer",
    "gnutls-cli": "gnutls-bin",
    "/usr/include/gnutls/gnutls.h": "libgnutls28-dev",
  });
  if (folders.includes("agents"))
    orEnd("the real agents aren't there", () => {
      process.env.SVC_AGENTS_BIN = installAgents();
      process.env.SVC_AGENTS_NEWEST_BIN = installAgents("newest");
      process.env.SVC_AGENTS_OTHERS_BIN = installAgents("others");
    });
  if (folders.includes("editor")) {
    orEnd("the editor isn't there", () => installEditor());
    const { status } = spawnSync(process.execPath, ["build/vsix.mjs"], { stdio: "inherit" });
    if (status !== 0) process.exit(status ?? 1);
  }
}

function orEnd(why, install) {
  try {
    install();
  } catch (error) {
    console.error(`not run: ${why}. ${error.message}`);
    process.exit(1);
  }
}
