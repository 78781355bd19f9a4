/** V8's code caches for the bundles that start often: each is run the way it is used, then what V8 compiled by then is kept. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

/** How each bundle is exercised. Neither reaches a daemon: the Home is empty. */
const EXERCISES = {
  cli: { args: ["send", "text", "--to", "alice", "--group", "g_000000000000", "--json"], input: "" },
  mcp: {
    args: [],
    input: [
      {
        jsonrpc: "2.0",
        id: 1,
        method: "initialize",
        params: {
          protocolVersion: "2025-11-25",
          capabilities: {},
          clientInfo: { name: "build", version: "0" },
        },
      },
      { jsonrpc: "2.0", method: "notifications/initialized" },
      { jsonrpc: "2.0", id: 2, method: "tools/list" },
      { jsonrpc: "2.0", id: 3, method: "tools/call", params: { name: "svc_bootstrap", arguments: {} } },
    ]
      .map((message) => `${JSON.stringify(message)}\n`)
      .join(""),
  },
};

/** Runs in a process of its own: the launcher's `record` keeps the scripts, whose caches are written at its end. */
const RECORDER = `
const load = require(process.argv[1]);
const { writeFileSync } = require("node:fs");
const scripts = [];
load.record = (filename, script) => scripts.push([filename, script]);
process.on("exit", () => { for (const [filename, script] of scripts) writeFileSync(filename + ".cache", script.createCachedData()); });
const name = process.argv[2];
process.argv.splice(1, 2, "svc");
const exports_ = load(name + ".cjs");
if (name === "mcp") exports_.serve();
`;

/** Writes dist/<name>.cjs.cache for each name. */
export async function writeCodeCaches(folder, names) {
  const home = mkdtempSync(join(tmpdir(), "svc-cache-"));
  try {
    for (const name of names) {
      const { args, input } = EXERCISES[name];
      const { SVC_LAUNCH_TOKEN: _token, SVC_ACTOR_FILE: _file, ...environment } = process.env;
      spawnSync(process.execPath, ["-e", RECORDER, "--", resolve(folder, "svc.cjs"), name, ...args], {
        env: { ...environment, SVC_HOME: home },
        input,
        stdio: ["pipe", "ignore", "inherit"],
      });
      statSync(join(folder, `${name}.cjs.cache`));
    }
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}
