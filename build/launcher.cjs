#!/usr/bin/env node
/**
 * Starts a bundle with the code that V8 compiled at build time (build/code-cache.mjs). Another Node version rejects that code and
 * compiles the source as usual.
 */
"use strict";
const { readFileSync } = require("node:fs");
const { join } = require("node:path");
const { Script } = require("node:vm");

const loaded = new Map();

/** A bundle's exports; `./name.cjs` inside a bundle comes here too. */
function load(name) {
  const known = loaded.get(name);
  if (known) return known.exports;
  const filename = join(__dirname, name);
  const module = { exports: {} };
  loaded.set(name, module);
  let cachedData;
  try {
    cachedData = readFileSync(`${filename}.cache`);
  } catch {}
  const source = `(function (exports, require, module, __filename, __dirname) {${readFileSync(filename, "utf8")}\n})`;
  const script = new Script(source, { filename, ...(cachedData ? { cachedData } : {}) });
  if (load.record) load.record(filename, script);
  const resolve = (id) => (id.startsWith("./") ? load(id.slice(2)) : require(id));
  script.runInThisContext()(module.exports, resolve, module, filename, __dirname);
  return module.exports;
}

if (require.main === module) {
  if (process.argv[2] === "mcp" && process.argv.length === 3) load("mcp.cjs").serve();
  else load("cli.cjs");
} else module.exports = load;
