/** The daemon's life: in the background, in this terminal, under a service manager. */
import { spawn } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { DaemonUnreachable } from "../../daemon/client/failures.ts";
import { isAlive } from "../../daemon/home/endpoint.ts";
import { homePaths } from "../../daemon/home/paths.ts";
import { DEFAULT_WEB_HOST, DEFAULT_WEB_PORT, ENVIRONMENT } from "../../shared/names.ts";
import type { ResultOf } from "../../shared/operations/registry.ts";
import { PRODUCT_VERSION } from "../../shared/version.ts";
import type { CommandContext } from "../context.ts";
import { programFile } from "../program.ts";
import { moment } from "../render.ts";

type Status = ResultOf<"daemon_status">;

/** How long a daemon may take to answer after its start, or to be gone after its stop, in seconds. */
const PATIENCE = 30;
const PROBE_MS = 25;

interface Listener {
  host: string;
  port: number;
  tls: { cert: string; key: string } | undefined;
}

/** Where and how the web listener is wanted: options, else the environment, else the defaults. */
function listener(context: CommandContext): Listener {
  const named = process.env[ENVIRONMENT.webPort];
  const port =
    context.number("port") ?? (named === undefined || named === "" ? DEFAULT_WEB_PORT : Number(named));
  if (!Number.isInteger(port) || port < 0 || port > 65535)
    throw context.usage(`${ENVIRONMENT.webPort} isn't a port.`);
  const cert = context.text("tls-cert") ?? process.env[ENVIRONMENT.tlsCert];
  const key = context.text("tls-key") ?? process.env[ENVIRONMENT.tlsKey];
  if (Boolean(cert) !== Boolean(key)) throw context.usage("A certificate and its key go together.");
  return {
    host: context.text("host") ?? (process.env[ENVIRONMENT.webHost] || DEFAULT_WEB_HOST),
    port,
    tls: cert && key ? { cert: resolve(cert), key: resolve(key) } : undefined,
  };
}

function printStatus(context: CommandContext, status: Status): void {
  context.out.fields([
    ["running", `process ${status.pid} since ${moment(status.started_at)}`],
    ["version", status.version],
    ["home", status.home],
    ["socket", status.socket],
    ["web", status.web_origin ?? "not listening"],
    ["instance", status.instance_id],
  ]);
}

/** The running daemon's status, or null when none answers. */
async function probe(context: CommandContext): Promise<Status | null> {
  try {
    return await context.client.result("daemon_status", {});
  } catch (error) {
    if (error instanceof DaemonUnreachable) return null;
    throw error;
  }
}

/** Exit 3 when no daemon runs, with what is known all the same. */
export async function status(context: CommandContext): Promise<number> {
  const found = await probe(context);
  if (found) return context.show({ ok: true, result: found }, (result) => printStatus(context, result));
  const absent = {
    running: false,
    pid: null,
    version: PRODUCT_VERSION,
    instance_id: null,
    socket: homePaths(context.home).daemon.socket,
    web_origin: null,
    home: context.home,
    started_at: null,
  };
  if (context.out.json) context.out.document({ ok: true, result: absent });
  else context.out.line(`No daemon runs for ${context.home}. Start it with 'svc daemon start'.`);
  return 3;
}

/** Starts a process that outlives this one, and answers when it does. One that runs already is fine. */
export async function start(context: CommandContext): Promise<number> {
  const running = await probe(context);
  if (running) return context.show({ ok: true, result: running }, (result) => printStatus(context, result));
  const { host, port, tls } = listener(context);
  // What the daemon says before its log is open, to be told when it ends at once.
  const folder = mkdtempSync(join(tmpdir(), "svc-start-"));
  const said = join(folder, "stderr");
  const trouble = openSync(said, "wx", 0o600);
  try {
    const child = spawn(
      process.execPath,
      [
        programFile(),
        "daemon",
        "run",
        "--home",
        context.home,
        "--host",
        host,
        "--port",
        String(port),
        ...(tls ? ["--tls-cert", tls.cert, "--tls-key", tls.key] : []),
      ],
      { detached: true, stdio: ["ignore", "ignore", trouble], cwd: "/" },
    );
    let ended: number | null = null;
    child.once("exit", (code) => {
      ended = code ?? 1;
    });
    child.once("error", () => {
      ended = 1;
    });
    child.unref();
    const deadline = Date.now() + PATIENCE * 1000;
    while (Date.now() < deadline) {
      const found = await probe(context);
      if (found) return context.show({ ok: true, result: found }, (result) => printStatus(context, result));
      if (ended !== null) break;
      await delay(PROBE_MS);
    }
    const words = readFileSync(said, "utf8").trim();
    context.out.note(
      words === ""
        ? `svc: the daemon didn't start; its log is in ${homePaths(context.home).daemon.log}`
        : words,
    );
    return 1;
  } finally {
    closeSync(trouble);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Answers when the daemon is gone. */
export async function stop(context: CommandContext): Promise<number> {
  const envelope = await context.client.call("daemon_stop", {});
  if (envelope.ok) {
    const { pid } = envelope.result;
    for (let waited = 0; waited < PATIENCE * 1000 && isAlive(pid); waited += PROBE_MS) await delay(PROBE_MS);
    if (isAlive(pid)) {
      context.out.note(
        `svc: the daemon (process ${pid}) is still ending; look at it with 'svc daemon status'`,
      );
      return 1;
    }
  }
  return context.show(envelope, ({ pid }) => context.out.line(`The daemon (process ${pid}) has ended.`));
}

/** Runs until a signal or `svc daemon stop` ends it; for service managers. */
export async function run(context: CommandContext): Promise<number> {
  const { runUntilEnded } = await import("../../daemon/main.ts");
  return ends(context, runUntilEnded({ home: context.home, ...listener(context) }));
}

/** The same for a person: says where it is, and prints a one-time link, but only to a terminal. */
export async function up(context: CommandContext): Promise<number> {
  const { out } = context;
  const { runUntilEnded } = await import("../../daemon/main.ts");
  const state = { over: false };
  const ended = ends(context, runUntilEnded({ home: context.home, ...listener(context) })).finally(() => {
    state.over = true;
  });
  let found = await probe(context);
  while (!state.over && found?.pid !== process.pid) {
    await delay(PROBE_MS);
    found = await probe(context);
  }
  if (!state.over && found) await greet(context, found);
  const code = await ended;
  if (code === 0 && !out.json) out.line("The daemon has ended.");
  return code;
}

async function greet(context: CommandContext, found: Status): Promise<void> {
  const { out } = context;
  if (out.json) {
    out.document({ ok: true, result: found });
    return;
  }
  printStatus(context, found);
  if (found.web_origin === null) out.note("svc: the web listener didn't start; 'svc doctor' says why");
  else if (out.isTerminal) {
    const { url } = await context.client.result("login_link_create", {});
    out.line();
    out.line("The Workbench (this link works once, for 5 minutes):");
    out.line(`  ${url}`);
  }
  out.line();
  out.line("Ctrl-C stops the daemon.");
}

/** Another daemon has the Home, or the Home isn't one: told without a stack. */
async function ends(context: CommandContext, running: Promise<number>): Promise<number> {
  try {
    return await running;
  } catch (error) {
    context.out.note(`svc: ${error instanceof Error ? error.message : String(error)}`);
    return 1;
  }
}
