/**
 * The real agents that test:agents runs: Claude Code and Codex, installed from npm into a cache folder outside the dependencies
 * (SVC_AGENTS_CACHE names another one). Only their versions are pinned here; neither is part of the product.
 */
import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

const VERSIONS = { "@anthropic-ai/claude-code": "2.1.329", "@openai/codex": "0.169.0" };
const INSTALL_MS = 10 * 60_000;

function cacheFolder() {
  const { SVC_AGENTS_CACHE: named, XDG_CACHE_HOME: cache } = process.env;
  if (named) return named;
  const usual = process.platform === "darwin" ? "Library/Caches" : ".cache";
  return join(cache || join(homedir(), usual), "svc-agents");
}

function agentsFolder() {
  return join(cacheFolder(), [...Object.values(VERSIONS), process.platform, process.arch].join("-"));
}

/** Folder with the programs `claude` and `codex` as they were installed before; null when they weren't. */
export function findAgents() {
  const bin = join(agentsFolder(), "bin");
  return existsSync(bin) ? bin : null;
}

/** The same folder. Throws when they aren't there and npm can't bring them. */
export function installAgents() {
  const found = findAgents();
  if (found !== null) return found;
  const cache = cacheFolder();
  const folder = agentsFolder();
  mkdirSync(cache, { recursive: true });
  // Made apart and moved into its place, so that a half install never counts.
  const workshop = mkdtempSync(join(cache, ".new-"));
  try {
    install(workshop);
    if (!existsSync(folder)) renameSync(workshop, folder);
  } finally {
    rmSync(workshop, { recursive: true, force: true });
  }
  return join(folder, "bin");
}

function install(folder) {
  writeFileSync(join(folder, "package.json"), '{ "private": true }\n');
  const packages = Object.entries(VERSIONS).map(([name, version]) => `${name}@${version}`);
  console.log(`Installing ${packages.join(" and ")} ...`);
  const options = ["--ignore-scripts", "--no-audit", "--no-fund", "--save-exact", "--loglevel=error"];
  const { status, error } = spawnSync("npm", ["install", ...options, ...packages], {
    cwd: folder,
    stdio: ["ignore", "inherit", "inherit"],
    timeout: INSTALL_MS,
    env: { ...process.env, npm_config_global: "false", npm_config_prefix: undefined },
  });
  if (status !== 0) throw new Error(`npm can't install them${error ? `: ${error.message}` : "."}`);
  mkdirSync(join(folder, "bin"));
  for (const [program, path] of Object.entries(programs(folder))) {
    symlinkSync(join("..", path), join(folder, "bin", program));
  }
}

/** The native programs, as the packages of this platform hold them: without install scripts nothing links to them. */
function programs(folder) {
  const find = (place, fits) => {
    const found = readdirSync(join(folder, place)).find(
      (name) =>
        name.includes(`-${process.platform}-${process.arch}`) &&
        existsSync(join(folder, place, name, fits(place, name))),
    );
    if (found === undefined)
      throw new Error(`There is none for ${process.platform}-${process.arch} in ${place}.`);
    return join(place, found, fits(place, found));
  };
  const codex = (place, name) => {
    const vendor = join("vendor", readdirSync(join(folder, place, name, "vendor"))[0]);
    return join(vendor, "bin", "codex");
  };
  return {
    claude: find("node_modules/@anthropic-ai", () => "claude"),
    codex: find("node_modules/@openai", codex),
  };
}
