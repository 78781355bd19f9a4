/** What stopping the daemon interrupts: said before it happens, and delivered again on purpose. */
import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DaemonClient } from "../../client/client.ts";
import { DaemonProcess, SVC } from "../support/daemon-process.ts";
import { Terminal } from "../support/terminal.ts";
import { until } from "../support/until.ts";
import { run } from "./svc.ts";

const AGENT = join(import.meta.dirname, "../runtimes/fake-agent.mjs");
const WARNING = "svc: working now: busy, deep (“Night’ run”). This interrupts them.";
const PATIENCE = 60_000;

describe("svc daemon stop beside agents", function () {
  this.timeout(180_000);
  let root: string;
  let daemon: DaemonProcess;
  let client: DaemonClient;
  let groupId: string;

  before(async () => {
    root = realpathSync(mkdtempSync(join(tmpdir(), "svc-stop-")));
    const program = join(root, "claude");
    writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${AGENT}' "$@"\n`);
    chmodSync(program, 0o755);
    daemon = await DaemonProcess.started();
    client = daemon.client(null);
    ({ group_id: groupId } = await client.result("attach", { path: root }));
    await client.result("group_update", { group_id: groupId, title: "Night” run" });
    for (const actorId of ["busy", "deep", "idle"]) {
      await client.result("actor_add", {
        group_id: groupId,
        actor_id: actorId,
        runner: "pty",
        runtime: "claude",
        command: [program],
        env: { FAKE_AGENT: JSON.stringify({ log: join(root, actorId) }) },
      });
      await client.result("actor_start", { group_id: groupId, actor_id: actorId });
      await becomes(actorId, "idle");
    }
  });
  after(async () => {
    await daemon.dispose();
    rmSync(root, { recursive: true, force: true });
  });

  async function becomes(actorId: string, state: string): Promise<void> {
    await until(
      `${actorId} is ${state}`,
      async () => {
        const { actor } = await client.result("actor_show", { group_id: groupId, actor_id: actorId });
        return actor.presence.state === state;
      },
      PATIENCE,
    );
  }

  async function works(): Promise<string> {
    const { event } = await client.result("send", {
      group_id: groupId,
      text: "WORK",
      to: ["busy", "deep"],
      message_mode: "request_reply",
    });
    for (const actorId of ["busy", "deep"]) await becomes(actorId, "working");
    return event.id;
  }

  /** Answers the question at a terminal with this key. */
  async function answered(key: string): Promise<{ code: number; shown: string }> {
    const command = [process.execPath, SVC, "daemon", "stop"];
    const terminal = new Terminal(command, { env: { SVC_HOME: daemon.home } });
    try {
      await terminal.shows(/Stop the daemon\? \[y\/N\]/);
      terminal.type(key);
      return { code: await terminal.ended(), shown: terminal.text };
    } finally {
      terminal.kill();
    }
  }

  it("names who works, quotes their Group, and stops nothing without a yes", async () => {
    await works();
    for (const key of ["\r", "n\r", "\u0003", "\u0004"]) {
      const { code, shown } = await answered(key);
      assert.ok(shown.includes(WARNING), shown);
      assert.equal(code, 1, shown);
    }
    for (const actorId of ["busy", "deep"]) await becomes(actorId, "working");
  });

  it("stops for a yes; the work is told as interrupted, and comes again when a person says so", async () => {
    const { code, shown } = await answered("y\r");
    assert.equal(code, 0, shown);
    await until("its process is reaped", () => daemon.hasEnded);
    await daemon.start();
    const { events } = await client.result("ledger_tail", { group_id: groupId, kinds: ["system.notify"] });
    const told = events.flatMap(({ kind, data }) => (kind === "system.notify" ? [data] : []));
    const interrupted = told.filter(({ kind }) => kind === "interrupted_notice");
    assert.equal(interrupted.length, 2);
    const id = interrupted[0]!.related_event_id!;
    const svc = (...args: string[]) => run([...args, "-g", groupId], { home: daemon.home });
    const careful = await svc("deliver", id, "--to", "busy");
    assert.equal(careful.code, 1);
    assert.match(careful.err, /--force-ambiguous/);
    const forced = await svc("deliver", id, "--to", "busy", "--force-ambiguous");
    assert.equal(forced.code, 0, forced.err);
    await client.result("actor_start", { group_id: groupId, actor_id: "busy" });
    await becomes("busy", "working");
  });

  it("asks nothing where nobody can answer, and with --yes", async () => {
    const ran = await run(["daemon", "stop"], { home: daemon.home });
    assert.equal(ran.code, 0, ran.err);
    await until("its process is reaped", () => daemon.hasEnded);
    assert.ok(ran.err.includes("svc: working now: busy (“Night’ run”). This interrupts them."), ran.err);
    await daemon.start();
    const idle = await run(["daemon", "stop", "--yes"], { home: daemon.home });
    assert.deepEqual([idle.code, idle.err], [0, ""]);
  });
});
