/**
 * Packages that tests need from npm besides the dependencies (real agents, other versions of Node):
 * each set in its own folder in a cache folder. `SVC_AGENTS_CACHE` names another cache folder.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

const INSTALL_MS = 10 * 60_000;

function cacheFolder() {
  const { SVC_AGENTS_CACHE: named, XDG_CACHE_HOME: cache } = process.env;
  if (named) return named;
  const usual = process.platform === "darwin" ? "Library/Caches" : ".cache";
  return join(cache || join(homedir(), usual), "svc-agents");
}

/** The folder of the set `name`, whether it exists or not. */
export function cachedFolder(name) {
  return join(cacheFolder(), name);
}

/**
 * The folder of the set `name` with `packages` (name to exact version) installed, without running a
 * script. `finish(folder)` completes a new one. `options` are npm's. Throws if they are missing and
 * npm can't install them.
 */
export function installCached(name, packages, finish = () => {}, options = []) {
  const folder = cachedFolder(name);
  if (existsSync(folder)) return folder;
  const cache = cacheFolder();
  mkdirSync(cache, { recursive: true });
  // Built separately and moved into place, so that a partial install never counts.
  const workshop = mkdtempSync(join(cache, ".new-"));
  try {
    install(workshop, packages, options);
    finish(workshop);
    if (!existsSync(folder)) renameSync(workshop, folder);
  } finally {
    rmSync(workshop, { recursive: true, force: true });
  }
  return folder;
}

function install(folder, packages, more) {
  writeFileSync(join(folder, "package.json"), '{ "private": true }\n');
  const named = Object.entries(packages).map(([name, version]) => `${name}@${version}`);
  console.log(`Installing ${named.join(" and ")} ...`);
  const options = ["--ignore-scripts", "--no-audit", "--no-fund", "--save-exact", "--loglevel=error"];
  const { status, error } = spawnSync("npm", ["install", ...options, ...more, ...named], {
    cwd: folder,
    stdio: ["ignore", "inherit", "inherit"],
    timeout: INSTALL_MS,
    env: { ...process.env, npm_config_global: "false", npm_config_prefix: undefined },
  });
  if (status !== 0) throw new Error(`npm can't install them${error ? `: ${error.message}` : "."}`);
}
