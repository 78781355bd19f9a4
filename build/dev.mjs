/**
 * `npm run dev`: the daemon from the sources, restarted when they change, and the Workbench,
 * rebuilt when it changes. Installs what is missing. The Home is `.svc-dev` in the checkout, or
 * what SVC_HOME names. Ctrl-C ends everything.
 */
import "./node-version.cjs";
import { spawn } from "node:child_process";
import { copyFileSync, mkdirSync, readdirSync, rmSync, watch, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { alone } from "./alone.mjs";
import { PAGE_FILES, WEB_BUNDLES } from "./bundles.mjs";
import { installDependencies } from "./dependencies.mjs";
import { DEVELOPMENT_MARK, PAGE_FOLDER, PROGRAM } from "./ensure-built.mjs";
import { WEB_OPTIONS, WORKER_OPTIONS } from "./web-options.mjs";

const ROOT = join(import.meta.dirname, "..");
/** What a change in each folder makes outdated. */
const FOLDERS = {
  daemon: ["daemon", "programs"],
  "mcp-server": ["daemon", "programs"],
  platform: ["daemon", "programs"],
  client: ["daemon", "programs"],
  shared: ["workbench", "daemon", "programs"],
  webview: ["workbench"],
  cli: ["programs"],
  demo: ["programs"],
};
/** An editor that saves several files causes one restart. */
const SETTLED_MS = 100;
const POLL_MS = 200;
/** Beside those of the installed svc and its account service. */
const WEB_PORT = "8860";

process.chdir(ROOT);
alone(installDependencies);
const { context } = await import("esbuild");

/** What an agent's terminal says about that agent isn't passed on. */
function environment() {
  return {
    ...Object.fromEntries(
      Object.entries(process.env).filter(([name]) => !/^SVC_(GROUP|ACTOR|LAUNCH)_/.test(name)),
    ),
    SVC_HOME: process.env.SVC_HOME || join(ROOT, ".svc-dev"),
    SVC_WEB_PORT: process.env.SVC_WEB_PORT || WEB_PORT,
  };
}

const state = { isEnding: false };
let daemon = null;

const say = (text) => console.log(`dev: ${text}`);
const since = (begin) => `${((performance.now() - begin) / 1000).toFixed(2)} s`;

/**
 * Resolves with exit code and output. The process has a group of its own: Ctrl-C reaches only this
 * one, which waits for it.
 */
function run(args, stdout) {
  const child = spawn(process.execPath, args, {
    env: environment(),
    stdio: ["ignore", stdout, stdout === "pipe" ? "ignore" : "inherit"],
    detached: true,
  });
  let output = "";
  child.stdout?.on("data", (chunk) => (output += chunk));
  return new Promise((resolve) => child.once("close", (code) => resolve({ code, output })));
}

/**
 * The programs that agents and people start: the command line, the MCP server, hooks. They run from
 * dist.
 */
async function buildPrograms() {
  const { code } = await run(["esbuild.mjs", "node"], "ignore");
  if (code !== 0) say("the programs in dist are those of the last build that worked");
}

/** Nothing compressed, since the daemon would serve that first. */
async function workbench() {
  rmSync(PAGE_FOLDER, { recursive: true, force: true });
  mkdirSync(PAGE_FOLDER, { recursive: true });
  writeFileSync(DEVELOPMENT_MARK, "");
  const builder = await context({ ...WEB_OPTIONS, outdir: PAGE_FOLDER, sourcemap: "linked" });
  const worker = await context({ ...WORKER_OPTIONS, outdir: PAGE_FOLDER });
  return async () => {
    const begin = performance.now();
    try {
      await Promise.all([builder.rebuild(), worker.rebuild()]);
      for (const { page } of WEB_BUNDLES) copyFileSync(page, join(PAGE_FOLDER, "index.html"));
      for (const file of PAGE_FILES) copyFileSync(file, join(PAGE_FOLDER, basename(file)));
      say(`Workbench built in ${since(begin)}; reload the page`);
    } catch {
      // esbuild has printed why.
      say("the Workbench is that of the last build that worked");
    }
  };
}

function startDaemon() {
  const child = spawn(process.execPath, ["--enable-source-maps", "--import=tsx", "daemon/main.ts"], {
    env: environment(),
    stdio: ["ignore", "inherit", "inherit"],
    detached: true,
  });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const started = { child, ended, isWanted: true, hasEnded: false };
  void ended.then((code) => {
    started.hasEnded = true;
    if (started.isWanted) say(`the daemon ended (${code}); it starts again when a source changes`);
  });
  daemon = started;
}

async function stopDaemon() {
  daemon.isWanted = false;
  daemon.child.kill("SIGTERM");
  await daemon.ended;
}

/** What `svc ARGS` prints once the daemon answers; null when it ended instead. */
async function answer(...args) {
  while (!state.isEnding && !daemon.hasEnded) {
    const { code, output } = await run([PROGRAM, ...args], "pipe");
    if (code === 0) return output;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  return null;
}

async function restartDaemon() {
  const begin = performance.now();
  await stopDaemon();
  if (state.isEnding) return;
  startDaemon();
  if ((await answer("daemon", "status")) !== null) say(`daemon restarted in ${since(begin)}`);
}

/**
 * Calls `changed` with the name of the folder in which a file changed. New folders are watched too.
 */
function watchFolder(folder, changed) {
  const watched = new Set();
  const look = () => {
    const below = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
      entry.isDirectory(),
    );
    for (const path of [folder, ...below.map((entry) => join(entry.parentPath, entry.name))]) {
      if (watched.has(path)) continue;
      watched.add(path);
      const watcher = watch(path, () => {
        look();
        changed(folder);
      });
      watcher.on("error", () => {
        // The folder is gone.
        watched.delete(path);
        watcher.close();
      });
    }
  };
  look();
}

const rebuildWorkbench = await workbench();
const steps = { workbench: rebuildWorkbench, daemon: restartDaemon, programs: buildPrograms };

const old = new Set();
let timer;
let work = Promise.resolve();

async function renew() {
  const names = Object.keys(steps).filter((name) => old.has(name));
  old.clear();
  for (const name of names) if (!state.isEnding) await steps[name]();
}

async function end() {
  if (state.isEnding) {
    daemon?.child.kill("SIGKILL");
    process.exit(1);
  }
  state.isEnding = true;
  clearTimeout(timer);
  await work;
  if (daemon !== null) await stopDaemon();
  process.exit(0);
}
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => void end());

async function begin() {
  await Promise.all([buildPrograms(), rebuildWorkbench()]);
  if (state.isEnding) return;
  for (const folder of Object.keys(FOLDERS))
    watchFolder(folder, (name) => {
      for (const step of FOLDERS[name]) old.add(step);
      clearTimeout(timer);
      if (!state.isEnding) timer = setTimeout(() => (work = work.then(renew)), SETTLED_MS);
    });
  startDaemon();
  const link = await answer("open", "--print");
  if (link !== null)
    say(
      `the Workbench (this link works once, for 5 minutes; 'svc open' with SVC_HOME makes another):\n${link.trim()}`,
    );
}
work = begin();
