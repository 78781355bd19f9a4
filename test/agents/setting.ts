/**
 * The real Claude Code and the real Codex as Actors of a real daemon, offline: their model is a
 * script on loopback.
 */

import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import type { DaemonClient } from "../../client/client.ts";
import type { LedgerEvent } from "../../shared/events.ts";
import type { InputOf } from "../../shared/operations/registry.ts";
import { DaemonProcess } from "../support/daemon-process.ts";
import { until } from "../support/until.ts";
import { ModelServer } from "./model-server.ts";

/** Whatever a machine with two busy cores may take. */
export const PATIENCE = 60_000;
const SETTLED_MS = 1500;

/** Nothing outside is looked up: whatever isn't on loopback goes to a port where nobody listens. */
export const OFFLINE = {
  HTTPS_PROXY: "http://127.0.0.1:9",
  HTTP_PROXY: "http://127.0.0.1:9",
  NO_PROXY: "127.0.0.1,localhost",
};

const ALLOWED = ["Bash", "Agent", "mcp__svc__svc_message_send", "mcp__svc__svc_message_reply"];

/** Folder with the programs of a set (build/agents.mjs). */
export function agentsBin(set: "pinned" | "newest" | "others" = "pinned"): string {
  const names = {
    pinned: "SVC_AGENTS_BIN",
    newest: "SVC_AGENTS_NEWEST_BIN",
    others: "SVC_AGENTS_OTHERS_BIN",
  };
  const bin = process.env[names[set]];
  if (bin === undefined) throw new Error("run these tests with `npm run test:agents`: it brings the agents");
  return bin;
}

/** What it needs of a daemon. */
type ServingDaemon = Pick<DaemonProcess, "pid" | "home" | "client">;

export class AgentsSetting {
  readonly root = realpathSync(mkdtempSync(join(tmpdir(), "svc-agents-")));
  readonly project = join(this.root, "project");
  readonly model = new ModelServer();
  /** As long as this file is there, Claude's turns take long to end. */
  readonly slowEnds = join(this.root, "slow-ends.flag");
  group_id = "";
  readonly #daemon: () => ServingDaemon;
  #client: { pid: number; client: DaemonClient } | null = null;

  constructor(daemon: () => ServingDaemon) {
    this.#daemon = daemon;
  }

  async open(title: string): Promise<void> {
    mkdirSync(this.project);
    await this.model.listen();
    const { group_id: groupId } = await this.client.result("group_create", { title });
    await this.client.result("attach", { group_id: groupId, path: this.project });
    this.group_id = groupId;
  }

