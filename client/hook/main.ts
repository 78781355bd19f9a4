/**
 * `node hook.cjs SOCKET FILE`, and `svc hook SOCKET FILE`: what an agent's runtime runs at each of its events where there is
 * neither Perl nor curl (hook-command.ts). The request's head fields come from an owner-only file.
 */
import { readFileSync } from "node:fs";
import { serve, type Target } from "./serve.ts";

/** What the arguments name. Empty lines, and names without a value by which curl leaves a field out, aren't for the wire. */
function named(): Target {
  const [socket = "", file = ""] = process.argv.slice(-2);
  const lines = readFileSync(file, "latin1").split("\n");
  return { socket, fields: lines.filter((line) => /^[A-Za-z-]+: ./.test(line)) };
}

serve(named);
