/** Installs the npm packages of the lock file when they are missing or older than it. */
import { spawnSync } from "node:child_process";
import { existsSync, statSync } from "node:fs";

export function installDependencies() {
  const installed = "node_modules/.package-lock.json";
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync("package-lock.json").mtimeMs) return;
  console.log("Installing npm packages ...");
  const { status } = spawnSync(
    "npm",
    ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"],
    { stdio: "inherit", shell: process.platform === "win32" },
  );
  if (status !== 0) process.exit(status ?? 1);
}
