/**
 * `node hook.cjs SOCKET FILE`, and `svc hook SOCKET FILE`: what an agent's runtime runs at each of
 * its events if there is neither Perl nor curl (hook-command.ts). The request's header fields come
 * from an owner-only file. With `decide` before them, it waits for a person's answer and prints it.
 */
import { readFileSync } from "node:fs";
import { decide, serve, type Target } from "./serve.ts";

/**
 * The contents of the files named by the arguments. Empty lines, and the names without a value that
 * tell curl to leave a field out, aren't sent.
 */
function named(): Target {
  const [socket = "", file = ""] = process.argv.slice(-2);
  const lines = readFileSync(file, "latin1").split("\n");
  return { socket, fields: lines.filter((line) => /^[A-Za-z-]+: ./.test(line)) };
}

// As in the launcher, which isn't always in between: the signal would open Node's debugger, and a
// question may wait for hours.
process.on("SIGUSR1", () => {});
if (process.argv.at(-3) === "decide") decide(named);
else serve(named);
