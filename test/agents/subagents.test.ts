/**
 * Subagents that work on after the turn that started them has ended: seen as work until their own
 * end, in Claude Code and Codex alike.
 */

import assert from "node:assert/strict";
import { DaemonProcess } from "../support/daemon-process.ts";
import { until } from "../support/until.ts";
import { AgentsSetting, PATIENCE } from "./setting.ts";

describe("subagents in the background", function () {
  this.timeout(4 * PATIENCE);
  let daemon: DaemonProcess;
  let agents: AgentsSetting;
  before(async () => {
    daemon = await DaemonProcess.started({});
    agents = new AgentsSetting(() => daemon);
    await agents.open("crew");
    await agents.addClaude("claude");
    await agents.addCodex("codex");
  });
  after(async () => {
    await daemon?.stop();
    agents?.close();
  });

  afterEach(async function () {
    if (this.currentTest?.state !== "failed") return;
    for (const actor of ["claude", "codex"]) console.log(await agents.describe(actor));
  });

  const activity = async (actor: string) => {
    const { events } = await agents.client.result("runtime_activity_snapshot", { group_id: agents.group_id });
    return events
      .filter(({ actor_id, kind }) => actor_id === actor && (kind === "subagent" || kind === "tool"))
      .map(({ kind, status, event_type }) => `${kind} ${status} ${event_type}`);
  };

  it("are work until their own end, over the end and the interrupt of a turn", async () => {
    await Promise.all(["claude", "codex"].map(worksOn));
  });

  async function worksOn(actor: string): Promise<void> {
    const tool = agents.tool(`sub-${actor}`);
    const endless = agents.tool(`endless-${actor}`);
    const isClaude = actor === "claude";
    const run = (command: string) =>
      isClaude
        ? { tool: "Bash", input: { command, description: "wait" } }
        : { tool: "exec_command", input: { cmd: command, yield_time_ms: 30_000 } };
    const text = `subwork-${actor}`;
    const spawn = isClaude
      ? { tool: "Agent", input: { description: "sub", prompt: text, subagent_type: "general-purpose" } }
      : { tool: "spawn_agent", namespace: "multi_agent_v1", input: { message: text, task_name: "sub" } };
    agents.model.script(`spawn-${actor}`, () => [spawn, { say: "Started." }]);
    agents.model.script(`interrupted-${actor}`, () => [run(endless.command)]);
    agents.model.script(text, () => [run(tool.command), { say: "Worked." }]);
    await agents.start(actor);
    await agents.reaches(await agents.send(`spawn-${actor}`, [actor]), actor, "accepted");
    await agents.says(actor, /^a subagent uses Bash$/);
    assert.equal((await agents.presence(actor)).state, "working");
    await agents.reaches(await agents.send(`interrupted-${actor}`, [actor]), actor, "accepted");
    await agents.says(actor, /^uses Bash$/);
    await agents.client.result("actor_interrupt", { group_id: agents.group_id, actor_id: actor });
    await agents.says(actor, /^a subagent uses Bash$/);
    endless.end();
    tool.end();
    await until("its end is told", async () =>
      (await activity(actor)).includes("subagent completed SubagentStop"),
    );
    await agents.becomes(actor, "idle");
    const superseded = (await activity(actor)).filter((one) => /^subagent.*(failed|started)/.test(one));
    assert.deepEqual(superseded, []);
  }
});
