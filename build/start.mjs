/**
 * `npm start`: installs and builds what is missing, starts the daemon, prints a one-time link to
 * the Workbench. Arguments go to `svc daemon start`.
 */
import "./node-version.cjs";
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
const opened = svc(["open", "--print", ...home], ["ignore", "pipe", "inherit"]);
if (opened.status !== 0) process.exit(opened.status ?? 1);
const again = ["npx", "svc", "open", ...home].join(" ");
console.log(`\nThe Workbench (this link works once, for 5 minutes; '${again}' makes another):`);
process.stdout.write(opened.stdout);
