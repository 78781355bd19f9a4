/** What the real agents ask a person for: not for svc's own tools, unless the Actor says so. */

import assert from "node:assert/strict";
import { until } from "../support/until.ts";
import { Crew, PATIENCE } from "./setting.ts";

describe("real agents and svc's own tools", function () {
  this.timeout(4 * PATIENCE);
  const crew = new Crew();

  /** As a person sets it up, without any tool allowed. */
  async function add(actorId: string, runtime: "claude" | "codex", allowTools: boolean): Promise<void> {
    await crew.agents.client.result("actor_add", {
      group_id: crew.agents.group_id,
      actor_id: actorId,
      runtime,
      runner: "pty",
      allow_tools: allowTools,
      command:
        runtime === "claude"
          ? ["claude", "--permission-mode", "manual"]
          : ["codex", "--no-daemon", "--disable", "plugins"],
      env:
        runtime === "claude"
          ? crew.agents.claudeEnvironment(actorId)
          : crew.agents.codexEnvironment(actorId, "on-request"),
    });
    await crew.agents.start(actorId);
  }

  /** The model has the agent use each tool; the tool that the agent asks a person for. */
  async function asksFor(actorId: string, tools: readonly (readonly [string, Record<string, unknown>])[]) {
    crew.agents.model.script(`use-${actorId}`, () => [
      ...tools.map(([tool, input]) => ({ tool: `mcp__svc__${tool}`, input })),
      { say: "done" },
    ]);
    await crew.agents.send(`use-${actorId}`, [actorId]);
    const { reason } = await until(
      `${actorId} asks`,
      async () => {
        const presence = await crew.agents.presence(actorId);
        return presence.state === "waiting" ? presence : null;
      },
      PATIENCE,
    );
    await crew.agents.client.result("actor_stop", { group_id: crew.agents.group_id, actor_id: actorId });
    return reason;
  }

  const message = ["svc_message_send", { text: "hello", to: ["user"], message_mode: "send" }] as const;
  const cancel = ["svc_reply_request_cancel", { event_id: "0".repeat(32) }] as const;
  const actors = ["svc_actor", { action: "list" }] as const;

  it("Claude sends a message without asking, and asks before it touches other agents", async () => {
    await add("claude", "claude", true);
    assert.match(await asksFor("claude", [["svc_bootstrap", {}], message, actors]), /svc_actor/);
    const sent = (await crew.agents.events()).filter(
      ({ by, kind }) => by === "claude" && kind === "chat.message",
    );
    assert.equal(sent.length, 1);
    await add("asking-claude", "claude", false);
    assert.match(await asksFor("asking-claude", [message]), /svc_message_send/);
  });

  it("Codex withdraws a request without asking, and asks before it touches other agents", async () => {
    await add("codex", "codex", true);
    assert.match(await asksFor("codex", [message, cancel, actors]), /svc_actor/);
    await add("asking-codex", "codex", false);
    assert.match(await asksFor("asking-codex", [cancel]), /svc_reply_request_cancel/);
  });
});
