/**
 * Starts the command line or the MCP server.
 * The build prepends build/node-version.cjs, so an old Node must be able to read this file as well.
 */
"use strict";
const nodeModule = require("node:module");
const { homedir } = require("node:os");
const { join } = require("node:path");

// Node answers SIGUSR1, which any process of this user may send, by opening its debugger. A
// listener takes the signal instead.
process.on("SIGUSR1", () => {});
// The same when an editor or a shell has asked every Node for a debugger (NODE_OPTIONS). Who debugs
// svc itself says so on its command line.
if (/--inspect/.test(process.env.NODE_OPTIONS || "") && !process.execArgv.some((word) => word.startsWith("--inspect"))) {
  const inspector = require("node:inspector");
  if (inspector.url() !== undefined) inspector.close();
}

const [, , command, ...rest] = process.argv;
if (command === "hook" && rest.length === 2) {
  // A runtime waits for its hook: nothing else is loaded for it.
  require(join(__dirname, "hook.cjs"));
} else {
  // Node 22 and newer keep the code that they compiled. It is run as it is found: only this account
  // may write there.
  if (nodeModule.enableCompileCache)
    nodeModule.enableCompileCache(join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "svc", "compiled"));
  // A daemon's log names files and lines of the sources. A command starts faster without reading
  // the maps.
  if (command === "up" || (command === "daemon" && rest[0] === "run")) process.setSourceMapsEnabled(true);
  if (command === "mcp" && rest.length === 0) require(join(__dirname, "mcp.cjs")).serve();
  else require(join(__dirname, "cli.cjs"));
}
