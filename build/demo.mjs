/**
 * `npm run demo`: installs and builds what is missing, then `svc demo`. With --workbench it runs
 * test/browser/workbench-demo.ts instead, which needs a browser.
 */
import "./node-version.cjs";
import { spawn } from "node:child_process";
import { ensureBuilt, PROGRAM } from "./ensure-built.mjs";
import { requireCommands } from "./prerequisites.mjs";

const args = process.argv.slice(2);
ensureBuilt();
const isWorkbench = args[0] === "--workbench";
if (isWorkbench) requireCommands({ chromium: "chromium", openssl: "openssl" });
const program = isWorkbench
  ? ["--import=tsx", "test/browser/workbench-demo.ts", ...args.slice(1)]
  : [PROGRAM, "demo", ...args];
const demo = spawn(process.execPath, program, { stdio: "inherit" });
// Ctrl-C reaches the demo as well; it ends in order and this process with it.
process.on("SIGINT", () => undefined);
demo.once("exit", (code) => process.exit(code ?? 1));
