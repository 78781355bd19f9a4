/** Sets up what tests need besides the sources: npm's packages, dist/, and programs. */
import { spawnSync } from "node:child_process";
import { installAgents } from "./agents.mjs";
import { alone } from "./alone.mjs";
import { installDependencies } from "./dependencies.mjs";
import { installEditor } from "./editor.mjs";
import { ensureBuilt } from "./ensure-built.mjs";
import { needsOf } from "./needs.mjs";
import { requireCommands } from "./prerequisites.mjs";

/**
 * Installs and builds what is missing for these test files, paths below test/. Ends this process
 * when it can't.
 */
export async function prepare(files) {
  alone(installDependencies);
  const { build, programs } = await needsOf(files);
  if (build) ensureBuilt();
  requireCommands(programs);
  const uses = (folder) => files.some((file) => file.split(/[\\/]/)[1] === folder);
  if (uses("agents"))
    orEnd("the real agents aren't there", () => {
      process.env.SVC_AGENTS_BIN = installAgents();
      process.env.SVC_AGENTS_NEWEST_BIN = installAgents("newest");
      process.env.SVC_AGENTS_OTHERS_BIN = installAgents("others");
    });
  if (uses("editor")) {
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
