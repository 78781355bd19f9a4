/** The daemon's life: in the background, in this terminal, under a service manager. */
import { spawn } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { DaemonUnreachable } from "../../client/failures.ts";
import { homePaths } from "../../client/paths.ts";
import { isAlive } from "../../client/process-state.ts";
import { Refusal } from "../../shared/errors.ts";
import { LIMITS } from "../../shared/limits.ts";
import { DEFAULT_WEB_HOST, DEFAULT_WEB_PORT, ENVIRONMENT } from "../../shared/names.ts";
import type { ResultOf } from "../../shared/operations/registry.ts";
import { PRODUCT_VERSION } from "../../shared/version.ts";
import { quoted, shownId } from "../../shared/voice.ts";
import { agreed } from "../consent.ts";
import type { CommandContext } from "../context.ts";
import { programFile } from "../program.ts";
import { moment } from "../render.ts";

type Status = ResultOf<"daemon_status">;

/**
 * How long a daemon may take to answer after its start, or to end after it was told to stop, in
 * seconds.
 */
const PATIENCE = 30;
const PROBE_MS = 25;

interface Listener {
  host: string;
  port: number;
  tls: { cert: string; key: string } | undefined;
}

/**
 * The wanted address of the web listener: from options, then the environment, then the defaults.
 */
function listener(context: CommandContext): Listener {
  const named = process.env[ENVIRONMENT.webPort];
  const port =
    context.number("port") ?? (named === undefined || named === "" ? DEFAULT_WEB_PORT : Number(named));
  if (!Number.isInteger(port) || port < 0 || port > 65535)
    throw context.usage(`${ENVIRONMENT.webPort} isn't a port.`);
  const cert = context.text("tls-cert") ?? process.env[ENVIRONMENT.tlsCert];
  const key = context.text("tls-key") ?? process.env[ENVIRONMENT.tlsKey];
  if (Boolean(cert) !== Boolean(key)) throw context.usage("Give both a certificate and its key.");
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
    ["web", status.web_origin ?? context.suggested("not listening; 'svc doctor' says why")],
    ["instance", status.instance_id],
  ]);
}

/** Says who joined the account since a person last looked, if this caller may know. */
async function tellJoined(context: CommandContext): Promise<void> {
  const shown = await context.client.call("account_show", {});
  if (!shown.ok || shown.result.joined.length === 0) return;
  const { printJoined } = await import("./account.ts");
  printJoined(context, shown.result);
}

/**
 * The running daemon's status, or null if there is none. Throws DaemonUnreachable if one may be
 * there that wasn't reached.
 */
async function probe(context: CommandContext): Promise<Status | null> {
  try {
    return await context.client.result("daemon_status", {}, { answerSeconds: LIMITS.client.statusSeconds });
  } catch (error) {
    if (error instanceof DaemonUnreachable && !error.mayRun) return null;
    throw error;
  }
}

/** The same for a daemon that is starting. On a busy machine that may take a while. */
async function probeStarting(context: CommandContext): Promise<Status | null> {
  try {
    return await probe(context);
  } catch (error) {
    if (error instanceof DaemonUnreachable) return null;
    throw error;
  }
}

/** Exits with 3 if no daemon runs, but still prints what is known. */
export async function status(context: CommandContext): Promise<number> {
  const found = await probe(context);
  if (found) {
    const code = context.show({ ok: true, result: found }, (result) => printStatus(context, result));
    if (!context.out.json) await tellJoined(context);
    return code;
  }
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
  else
    context.out.line(
      `No daemon is running for ${context.home}. Start it with: ${context.command("daemon", "start")}`,
    );
  return 3;
}

/**
 * Of a daemon that outlives what started it. If an agent starts one, ending the agent's launch must
 * not end the daemon; and a debugger that was wanted for the starter opens none in the daemon.
 */
function ofItsOwn({
  [ENVIRONMENT.launchMark]: _mark,
  VSCODE_INSPECTOR_OPTIONS: _inspector,
  NODE_OPTIONS: options = "",
  ...rest
}: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const kept = options.replaceAll(/(?<=^|\s)"?--(?:inspect|debug[-_]port)\S*/gu, "").trim();
  return kept === "" ? rest : { ...rest, NODE_OPTIONS: kept };
}

/**
 * Starts a process that outlives this one, and returns once it answers. It is fine if one already
 * runs.
 */
export async function start(context: CommandContext): Promise<number> {
  const running = await probe(context);
  if (running) {
    compare(context, running);
    return context.show({ ok: true, result: running }, (result) => printStatus(context, result));
  }
  const { host, port, tls } = listener(context);
  // What the daemon prints before its log is open. It is shown if the daemon ends at once.
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
      { detached: true, stdio: ["ignore", "ignore", trouble], cwd: "/", env: ofItsOwn(process.env) },
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
      const found = await probeStarting(context);
      if (found?.web_origin === null) return await withoutWorkbench(context, found.pid);
      if (found) return context.show({ ok: true, result: found }, (result) => printStatus(context, result));
      if (ended !== null) break;
      await delay(PROBE_MS);
    }
    const words = readFileSync(said, "utf8").trim();
    throw notStarted(words.replace(/^svc: /u, "") || `See ${homePaths(context.home).daemon.log}`);
  } finally {
    closeSync(trouble);
    rmSync(folder, { recursive: true, force: true });
  }
}

function notStarted(remedy: string): Refusal {
  return new Refusal("conflict", { specifics: "The daemon didn't start.", remedy });
}

/**
 * If the wanted listener differs from the running daemon's, says so and how to change it. Throws
 * Refusal.
 */
