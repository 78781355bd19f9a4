/**
 * Agents whose model refuses them: seen at once, told to whoever waits for a reply, and well again
 * afterwards.
 */

import assert from "node:assert/strict";
import { until } from "../support/until.ts";
import type { Failure } from "./model-server.ts";
import { Crew, PATIENCE } from "./setting.ts";

const FAILURES: readonly (Failure & { words: RegExp })[] = [
  { status: 401, error: { type: "authentication_error", message: "no key" }, words: /^logged out/ },
  {
    status: 429,
    headers: { "retry-after": "3600" },
    error: { type: "rate_limit_error", message: "no more" },
    words: /^limit reached/,
  },
  { status: 529, error: { type: "overloaded_error", message: "busy" }, words: /^overloaded/ },
];

describe("agents whose model refuses them", function () {
  this.timeout(4 * PATIENCE);
  const crew = new Crew(async (agents) => {
    await agents.addClaude("claude");
    await agents.addCodex("codex");
    for (const actor of ["claude", "codex"]) await agents.start(actor);
  });

  const notices = async (about: string) =>
    (await crew.agents.events()).filter(
      ({ kind, data }) => kind === "system.notify" && data["related_event_id"] === about,
    );

  for (const { words, ...failure } of FAILURES) {
    it(`say so with attention (${failure.status}), tell who waits, and go on afterwards`, async () => {
      crew.agents.model.failures.set("/v1/messages", failure).set("/v1/responses", failure);
      await Promise.all(
        ["claude", "codex"].map(async (actor) => {
          const id = await crew.agents.send(`refused with ${failure.status}`, [actor], {
            message_mode: "request_reply",
          });
          await crew.agents.reaches(id, actor, "accepted");
          await crew.agents.says(actor, words);
          assert.equal((await crew.agents.presence(actor)).attention, true);
          await until(`${actor} is told of`, async () => (await notices(id)).length > 0, PATIENCE);
          if ((await crew.agents.presence(actor)).state === "working") {
            await crew.agents.client.result("actor_interrupt", {
              group_id: crew.agents.group_id,
              actor_id: actor,
            });
          }
          assert.equal((await notices(id)).length, 1);
        }),
      );
      crew.agents.model.failures.clear();
      for (const actor of ["claude", "codex"]) {
        const well = await crew.agents.send("are you well again", [actor]);
        await crew.agents.reaches(well, actor, "accepted");
        await crew.agents.becomes(actor, "idle");
        assert.equal((await crew.agents.presence(actor)).attention, false);
      }
    });
  }
});
