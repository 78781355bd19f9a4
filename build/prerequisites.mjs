/** Installs what the tests need besides npm packages, from Debian's packages. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

function found(command) {
  if (command.startsWith("/")) return existsSync(command);
  const folders = (process.env.PATH ?? "").split(delimiter).filter(Boolean);
  return folders.some((folder) => existsSync(join(folder, command)));
}

/**
 * Installs the Debian packages whose commands are missing. `wanted` maps a command, or the path of
 * a file, to its package. Exits with a remedy when it can't.
 */
export function requireCommands(wanted) {
  const missing = Object.entries(wanted).filter(([command]) => !found(command));
  if (missing.length === 0) return;
  const packages = [...new Set(missing.map(([, name]) => name))];
  const remedy = `apt-get install ${packages.join(" ")}`;
  if (!found("apt-get") || process.getuid?.() !== 0) {
    console.error(`Missing: ${missing.map(([command]) => command).join(", ")}. Install with: ${remedy}`);
    process.exit(1);
  }
  const run = (args) =>
    spawnSync("apt-get", args, {
      stdio: ["ignore", "ignore", "inherit"],
      env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
    }).status === 0;
  console.error(`Installing ${packages.join(", ")} ...`);
  if (!run(["update", "-qq"]) || !run(["install", "-y", "-qq", "--no-install-recommends", ...packages])) {
    console.error(`Couldn't install them. Do it by hand: ${remedy}`);
    process.exit(1);
  }
}