  /** One for each life of the daemon: a client keeps its connection. */
  get client(): DaemonClient {
    const { pid } = this.#daemon();
    if (this.#client?.pid !== pid) this.#client = { pid, client: this.#daemon().client() };
    return this.#client.client;
  }

  close(): void {
    this.model.close();
    // Agents that are ending may still write.
    rmSync(this.root, { recursive: true, force: true, maxRetries: 50, retryDelay: 100 });
  }

  /**
   * Environment of a Claude with a home of its own, as if its person had used it before: onboarded,
   * project trusted, some tools allowed.
   */
  claudeEnvironment(name: string): Record<string, string> {
    const home = join(this.root, name);
    mkdirSync(home);
    const known = {
      hasCompletedOnboarding: true,
      customApiKeyResponses: { approved: ["dummy"], rejected: [] },
      projects: { [this.project]: { hasTrustDialogAccepted: true } },
    };
    writeFileSync(join(home, ".claude.json"), JSON.stringify(known));
    // A hook of the person's own, which takes its time when it is told to.
    const wait = `while [ -e '${this.slowEnds}' ]; do sleep 0.05; done`;
    const hooks = { Stop: [{ hooks: [{ type: "command", command: wait }] }] };
    writeFileSync(join(home, "settings.json"), JSON.stringify({ hooks }));
    return {
      ...OFFLINE,
      HOME: home,
      CLAUDE_CONFIG_DIR: home,
      ANTHROPIC_BASE_URL: this.model.origin,
      ANTHROPIC_API_KEY: "dummy",
      DISABLE_TELEMETRY: "1",
      DISABLE_ERROR_REPORTING: "1",
      DISABLE_AUTOUPDATER: "1",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL: "1",
      PATH: `${agentsBin()}${delimiter}${process.env["PATH"] ?? ""}`,
    };
  }

  codexEnvironment(name: string, approval: "never" | "on-request"): Record<string, string> {
    const home = join(this.root, name);
    mkdirSync(home);
    const settings = `model = "scripted"
model_provider = "scripted"
approval_policy = "${approval}"
sandbox_mode = "${approval === "never" ? "danger-full-access" : "read-only"}"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.scripted]
name = "scripted"
base_url = "${this.model.origin}/v1"
wire_api = "responses"
env_key = "MOCK_KEY"
request_max_retries = 0
stream_max_retries = 0
[projects."${this.project}"]
trust_level = "trusted"
`;
    writeFileSync(join(home, "config.toml"), settings);
    return {
      ...OFFLINE,
      HOME: home,
      CODEX_HOME: home,
      MOCK_KEY: "x",
      PATH: `${agentsBin()}${delimiter}${process.env["PATH"] ?? ""}`,
    };
  }

  async addClaude(actorId: string): Promise<void> {
    await this.add({
      actor_id: actorId,
      runtime: "claude",
      command: ["claude", "--permission-mode", "manual", "--allowedTools", ...ALLOWED],
      env: this.claudeEnvironment(actorId),
    });
  }

  async addCodex(actorId: string, approval: "never" | "on-request" = "never"): Promise<void> {
    await this.add({
      actor_id: actorId,
      runtime: "codex",
      command: ["codex", "--no-daemon", "--disable", "plugins"],
      env: this.codexEnvironment(actorId, approval),
    });
  }

  async add(actor: Pick<InputOf<"actor_add">, "actor_id" | "runtime" | "command" | "env">): Promise<void> {
    await this.client.result("actor_add", { ...actor, group_id: this.group_id, runner: "pty" });
  }

  async start(actorId: string): Promise<void> {
    await this.client.result("actor_start", { group_id: this.group_id, actor_id: actorId });
  }

  async send(text: string, to: string[], more: Partial<InputOf<"send">> = {}): Promise<string> {
    return (await this.client.result("send", { group_id: this.group_id, text, to, ...more })).event.id;
  }

  async delivery(eventId: string, actorId: string): Promise<{ state: string; reason: string }> {
    const { statuses } = await this.client.result("ledger_statuses", {
      group_id: this.group_id,
      event_ids: [eventId],
    });
    return statuses[eventId]!.delivery_status[actorId]!;
  }

  /** Waits until the delivery has the state; its reason. */
  async reaches(eventId: string, actorId: string, state: string): Promise<string> {
    let last = "";
    try {
      return await until(
        state,
        async () => {
          const { state: now, reason } = await this.delivery(eventId, actorId);
          last = `${now} (${reason})`;
          return now === state ? reason || " " : null;
        },
        PATIENCE,
      );
    } catch (cause) {
      throw new Error(`the message for ${actorId} is ${last}, not ${state}`, { cause });
    }
  }

  async presence(actorId: string): Promise<{ state: string; reason: string; attention: boolean }> {
    const { actor } = await this.client.result("actor_show", { group_id: this.group_id, actor_id: actorId });
    return actor.presence;
  }

  /**
   * Waits for a working state; its reason. It is derived once per second: an idle one may be older
   * than the turn that has just begun, so it counts once it has lasted.
   */
  async becomes(actorId: string, state: string): Promise<string> {
    let last = "";
    let since: number | null = null;
    try {
      return await until(
        state,
        async () => {
          const presence = await this.presence(actorId);
          last = `${presence.state} (${presence.reason})`;
          if (presence.state !== state) since = null;
          else if (state !== "idle") return presence.reason || " ";
          else if (await this.#isInTurn(actorId)) since = null;
          else since ??= performance.now();
          return since !== null && performance.now() - since > SETTLED_MS ? presence.reason || " " : null;
        },
        PATIENCE,
      );
    } catch (cause) {
      throw new Error(`${actorId} is ${last}, not ${state}`, { cause });
    }
  }

  /** Waits until the reason of its state says so. */
  async says(actorId: string, words: RegExp): Promise<void> {
    await until(
      `${actorId} ${words.source}`,
      async () => words.test((await this.presence(actorId)).reason),
      PATIENCE,
    );
  }

  async has(actorId: string): Promise<boolean> {
    const { actors } = await this.client.result("actor_list", { group_id: this.group_id });
    return actors.some(({ id }) => id === actorId);
  }

  async #isInTurn(actorId: string): Promise<boolean> {
    const { events } = await this.client.result("runtime_activity_snapshot", { group_id: this.group_id });
    const open = ({ status }: { status: string }) => status === "started" || status === "waiting";
    return events.some((event) => event.actor_id === actorId && event.kind === "turn" && open(event));
  }

  /** For failures: what the Actor does, its tools, and how far the model is. */
  async describe(actorId: string): Promise<string> {
    const { events } = await this.client.result("runtime_activity_snapshot", { group_id: this.group_id });
    const tools = events.filter((event) => event.actor_id === actorId);
    const asked = this.model.asked.slice(-5).map(({ word, step }) => `${word}:${step}`);
    const told = tools.map(({ kind, tool_name: toolName, status }) => [kind, toolName, status].join(" "));
    return JSON.stringify({ actor_id: actorId, ...(await this.presence(actorId)), told, asked }, null, 1);
  }

  /** What the ledger says the Actor did since an event, once it says that it is idle. */
  async statesSince(eventId: string, actorId: string): Promise<string[]> {
    return until(
      `${actorId} is noted as idle`,
      async () => {
        const states = await this.#notedSince(eventId, actorId);
        return states.at(-1) === "idle" ? states : null;
      },
      PATIENCE,
    );
  }

  async #notedSince(eventId: string, actorId: string): Promise<string[]> {
    const events = await this.events();
    return events
      .slice(events.findIndex(({ id }) => id === eventId) + 1)
      .filter((event) => event.kind === "actor.activity")
      .flatMap(({ data }) => data.actors)
      .filter(({ id }) => id === actorId)
      .map(({ effective_working_state: effectiveWorkingState }) => effectiveWorkingState);
  }

