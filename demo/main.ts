/**
 * `svc demo`: a Home of its own, a Group, two scripted agents that really talk over MCP, and a link to watch them in a browser. The script
 * takes well under 30 seconds; then the daemon stays until Ctrl-C.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { DaemonClient } from "../daemon/client/client.ts";
import { followLedger } from "../daemon/client/events.ts";
import { DaemonUnreachable } from "../daemon/client/failures.ts";
import type { LedgerEvent } from "../shared/events.ts";
import { ENVIRONMENT } from "../shared/names.ts";
import { Agent } from "./agent.ts";
import { coder, PERSON_ASKS, PROJECT_FILES, planner } from "./script.ts";

const START_SECONDS = 20;
/** Between what the agents do, so that people can follow. */
const PAUSE_MS = 1200;

interface Screen {
  line(text?: string): void;
}

async function startDaemon(program: string, home: string, client: DaemonClient): Promise<ChildProcess> {
  const daemon = spawn(process.execPath, [program, "daemon", "run", "--home", home, "--port", "0"], {
    // A group of its own: Ctrl-C is for the demo, which then stops it in order.
    detached: true,
    stdio: ["ignore", "ignore", "inherit"],
  });
  for (
    const deadline = Date.now() + START_SECONDS * 1000;
    Date.now() < deadline && daemon.exitCode === null;
  ) {
    try {
      await client.result("daemon_status", {});
      return daemon;
    } catch (error) {
      if (!(error instanceof DaemonUnreachable)) throw error;
      await delay(25);
    }
  }
  throw new Error("The demo's daemon didn't start.");
}

function show(screen: Screen, event: LedgerEvent): void {
  if (event.kind !== "chat.message") return;
  const { to, text, message_mode } = event.data as { to: string[]; text: string; message_mode: string };
  screen.line(`  ${event.by} → ${to.join(", ")} (${message_mode}): ${text.replaceAll(/\s+/g, " ")}`);
}

/** Runs the demo. Answers the exit code; `exitWhenDone` doesn't wait for Ctrl-C. */
export async function demo(exitWhenDone: boolean, screen: Screen): Promise<number> {
  const program = realpathSync(process.argv[1] ?? "");
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "svc-demo-")));
  const home = join(folder, "home");
  const project = join(folder, "project");
  const client = new DaemonClient(home, null);
  const interrupted = new AbortController();
  const interrupt = () => interrupted.abort();
  process.once("SIGINT", interrupt).once("SIGTERM", interrupt);
  const ended = new Promise<void>((resolve) => interrupted.signal.addEventListener("abort", () => resolve()));
  const agents: Agent[] = [];
  let daemon: ChildProcess | null = null;
  try {
    mkdirSync(project);
    for (const [name, content] of Object.entries(PROJECT_FILES)) writeFileSync(join(project, name), content);
    daemon = await startDaemon(program, home, client);
    const group = await client.result("group_create", { title: "Demo: the flaky voucher test" });
    const group_id = group.group_id;
    const { scope_key } = await client.result("attach", { path: project, group_id });
    for (const [actor_id, title] of [
      ["planner", "Planner"],
      ["coder", "Coder"],
    ] as const) {
      const { token_file } = await client.result("actor_add", { group_id, actor_id, title, scope_key });
      const environment = { [ENVIRONMENT.home]: home, [ENVIRONMENT.actorFile]: token_file };
      agents.push(await Agent.start(actor_id, program, environment));
    }
    const { url } = await client.result("login_link_create", {});
    screen.line("Watch it live (the link works once, for 5 minutes):");
    screen.line(`  ${url}`);
    screen.line();

    const watching = new AbortController();
    const shown = (async () => {
      const follow = { client, groupId: group_id, after: null, signal: watching.signal };
      for await (const event of followLedger(follow)) show(screen, event);
    })();
    const pause = () => delay(exitWhenDone ? 0 : PAUSE_MS);
    const [first, second] = agents as [Agent, Agent];
    await pause();
    const talk = Promise.all([planner(first, pause), coder(second, pause)]);
    // After Ctrl-C the agents are stopped in the middle of a sentence; nobody waits for the rest of it.
    talk.catch(() => undefined);
    shown.catch(() => undefined);
    await client.result("send", {
      group_id,
      to: ["planner"],
      message_mode: "request_reply",
      text: PERSON_ASKS,
    });
    await Promise.race([talk, ended]);
    const { events } = await client.result("ledger_tail", { group_id, kinds: ["chat.message"] });
    watching.abort();
    await shown;
    if (!interrupted.signal.aborted) {
      screen.line();
      screen.line(`The agents are done: ${events.length} messages.`);
      if (!exitWhenDone) {
        screen.line("The Workbench stays open until you press Ctrl-C; then the demo's Home is removed.");
        await ended;
      }
    }
    return 0;
  } finally {
    await Promise.all(agents.map((agent) => agent.stop()));
    await stopDaemon(daemon, client);
    client.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function stopDaemon(daemon: ChildProcess | null, client: DaemonClient): Promise<void> {
  if (!daemon || daemon.exitCode !== null) return;
  const exited = new Promise((resolve) => daemon.once("exit", resolve));
  try {
    await client.result("daemon_stop", {});
  } catch {
    daemon.kill("SIGTERM");
  }
  await exited;
}
