/**
 * A demo's session: a folder of its own, daemons in it, and an end in order on Ctrl-C. Whatever
 * else ends the demo, its daemons end with it and the folder goes.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { DaemonClient } from "../client/client.ts";
import { DaemonUnreachable } from "../client/failures.ts";
import type { LedgerEvent } from "../shared/events.ts";
import { ENVIRONMENT } from "../shared/names.ts";
import { Agent } from "./agent.ts";
import { Service } from "./service.ts";

const START_SECONDS = 20;
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
/** The exit code after a second Ctrl-C (docs/cli.md). */
const INTERRUPTED = 130;

export interface Screen {
  line(text?: string): void;
}

/** Where a daemon's Web listener is, when it isn't any free port of loopback. */
export interface Door {
  port: number;
  environment: Readonly<Record<string, string>>;
}

/** A Home with its daemon, one Group and its agents. */
export class Home {
  readonly path: string;
  readonly project: string;
  readonly client: DaemonClient;
  readonly #program: string;
  readonly #door: Door;
  readonly #agents: Agent[] = [];
  #daemon: ChildProcess | null = null;
  group_id = "";
  #scopeKey = "";

  constructor(program: string, folder: string, door: Door = { port: 0, environment: {} }) {
    this.#program = program;
    this.#door = door;
    this.path = join(folder, "home");
    this.project = join(folder, "project");
    this.client = new DaemonClient(this.path, null);
  }

  /** Starts the daemon and makes the Group with its project's files. */
  async open(title: string, files: Readonly<Record<string, string>>): Promise<void> {
    mkdirSync(this.project, { recursive: true });
    for (const [name, content] of Object.entries(files)) writeFileSync(join(this.project, name), content);
    await this.#start();
    this.group_id = (await this.client.result("group_create", { title })).group_id;
    const { group_id: groupId } = this;
    this.#scopeKey = (
      await this.client.result("attach", { path: this.project, group_id: groupId })
    ).scope_key;
  }

  /** Adds an Actor and starts its MCP server. */
  async agent(actorId: string, title: string): Promise<Agent> {
    const { group_id: groupId } = this;
    const added = { group_id: groupId, actor_id: actorId, title, scope_key: this.#scopeKey };
    const { token_file: tokenFile } = await this.client.result("actor_add", added);
    const environment = { [ENVIRONMENT.home]: this.path, [ENVIRONMENT.actorFile]: tokenFile };
    const agent = await Agent.start(actorId, this.#program, environment);
    this.#agents.push(agent);
    return agent;
  }

  /** A one-time link to its Workbench. */
  async link(): Promise<string> {
    return (await this.client.result("login_link_create", {})).url;
  }

  /** Whether somebody has a stream of it, as every open Workbench does. Its agents have none. */
  async isWatched(signal: AbortSignal): Promise<boolean> {
    const answer = await this.client.open("/metrics", {}, { signal });
    const parts: Buffer[] = [];
    for await (const part of answer) parts.push(part as Buffer);
    return /^svc_streams [1-9]/mu.test(Buffer.concat(parts).toString("utf8"));
  }

  async close(): Promise<void> {
    await Promise.all(this.#agents.map((agent) => agent.stop()));
    await this.#stop();
    this.client.close();
  }

  async #start(): Promise<void> {
    const { port, environment } = this.#door;
    const args = [this.#program, "daemon", "run", "--home", this.path, "--port", String(port)];
    const daemon = spawn(process.execPath, args, {
      env: { ...process.env, ...environment },
      // A group of its own: Ctrl-C is for the demo, which then stops it in order.
      detached: true,
      stdio: ["ignore", "ignore", "inherit"],
    });
    this.#daemon = daemon;
    for (const deadline = Date.now() + START_SECONDS * 1000; Date.now() < deadline && isRunning(daemon); ) {
      try {
        await this.client.result("daemon_status", {});
        return;
      } catch (error) {
        if (!(error instanceof DaemonUnreachable)) throw error;
        await delay(25);
      }
    }
    throw new Error("The demo's daemon didn't start.");
  }

  async #stop(): Promise<void> {
    const daemon = this.#daemon;
    if (daemon === null || !isRunning(daemon)) return;
    const exited = new Promise((resolve) => daemon.once("exit", resolve));
    try {
      await this.client.result("daemon_stop", {});
    } catch (error) {
      // It is frozen or about to end. Nothing in a demo's Home is worth waiting for.
      daemon.kill(error instanceof DaemonUnreachable ? "SIGKILL" : "SIGTERM");
    }
    await exited;
  }

  /** Ends the daemon and what it started, at once. */
  kill(): void {
    const daemon = this.#daemon;
    if (daemon?.pid !== undefined && isRunning(daemon)) process.kill(-daemon.pid, "SIGKILL");
  }
}

function isRunning({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null;
}

export interface DemoSession {
  /** A new Home below the demo's folder. */
  home: (name: string, door?: Door) => Home;
  /** An account service in the demo's folder. */
  service: () => Service;
  /** Aborted by Ctrl-C; `ended` resolves then. */
  interrupted: AbortSignal;
  ended: Promise<void>;
}

/**
 * Runs `play` in a session and clears it away afterwards, whatever happened. The daemons run
 * `program`, which is the one that runs here if nothing else is said.
 */
export async function inSession<Result>(
  play: (session: DemoSession) => Promise<Result>,
  program = realpathSync(process.argv[1] ?? ""),
): Promise<Result> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "svc-demo-")));
  const controller = new AbortController();
  const { signal: interrupted } = controller;
  const ended = new Promise<void>((resolve) => interrupted.addEventListener("abort", () => resolve()));
  const parts: (Home | Service)[] = [];
  const added = <Part extends Home | Service>(part: Part): Part => {
    parts.push(part);
    return part;
  };
  const home = (name: string, door?: Door): Home => added(new Home(program, join(folder, name), door));
  const service = (): Service => added(new Service(program, join(folder, "account")));
  // Whoever presses Ctrl-C again doesn't want to wait.
  const interrupt = () => (interrupted.aborted ? process.exit(INTERRUPTED) : controller.abort());
  // Also when the reader of the output stops, as in `svc demo | head`.
  const abandon = () => {
    for (const part of parts) part.kill();
    // What is being killed may still write for a moment.
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  };
  process.once("exit", abandon);
  for (const signal of SIGNALS) process.on(signal, interrupt);
  try {
    return await play({ home, service, interrupted, ended });
  } finally {
    await Promise.all(parts.map((part) => part.close()));
    rmSync(folder, { recursive: true, force: true });
    process.off("exit", abandon);
    for (const signal of SIGNALS) process.off(signal, interrupt);
  }
}

/** A message of a ledger as one line; null for everything else. */
export function messageLine({ kind, by, data }: LedgerEvent): string | null {
  if (kind !== "chat.message") return null;
  const { to, text, message_mode: messageMode } = data;
  return `${by} → ${to.join(", ")} (${messageMode}): ${text.replaceAll(/\s+/g, " ")}`;
}
