#!/usr/bin/env node
/**
 * Starts the command line or the MCP server, and loads packed bundles. A packed bundle (build/pack.mjs) is one file with the source and the code that V8 compiled
 * of it at build time, so that the two always belong together; another Node version rejects that code and compiles the source as usual.
 */
"use strict";
const { readFileSync } = require("node:fs");
const { join } = require("node:path");
const { Script } = require("node:vm");

/** A packed bundle's exports. */
function load(name) {
  const filename = join(__dirname, `${name}.bundle`);
  const packed = readFileSync(filename);
  const end = 4 + packed.readUInt32LE(0);
  const source = packed.latin1Slice(4, end);
  const cachedData = end < packed.length ? packed.subarray(end) : undefined;
  const script = new Script(source, { filename: `${filename}.js`, ...(cachedData ? { cachedData } : {}) });
  if (load.record) load.record(filename, script);
  const module = { exports: {} };
  script.runInThisContext()(module.exports, resolve, module, filename, __dirname);
  return module.exports;
}

/** Bundles know each other by these names. */
function resolve(id) {
  return id === "./mcp.cjs" || id === "./cli.cjs" ? load(id.slice(2, -4)) : require(id);
}

module.exports = load;
if (require.main === module) {
  // A runtime waits for its hook: nothing else is loaded for it.
  if (process.argv[2] === "hook" && process.argv.length === 5) require(join(__dirname, "hook.cjs"));
  else if (process.argv[2] === "mcp" && process.argv.length === 3) load("mcp").serve();
  else load("cli");
}
