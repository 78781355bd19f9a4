/** `npm run demo`: installs and builds what is missing, then `svc demo`. */
import "./node-version.cjs";
import { spawn } from "node:child_process";
import { ensureBuilt, PROGRAM } from "./ensure-built.mjs";

ensureBuilt();
const demo = spawn(process.execPath, [PROGRAM, "demo", ...process.argv.slice(2)], { stdio: "inherit" });
// Ctrl-C reaches the demo as well; it ends in order and this process with it.
process.on("SIGINT", () => undefined);
demo.once("exit", (code) => process.exit(code ?? 1));
