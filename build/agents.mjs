/**
 * The real agents that test:agents runs: Claude Code and Codex from npm, separate from the
 * dependencies. Only their versions are pinned here; they aren't part of the product.
 * docs/runtimes.md was measured with the first set. The second is the newest that was tried.
 */
import { existsSync, mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { cachedFolder, installCached } from "./cache.mjs";

const VERSIONS = {
  pinned: { "@anthropic-ai/claude-code": "2.1.329", "@openai/codex": "0.169.0" },
  newest: { "@anthropic-ai/claude-code": "2.1.332", "@openai/codex": "0.169.0" },
  others: { "opencode-ai": "1.18.33", "@google/gemini-cli": "0.61.0", "@github/copilot": "1.0.102" },
};
const nameOf = (set) => [...Object.values(VERSIONS[set]), process.platform, process.arch].join("-");

/** Folder with the programs of a set as they were installed before; null when they weren't. */
export function findAgents(set = "pinned") {
  const bin = join(cachedFolder(nameOf(set)), "bin");
  return existsSync(bin) ? bin : null;
}

/** The same folder. Throws when they aren't there and npm can't bring them. */
export function installAgents(set = "pinned") {
  const folder = installCached(nameOf(set), VERSIONS[set], (workshop) => {
    mkdirSync(join(workshop, "bin"));
    for (const [program, path] of Object.entries(PROGRAMS[set](workshop))) {
      symlinkSync(join("..", path), join(workshop, "bin", program));
    }
  });
  return join(folder, "bin");
}

/**
 * The native programs, as the packages of this platform hold them: without install scripts nothing
 * links to them.
 */
const PROGRAMS = { pinned: claudeAndCodex, newest: claudeAndCodex, others };

/**
 * Path of the first package in `place` for this platform that has the program, and of the program
 * in it.
 */
function find(folder, place, fits) {
  const found = readdirSync(join(folder, place)).find(
    (name) =>
      name.includes(`-${process.platform}-${process.arch}`) &&
      existsSync(join(folder, place, name, fits(place, name))),
  );
  if (found === undefined)
    throw new Error(`There is none for ${process.platform}-${process.arch} in ${place}.`);
  return join(place, found, fits(place, found));
}

function claudeAndCodex(folder) {
  const codex = (place, name) => {
    const vendor = join("vendor", readdirSync(join(folder, place, name, "vendor"))[0]);
    return join(vendor, "bin", "codex");
  };
  return {
    claude: find(folder, "node_modules/@anthropic-ai", () => "claude"),
    codex: find(folder, "node_modules/@openai", codex),
  };
}

function others(folder) {
  return {
    opencode: find(folder, "node_modules", () => join("bin", "opencode")),
    gemini: join("node_modules", "@google", "gemini-cli", "bundle", "gemini.js"),
    copilot: find(folder, "node_modules/@github", () => "copilot"),
  };
}