function compare(context: CommandContext, { web_origin: webOrigin }: Status): void {
  const port = context.number("port");
  const host = context.text("host");
  const wantsTls = context.text("tls-cert") !== undefined;
  const origin = webOrigin === null ? null : new URL(webOrigin);
  const isSecure = origin?.protocol === "https:";
  const has = origin === null ? null : Number(origin.port || (isSecure ? 443 : 80));
  const isOther =
    (port !== undefined && port !== 0 && port !== has) ||
    (host !== undefined && !isWildcard(host) && host !== origin?.hostname.replace(/^\[|\]$/gu, "")) ||
    (wantsTls && !isSecure);
  const where = webOrigin === null ? "without a Web listener" : `on ${webOrigin}`;
  const options = (["host", "port", "tls-cert", "tls-key"] as const).flatMap((name) => {
    const value = context.text(name);
    return value === undefined ? [] : [`--${name}`, value];
  });
  const again = [context.command("daemon", "stop"), context.command("daemon", "start", ...options)];
  const remedy = `To change that, run: ${again.join(" && ")}`;
  if (isOther)
    throw new Refusal("conflict", {
      specifics: `The daemon is already running ${where}.`,
      remedy,
      details: { web_origin: webOrigin },
    });
  if (options.length > 0) context.out.note(`svc: the daemon is already running ${where}. ${remedy}`);
}

/** Addresses that mean the whole machine. The origin doesn't show them. */
function isWildcard(host: string): boolean {
  return host === "0.0.0.0" || host === "::";
}

/**
 * The daemon started but its Web listener didn't. Stops the daemon, so that the next start may use
 * another port. Throws Refusal.
 */
async function withoutWorkbench(context: CommandContext, pid: number): Promise<never> {
  const { checks } = await context.client.result("health", {});
  const why = checks.find(({ code }) => code === "web_listener");
  const { text, remedy } = why ?? { text: "The Web listener didn't start.", remedy: "" };
  await context.client.call("daemon_stop", {});
  if (pid !== process.pid) await gone(pid);
  throw notStarted(`${text} ${remedy}`.trimEnd());
}

/** Whether the process ends in time. */
async function gone(pid: number): Promise<boolean> {
  for (let waited = 0; waited < PATIENCE * 1000 && isAlive(pid); waited += PROBE_MS) await delay(PROBE_MS);
  return !isAlive(pid);
}

/** Who is in a turn now, by Group. None if the daemon doesn't say. */
async function workingActors({ client }: CommandContext): Promise<string[]> {
  const envelope = await client.call("group_list", {});
  const working: string[] = [];
  for (const { group_id: groupId, title } of envelope.ok ? envelope.result.groups : []) {
    const list = await client.call("actor_list", { group_id: groupId });
    const actors = list.ok ? list.result.actors : [];
    const busy = actors.filter(
      ({ runner, presence: { state } }) => runner === "pty" && (state === "working" || state === "waiting"),
    );
    if (busy.length > 0) working.push(`${busy.map(({ id }) => shownId(id)).join(", ")} (${quoted(title)})`);
  }
  return working;
}

/**
 * Returns once the daemon is gone. Says first whose work that interrupts, and asks at a terminal.
 */
export async function stop(context: CommandContext): Promise<number> {
  const working = await workingActors(context);
  if (working.length > 0) {
    context.out.note(`svc: working now: ${working.join("; ")}. This interrupts them.`);
    if (!(await agreed(context, "Stop the daemon?"))) return 1;
  }
  const envelope = await context.client.call("daemon_stop", {});
  if (envelope.ok) {
    const { pid } = envelope.result;
    if (!(await gone(pid))) {
      context.out.note(
        `svc: the daemon (process ${pid}) is still stopping. Check it with: ${context.command("daemon", "status")}`,
      );
      return 1;
    }
  }
  return context.show(envelope, ({ pid }) => context.out.line(`The daemon (process ${pid}) has stopped.`));
}

/** Runs until a signal or `svc daemon stop` ends it. For service managers. */
export async function run(context: CommandContext): Promise<number> {
  const { runUntilEnded } = await import("../../daemon/main.ts");
  return ends(context, runUntilEnded({ home: context.home, ...listener(context) }));
}

/** The same for a person: prints where it is, and a one-time link, but only to a terminal. */
export async function up(context: CommandContext): Promise<number> {
  const { out } = context;
  const { runUntilEnded } = await import("../../daemon/main.ts");
  const state = { over: false };
  const ended = ends(context, runUntilEnded({ home: context.home, ...listener(context) })).finally(() => {
    state.over = true;
  });
  let found = await probeStarting(context);
  while (!state.over && found?.pid !== process.pid) {
    await delay(PROBE_MS);
    found = await probeStarting(context);
  }
  if (!state.over && found?.web_origin === null) {
    try {
      await withoutWorkbench(context, found.pid);
    } finally {
      await ended;
    }
  }
  if (!state.over && found) await greet(context, found);
  const code = await ended;
  if (code === 0 && !out.json) out.line("The daemon has stopped.");
  return code;
}

async function greet(context: CommandContext, found: Status): Promise<void> {
  const { out } = context;
  if (out.json) {
    out.document({ ok: true, result: found });
    return;
  }
  printStatus(context, found);
  if (out.isTerminal) {
    const { url } = await context.client.result("login_link_create", {});
    out.line();
    out.line("The Workbench (this link works once, within 5 minutes):");
    out.line(`  ${url}`);
  }
  out.line();
  out.line("Ctrl-C stops the daemon.");
}

/** Another daemon has the Home, or it isn't a Home. The error is shown without a stack. */
async function ends(context: CommandContext, running: Promise<number>): Promise<number> {
  try {
    return await running;
  } catch (error) {
    context.out.note(`svc: ${error instanceof Error ? error.message : String(error)}`);
    return 1;
  }
}
