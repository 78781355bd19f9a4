/**
 * What a busy Claude Code has only queued isn't lost: its process ends in every way there is, and
 * the next one reads and answers it.
 */

import assert from "node:assert/strict";
import { until } from "../support/until.ts";
import { Crew, PATIENCE } from "./setting.ts";

/** How the process of each Actor ends while three requests wait behind its turn. */
const ENDS = ["killed", "stopped", "restarted"] as const;
const REQUESTS = ["bravo", "charlie", "delta"];

describe("requests behind a turn of Claude Code", function () {
  this.timeout(4 * PATIENCE);
  const crew = new Crew();

  /** An Actor in a turn that only `end` ends, with its requests queued behind it. */
  const busy = async (actor: string) => {
    const tool = crew.agents.tool(`busy-${actor}`);
    crew.agents.model.script(`busy-${actor}`, () => [
      { tool: "Bash", input: { command: tool.command, description: "wait" } },
      { say: "Done." },
    ]);
    await crew.agents.addClaude(actor);
    await crew.agents.start(actor);
    const first = await crew.agents.send(`busy-${actor}`, [actor]);
    await crew.agents.reaches(first, actor, "accepted");
    await crew.agents.says(actor, /uses Bash/);
    const requests: string[] = [];
    for (const word of REQUESTS) {
      crew.agents.model.script(`${word}-${actor}`, (id) => answers(id, word));
      const id = await crew.agents.send(`${word}-${actor}`, [actor], { message_mode: "request_reply" });
      await crew.agents.reaches(id, actor, "queued");
      requests.push(id);
    }
    return { first, requests, end: tool.end };
  };

  /** One prompt may hold them all: the model answers whatever it is shown, each once. */
  const answers = (last: string, word: string) => {
    const heard = crew.agents.model.heard.findLast((body) => body.includes(last)) ?? "";
    const shown = [...heard.matchAll(/\[svc\] message ([0-9a-f]{32})[^[]*?(bravo|charlie|delta)-/g)];
    const ids = [...new Set(shown.map(([, id]) => id!))];
    return [
      ...ids.map((eventId) => ({
        tool: "mcp__svc__svc_message_reply",
        input: { event_id: eventId, text: `answer after ${word}`, message_mode: "send" },
      })),
      { say: "Answered." },
    ];
  };

  const repliesTo = async (id: string) =>
    (await crew.agents.events()).filter(
      ({ kind, data }) => kind === "chat.message" && data["reply_to"] === id,
    );

  const claims = async (id: string) =>
    (await crew.agents.events()).filter(
      ({ kind, data }) =>
        kind === "runtime.delivery" && data["source_event_id"] === id && data["state"] === "claimed",
    );

  const answered = async (actor: string, requests: readonly string[]) => {
    for (const id of requests) {
      assert.match(await crew.agents.reaches(id, actor, "accepted"), /hook|replied/);
      await until(`${actor} answers`, async () => (await repliesTo(id)).length > 0, PATIENCE);
    }
    await crew.agents.becomes(actor, "idle");
    for (const id of requests) assert.equal((await repliesTo(id)).length, 1);
  };

  it("are accepted when the turn takes them, and answered", async () => {
    const { requests, end } = await busy("steady");
    end();
    await answered("steady", requests);
    for (const id of requests) assert.equal((await claims(id)).length, 1);
  });

  for (const how of ENDS) {
    it(`come again, each once, when its process is ${how}`, async () => {
      const { first, requests } = await busy(how);
      const target = { group_id: crew.agents.group_id, actor_id: how };
      if (how === "killed") process.kill(crew.agents.pid(how), "SIGKILL");
      else if (how === "stopped") await crew.agents.client.result("actor_stop", target);
      else await crew.agents.client.result("actor_restart", target);
      if (how !== "restarted") {
        await crew.agents.becomes(how, "stopped");
        for (const id of requests) assert.equal((await crew.agents.delivery(id, how)).state, "pending");
        await crew.agents.start(how);
      }
      await answered(how, requests);
      for (const id of requests) assert.equal((await claims(id)).length, 2);
      assert.equal((await claims(first)).length, 1, "its turn had begun");
    });
  }

  it("come again when the daemon is killed", async () => {
    const { requests } = await busy("orphan");
    await crew.daemon.kill();
    await crew.daemon.start();
    for (const id of requests) assert.equal((await crew.agents.delivery(id, "orphan")).state, "pending");
    await crew.agents.start("orphan");
    await answered("orphan", requests);
    for (const id of requests) assert.equal((await claims(id)).length, 2);
  });
});
