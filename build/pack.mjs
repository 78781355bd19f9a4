/**
 * Packs bundles: one file with the source and the code that V8 compiled of it while the bundle did what it usually does.
 * Layout: the source's length in bytes (uint32, little endian), the source (ASCII), V8's cached data.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const HEAD = "(function (exports, require, module, __filename, __dirname) {";
const TAIL = "\n})";

/** How each bundle is exercised and with which code it ends. None reaches a running daemon: the Home is empty. */
const EXERCISES = {
  cli: { args: ["send", "text", "--to", "alice", "--group", "g_000000000000", "--json"], input: "", ends: 3 },
  daemon: { args: [], input: "", ends: 0 },
  mcp: {
    args: [],
    ends: 0,
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

/** Runs in a process of its own: the launcher's `record` hands over the script, whose cache is written at its end. */
const RECORDER = `
const load = require(process.argv[1]);
const { writeFileSync } = require("node:fs");
load.record = (filename, script) => process.on("exit", () => writeFileSync(filename + ".cache", script.createCachedData()));
const name = process.argv[2];
process.argv.splice(1, 2, "svc");
const exported = load(name);
if (name === "mcp") exported.serve();
if (name === "daemon")
  exported.runDaemon({ home: process.env.SVC_HOME + "/daemon", host: "127.0.0.1", port: 0 }).then((daemon) => daemon.stop()).then(() => process.exit(0), () => process.exit(1));
`;

/** Packs folder/<name>.cjs into folder/<name>.bundle for each name. The folder holds the launcher as svc.cjs. */
export function packBundles(folder, names) {
  const home = mkdtempSync(join(tmpdir(), "svc-pack-"));
  const { SVC_LAUNCH_TOKEN: _token, SVC_ACTOR_FILE: _file, ...environment } = process.env;
  try {
    for (const name of names) {
      const packed = join(folder, `${name}.bundle`);
      const source = readFileSync(join(folder, `${name}.cjs`), "utf8").replace(/^#!.*/, "");
      const bytes = Buffer.from(HEAD + source + TAIL, "latin1");
      if (bytes.toString("latin1") !== HEAD + source + TAIL) throw new Error(`${name} isn't ASCII`);
      const length = Buffer.alloc(4);
      length.writeUInt32LE(bytes.length);
      writeFileSync(packed, Buffer.concat([length, bytes]));
      const { args, input, ends } = EXERCISES[name];
      const { status } = spawnSync(
        process.execPath,
        ["-e", RECORDER, "--", resolve(folder, "svc.cjs"), name, ...args],
        {
          env: { ...environment, SVC_HOME: home },
          input,
          stdio: ["pipe", "ignore", "ignore"],
        },
      );
      if (status !== ends) throw new Error(`${name} ended with ${status} instead of ${ends}`);
      if (statSync(`${packed}.cache`).size === 0) throw new Error(`${name} gave no code cache`);
      writeFileSync(packed, Buffer.concat([length, bytes, readFileSync(`${packed}.cache`)]));
    }
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}
