/** `npm start`: installs and builds what is missing, starts the daemon, prints a one-time link to the Workbench. Arguments go to `svc daemon start`. */
import { spawnSync } from "node:child_process";
import { ensureBuilt, PROGRAM } from "./ensure-built.mjs";

ensureBuilt();
const svc = (args, stdio) => spawnSync(process.execPath, [PROGRAM, ...args], { stdio, encoding: "utf8" });
const started = svc(["daemon", "start", ...process.argv.slice(2)], ["ignore", "inherit", "inherit"]);
if (started.status !== 0) process.exit(started.status ?? 1);
const home = process.argv
  .slice(2)
  .flatMap((argument, at, all) =>
    argument === "--home" ? [argument, all[at + 1] ?? ""] : argument.startsWith("--home=") ? [argument] : [],
  );
console.log("\nThe Workbench (this link works once, for 5 minutes; 'npx svc open' makes another):");
process.exit(svc(["open", "--print", ...home], ["ignore", "inherit", "inherit"]).status ?? 1);
