/** The real daemon with a small agent of the test's own in a real terminal. */

import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DaemonClient } from "../../client/client.ts";
import type { RunningDaemon } from "../../daemon/assembly/daemon.ts";
import type { EventData, EventKind, EventOf, MessageEvent } from "../../shared/events.ts";
import type { InputOf } from "../../shared/operations/registry.ts";
import { ofKind } from "../support/events.ts";
import { until } from "../support/until.ts";

/** Whatever a machine with two busy cores may take. */
export const PATIENCE = 60_000;

const AGENT = join(import.meta.dirname, "fake-agent.mjs");

export interface AgentOptions {
  readyWhen?: string;
  silent?: boolean;
  listsWhen?: string;
  tellsLate?: boolean;
  ignoreTerm?: boolean;
  leaves?: boolean;
  keeps?: boolean;
  sessionId?: string;
}

interface AgentNote {
  start?: string[];
  pid?: number;
  cwd?: string;
  columns?: number;
  environment?: Record<string, string>;
  prompt?: string;
  bytes?: string;
  signal?: string;
  left?: number;
  /** What the hooks printed when it asked for permission. */
  answer?: string;
}

export class Setting {
  readonly root = realpathSync(mkdtempSync(join(tmpdir(), "svc-runtimes-")));
  readonly home = join(this.root, "home");
  readonly project = join(this.root, "project");
  readonly bin = join(this.root, "bin");
  group_id = "";
  #daemon: RunningDaemon | null = null;
  #client: DaemonClient | null = null;

  static async open(): Promise<Setting> {
    const setting = new Setting();
    mkdirSync(setting.project);
    mkdirSync(setting.bin);
    for (const name of ["claude", "other"]) {
      const file = join(setting.bin, name);
      writeFileSync(file, `#!/bin/sh\nexec '${process.execPath}' '${AGENT}' "$@"\n`);
      chmodSync(file, 0o755);
    }
    await setting.start();
    const { group_id: groupId } = await setting.client.result("attach", { path: setting.project });
    setting.group_id = groupId;
    return setting;
  }

  get client(): DaemonClient {
    if (this.#client === null) throw new Error("the daemon isn't started");
    return this.#client;
  }

  get daemon(): RunningDaemon {
    if (this.#daemon === null) throw new Error("the daemon isn't started");
    return this.#daemon;
  }

  async start(): Promise<void> {
    // As it runs: its own parts import one another this way.
    const { runDaemon } = await import("../../daemon/assembly/daemon.ts");
    this.#daemon = await runDaemon({ home: this.home, host: "127.0.0.1", port: 0, checkOutputs: true });
    this.#client = new DaemonClient(this.home, null);
  }

  async stop(): Promise<void> {
    this.#client?.close();
    await this.#daemon?.stop();
    this.#daemon = null;
  }

  async close(): Promise<void> {
    await this.stop();
    rmSync(this.root, { recursive: true, force: true });
  }

  log(actorId: string): string {
    return join(this.root, `${actorId}.log`);
  }

  /** An Actor whose process is our agent. */
  async add(
    actorId: string,
    agent: AgentOptions = {},
    more: Partial<InputOf<"actor_add">> = {},
  ): Promise<void> {
    await this.client.result("actor_add", {
      group_id: this.group_id,
      actor_id: actorId,
      runner: "pty",
      runtime: "claude",
      command: [join(this.bin, "claude")],
      ...more,
      env: { FAKE_AGENT: JSON.stringify({ log: this.log(actorId), ...agent }), ...more.env },
    });
  }

  async startActor(actorId: string): Promise<void> {
    await this.client.result("actor_start", { group_id: this.group_id, actor_id: actorId });
  }

  async send(text: string, to: string[], more: Partial<InputOf<"send">> = {}): Promise<MessageEvent> {
    return (await this.client.result("send", { group_id: this.group_id, text, to, ...more })).event;
  }

  /** What our agent noted. */
  notes(actorId: string): AgentNote[] {
    if (!existsSync(this.log(actorId))) return [];
    // The last line may be half written.
    return readFileSync(this.log(actorId), "utf8")
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line) as AgentNote);
  }

  prompts(actorId: string): string[] {
    return this.notes(actorId).flatMap(({ prompt }) => (prompt === undefined ? [] : [prompt]));
  }

  async status(eventId: string, actorId: string): Promise<{ state: string; reason: string }> {
    const { statuses } = await this.client.result("ledger_statuses", {
      group_id: this.group_id,
      event_ids: [eventId],
    });
    return statuses[eventId]!.delivery_status[actorId]!;
  }

  /** Waits until the message's delivery has the state. */
  async reaches(eventId: string, actorId: string, state: string): Promise<{ state: string; reason: string }> {
    return until(
      `${eventId} is ${state}`,
      async () => {
        const status = await this.status(eventId, actorId);
        return status.state === state ? status : null;
      },
      PATIENCE,
    );
  }

  async becomes(actorId: string, state: string): Promise<void> {
    await until(
      `${actorId} is ${state}`,
      async () => (await this.presence(actorId)).state === state,
      PATIENCE,
    );
  }

  async presence(actorId: string): Promise<{ state: string; reason: string }> {
    const { actor } = await this.client.result("actor_show", { group_id: this.group_id, actor_id: actorId });
    return actor.presence;
  }

  async events<Kind extends EventKind>(kind: Kind): Promise<EventOf<Kind>[]> {
    const { events } = await this.client.result("ledger_tail", { group_id: this.group_id, limit: 200 });
    return ofKind(events, kind);
  }

  deliveries(eventId: string): Promise<EventData<"runtime.delivery">[]> {
    return this.events("runtime.delivery").then((events) =>
      events
        .map(({ data }) => data)
        .filter(({ source_event_id: sourceEventId }) => sourceEventId === eventId),
    );
  }
}
