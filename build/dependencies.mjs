/** Installs the npm packages of the lock file when they are missing or others. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

export function installDependencies() {
  if (areInstalled()) return;
  console.log("Installing npm packages ...");
  const { status } = spawnSync(
    "npm",
    ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"],
    { stdio: "inherit", shell: process.platform === "win32" },
  );
  if (status !== 0) process.exit(status ?? 1);
}

/** npm leaves out optional packages that are for another machine. */
function areInstalled() {
  const wanted = packages("package-lock.json");
  const installed = packages("node_modules/.package-lock.json");
  return Object.entries(wanted).every(([path, { version, integrity, optional }]) => {
    const there = installed[path];
    if (path === "" || (optional && there === undefined)) return true;
    return there?.version === version && there.integrity === integrity;
  });
}

function packages(lock) {
  try {
    return JSON.parse(readFileSync(lock, "utf8")).packages;
  } catch {
    return {};
  }
}
