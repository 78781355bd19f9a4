/**
 * Subagents that work on after the turn that started them has ended: seen as work until their own
 * end, in Claude Code and Codex alike.
 */

import assert from "node:assert/strict";
import { until } from "../support/until.ts";
import { Crew, PATIENCE } from "./setting.ts";

describe("subagents in the background", function () {
  this.timeout(4 * PATIENCE);
  const crew = new Crew(async (agents) => {
    await agents.addClaude("claude");
    await agents.addCodex("codex");
  });

  afterEach(async function () {
    if (this.currentTest?.state !== "failed") return;
    for (const actor of ["claude", "codex"]) console.log(await crew.agents.describe(actor));
  });

  const activity = async (actor: string) => {
    const { events } = await crew.agents.client.result("runtime_activity_snapshot", {
      group_id: crew.agents.group_id,
    });
    return events
      .filter(({ actor_id: actorId, kind }) => actorId === actor && (kind === "subagent" || kind === "tool"))
      .map(({ kind, status, event_type: eventType }) => `${kind} ${status} ${eventType}`);
  };

  it("are work until their own end, over the end and the interrupt of a turn", async () => {
    await Promise.all(["claude", "codex"].map(worksOn));
  });

  async function worksOn(actor: string): Promise<void> {
    const tool = crew.agents.tool(`sub-${actor}`);
    const endless = crew.agents.tool(`endless-${actor}`);
    const isClaude = actor === "claude";
    const run = (command: string) =>
      isClaude
        ? { tool: "Bash", input: { command, description: "wait" } }
        : { tool: "exec_command", input: { cmd: command, yield_time_ms: 30_000 } };
    const text = `subwork-${actor}`;
    const spawn = isClaude
      ? { tool: "Agent", input: { description: "sub", prompt: text, subagent_type: "general-purpose" } }
      : { tool: "spawn_agent", namespace: "multi_agent_v1", input: { message: text, task_name: "sub" } };
    crew.agents.model.script(`spawn-${actor}`, () => [spawn, { say: "Started." }]);
    crew.agents.model.script(`interrupted-${actor}`, () => [run(endless.command)]);
    crew.agents.model.script(text, () => [run(tool.command), { say: "Worked." }]);
    await crew.agents.start(actor);
    await crew.agents.reaches(await crew.agents.send(`spawn-${actor}`, [actor]), actor, "accepted");
    await crew.agents.says(actor, /^a subagent uses Bash$/);
    assert.equal((await crew.agents.presence(actor)).state, "working");
    await crew.agents.reaches(await crew.agents.send(`interrupted-${actor}`, [actor]), actor, "accepted");
    await crew.agents.says(actor, /^uses Bash$/);
    await crew.agents.client.result("actor_interrupt", { group_id: crew.agents.group_id, actor_id: actor });
    await crew.agents.says(actor, /^a subagent uses Bash$/);
    endless.end();
    tool.end();
    await until("its end is told", async () =>
      (await activity(actor)).includes("subagent completed SubagentStop"),
    );
    await crew.agents.becomes(actor, "idle");
    const superseded = (await activity(actor)).filter((one) => /^subagent.*(failed|started)/.test(one));
    assert.deepEqual(superseded, []);
  }
});
