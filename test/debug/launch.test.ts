/**
 * Each configuration of .vscode/launch.json, run as an editor runs it: a breakpoint in a source is
 * hit.
 */
import assert from "node:assert/strict";
import { execSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, extname, join, resolve } from "node:path";
import { ENVIRONMENT } from "../../shared/names.ts";
import { plainEnvironment } from "../support/daemon-process.ts";
import { type Place, stopsAt } from "./inspector.ts";

const ROOT = resolve(import.meta.dirname, "../..");

interface Configuration {
  name: string;
  type: string;
  runtimeArgs?: string[];
  /** Absent for an extension, which an editor loads. */
  program?: string;
  args: string[] | string;
  cwd?: string;
  env?: Record<string, string>;
  outFiles?: string[];
  preLaunchTask: string;
}

interface Target extends Place {
  /** In place of what the editor asks for. */
  asked?: string[];
}

/** The line of the source that has `text`. */
function place(path: string, text: string): Place {
  const file = join(ROOT, path);
  const at = readFileSync(file, "utf8")
    .split("\n")
    .findIndex((line) => line.includes(text));
  assert.notEqual(at, -1, `${path} has no '${text}'`);
  return { file, line: at + 1 };
}

const read = (path: string): unknown => JSON.parse(readFileSync(join(ROOT, ".vscode", path), "utf8"));

describe("breakpoints", function () {
  const TEST_FILE = "test/platform/mutex.test.ts";
  const { configurations } = read("launch.json") as { configurations: Configuration[] };
  const { tasks } = read("tasks.json") as { tasks: { label: string }[] };
  const targets: Record<string, Target> = {
    daemon: place("daemon/main.ts", "const running = await runDaemon(options)"),
    "command line": { ...place("cli/commands/version.ts", "PRODUCT_VERSION}`"), asked: ["--version"] },
    "MCP server": place("mcp-server/main.ts", "const session = new ActorSession(home, findActor)"),
    extension: place("extension/contributions/contribution.ts", "export const ONLINE"),
    "this test file": place(TEST_FILE, "const mutex = new Mutex()"),
  };
  let folder: string;

  before(() => {
    folder = mkdtempSync(join(tmpdir(), "svc-debug-"));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  it("are tried in every configuration that .vscode/launch.json has", () => {
    assert.deepEqual(configurations.map(({ name }) => name).sort(), Object.keys(targets).sort());
    for (const { preLaunchTask } of configurations)
      assert.ok(
        tasks.some(({ label }) => label === preLaunchTask),
        preLaunchTask,
      );
  });

  for (const configuration of configurations) {
    const { name, cwd, env = {}, outFiles } = configuration;
    it(`are hit by '${name}'`, async () => {
      const { asked = [], ...target } = targets[name]!;
      // Another Home than a developer's own.
      const filled = (text: string): string =>
        text
          .replace("${workspaceFolder}/.svc-dev", folder)
          .replace("${workspaceFolder}", ROOT)
          .replace("${file}", join(ROOT, TEST_FILE));
      const {
        runtimeArgs = [],
        program,
        args,
      } = configuration.program ? configuration : asExtensionHost(configuration, filled, folder);
      assert.ok(existsSync(filled(program!)), program);
      const commandArguments = Array.isArray(args) ? args.map(filled) : asked;
      const named = Object.entries(env).map(([key, value]) => [key, filled(value)] as const);
      const isHit = await stopsAt(target, [...runtimeArgs, filled(program!), ...commandArguments], {
        cwd: filled(cwd ?? "${workspaceFolder}"),
        env: { ...plainEnvironment(), [ENVIRONMENT.webPort]: "0", ...Object.fromEntries(named) },
        outputs: (outFiles ?? []).flatMap((glob) => built(filled(glob))),
      });
      assert.ok(isHit, `the program ended before it came to ${target.file}:${target.line}`);
    });
  }
});

/** Loads the extension as an editor does: by its manifest, with a module `vscode`. */
function asExtensionHost(
  { type, args, preLaunchTask }: Configuration,
  filled: (text: string) => string,
  folder: string,
): Pick<Configuration, "runtimeArgs" | "program" | "args"> {
  assert.equal(type, "extensionHost");
  const { tasks } = read("tasks.json") as { tasks: { label: string; command: string }[] };
  const { command } = tasks.find(({ label }) => label === preLaunchTask)!;
  // The suite has built already.
  const [, prepare] = command.split(" && ");
  execSync(prepare!, { cwd: ROOT, stdio: "ignore" });
  const option = "--extensionDevelopmentPath=";
  const place = filled((args as string[]).find((one) => one.startsWith(option))!.slice(option.length));
  const { main } = JSON.parse(readFileSync(join(place, "package.json"), "utf8")) as { main: string };
  const module = join(folder, "node_modules/vscode");
  mkdirSync(module, { recursive: true });
  writeFileSync(join(module, "index.js"), "");
  const load = join(folder, "load.cjs");
  writeFileSync(
    load,
    `const { createRequire, Module } = require("node:module");
const load = Module._load;
Module._load = (name, ...rest) => load(name === "vscode" ? ${JSON.stringify(module)} : name, ...rest);
createRequire(${JSON.stringify(`${place}/`)})(${JSON.stringify(main)});
`,
  );
  return { runtimeArgs: ["--enable-source-maps"], program: load, args: [] };
}

/** The files with a map that a glob `FOLDER/*.EXTENSION` names. */
function built(glob: string): string[] {
  const [folder, extension] = [dirname(glob), extname(glob)];
  const names = readdirSync(folder).filter((name) => extname(name) === extension);
  return names.map((name) => join(folder, name)).filter((file) => existsSync(`${file}.map`));
}
