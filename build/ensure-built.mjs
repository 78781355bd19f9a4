/**
 * Installs and builds what is missing or older than its sources, for the commands that a fresh
 * clone starts with.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { alone } from "./alone.mjs";
import { installDependencies } from "./dependencies.mjs";

export const PROGRAM = join("dist", "svc.cjs");
export const PAGE_FOLDER = join("dist", "webview");
/**
 * There while the Workbench in dist is one for its development (build/dev.mjs): neither small nor
 * compressed.
 */
export const DEVELOPMENT_MARK = join(PAGE_FOLDER, ".development");
const SOURCES = [
  "account",
  "build",
  "cli",
  "client",
  "daemon",
  "demo",
  "extension",
  "mcp-server",
  "platform",
  "shared",
  "webview",
];
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
  alone(installAndBuild);
}

function installAndBuild() {
  installDependencies();
  const built = statSync(PROGRAM, { throwIfNoEntry: false });
  const page = statSync(join(PAGE_FOLDER, "index.html"), { throwIfNoEntry: false });
  const extension = statSync(join("dist", "extension", "extension.cjs"), { throwIfNoEntry: false });
  const isForUse = built && page && extension && !existsSync(DEVELOPMENT_MARK);
  if (isForUse && Math.min(built.mtimeMs, page.mtimeMs, extension.mtimeMs) >= newest()) return;
  console.log("Building ...");
  const { status } = spawnSync(process.execPath, ["esbuild.mjs"], { stdio: ["ignore", "ignore", "inherit"] });
  if (status !== 0) process.exit(status ?? 1);
}
