/** Installs and builds what is missing or older than its sources; for the commands that a fresh clone begins with. */
import { spawnSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { installDependencies } from "./dependencies.mjs";

export const PROGRAM = join("dist", "svc.cjs");
const SOURCES = ["build", "cli", "daemon", "demo", "mcp-server", "shared", "webview"];
const FILES = ["esbuild.mjs", "package-lock.json"];

/** Newest change among files and below folders, in milliseconds. */
function newest() {
  const below = SOURCES.flatMap((folder) =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name)),
  );
  return Math.max(...[...FILES, ...below].map((path) => statSync(path).mtimeMs));
}

export function ensureBuilt() {
  installDependencies();
  const built = statSync(PROGRAM, { throwIfNoEntry: false });
  const page = statSync(join("dist", "webview", "index.html"), { throwIfNoEntry: false });
  if (built && page && Math.min(built.mtimeMs, page.mtimeMs) >= newest()) return;
  console.log("Building ...");
  const { status } = spawnSync(process.execPath, ["esbuild.mjs"], { stdio: ["ignore", "ignore", "inherit"] });
  if (status !== 0) process.exit(status ?? 1);
}
