/**
 * The real editor that test:editor runs: code-server from npm, with the version of Node that it
 * needs, separate from the dependencies. It is VS Code's workbench and extension host.
 */
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { installCached } from "./cache.mjs";

const EDITOR = "4.139.1";
const NODE = "24.21.0";
const INSTALL_MS = 10 * 60_000;

/**
 * The program of the editor and the Node that runs it. Throws when they aren't there and npm can't
 * bring them.
 */
export function installEditor() {
  const platform = `node-${process.platform}-${process.arch}`;
  const name = `code-server-${EDITOR}-${platform}-${NODE}`;
  const folder = installCached(name, { [platform]: NODE, "code-server": EDITOR }, installWorkbench);
  const root = join(folder, "node_modules");
  return {
    node: join(root, platform, "bin", "node"),
    bin: join(root, platform, "bin"),
    entry: join(root, "code-server", "out", "node", "entry.js"),
  };
}

/** The workbench brings its own lock file with its dependencies. */
function installWorkbench(folder) {
  const cwd = join(folder, "node_modules", "code-server", "lib", "vscode");
  const { status } = spawnSync(
    "npm",
    ["install", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"],
    { cwd, stdio: ["ignore", "inherit", "inherit"], timeout: INSTALL_MS },
  );
  if (status !== 0 || !readdirSync(cwd).includes("node_modules"))
    throw new Error("npm can't install the editor's dependencies.");
}