  async events(): Promise<LedgerEvent[]> {
    const { events } = await this.client.result("ledger_tail", { group_id: this.group_id, limit: 200 });
    return events;
  }

  /** Of the process that the daemon runs for the Actor. */
  pid(actorId: string): number {
    const file = join(this.#daemon().home, "groups", this.group_id, "launches", `${actorId}.json`);
    return (JSON.parse(readFileSync(file, "utf8")) as { pid: number }).pid;
  }

  /**
   * A command for an agent's shell tool that ends when it is told to, and then prints `words`
   * together as one.
   */
  tool(name: string, words: readonly string[] = []): { command: string; end: () => void } {
    const flag = join(this.root, `${name}.flag`);
    const print = `printf '%s' ${words.join(" ")}`;
    writeFileSync(
      join(this.project, `${name}.sh`),
      `until [ -e '${flag}' ]; do sleep 0.05; done\n${words.length > 0 ? print : ""}\n`,
    );
    return { command: `sh ${name}.sh`, end: () => writeFileSync(flag, "") };
  }

  reads(path: string): string {
    return existsSync(path) ? readFileSync(path, "utf8") : "";
  }
}

/** Real agents in the Group "crew" of a daemon of the suite's own. */
export class Crew {
  #daemon: DaemonProcess | null = null;
  #agents: AgentsSetting | null = null;

  /** Call it in `describe`. `join` adds the Actors that all tests share. */
  constructor(join: (agents: AgentsSetting) => Promise<void> = async () => {}) {
    before(async () => {
      this.#daemon = await DaemonProcess.started();
      this.#agents = new AgentsSetting(() => this.daemon);
      await this.agents.open("crew");
      await join(this.agents);
    });
    after(async () => {
      await this.#daemon?.stop();
      await this.#daemon?.dispose();
      this.#agents?.close();
    });
  }

  get daemon(): DaemonProcess {
    return this.#daemon!;
  }

  get agents(): AgentsSetting {
    return this.#agents!;
  }
}
