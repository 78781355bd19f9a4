/**
 * Work that the end of a process or daemon interrupts isn't lost: what the agent hadn't taken comes
 * again, of what it had taken its requester is told once, and the agent when it runs again.
 */

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { LedgerEvent } from "../../shared/events.ts";
import { ofKind } from "../support/events.ts";
import { until } from "../support/until.ts";
import { Crew, PATIENCE } from "./setting.ts";

const ENDS = ["killed", "stopped", "daemon"] as const;

/** Whether a conversation that the agent keeps in its home has this message. */
function isInHistory(home: string, id: string): boolean {
  return ["projects", "sessions"]
    .map((name) => join(home, name))
    .filter((folder) => existsSync(folder))
    .flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: "utf8" }).map((path) => join(folder, path)),
    )
    .some((path) => path.endsWith(".jsonl") && readFileSync(path, "utf8").includes(id));
}

describe("real agents whose work is interrupted", function () {
  this.timeout(6 * PATIENCE);
  const crew = new Crew();

  const told = (events: readonly LedgerEvent[], kind: string, about: string) =>
    ofKind(events, "system.notify").filter(
      ({ data }) => data.kind === kind && data.related_event_id === about,
    );
  const states = (events: readonly LedgerEvent[], id: string) =>
    ofKind(events, "runtime.delivery")
      .filter(({ data }) => data.source_event_id === id)
      .map(({ data }) => data.state);
  const answer = (id: string, text: string) => [
    {
      tool: "mcp__svc__svc_message_reply",
      input: { event_id: id, text, message_mode: "send" },
    },
    { say: "Answered." },
  ];

  for (const name of ["codex", "claude"] as const) {
    for (const how of ENDS) {
      it(`${name}, ${how}: its queued message comes again, and of its request both sides are told once`, async () => {
        const { agents } = crew;
        const actor = `${name}-${how}`;
        if (name === "codex") await agents.addCodex(actor);
        else await agents.addClaude(actor);
        agents.model.script(`first-${actor}`, () => [{ hold: `never-${actor}`, say: "Too late." }]);
        agents.model.script(`second-${actor}`, () => [{ say: "Done." }]);
        await agents.start(actor);
        const first = await agents.send(`first-${actor}`, [actor], { message_mode: "request_reply" });
        agents.model.script(`The request ${first} is still open`, () => answer(first, `finished-${actor}`));
        await agents.reaches(first, actor, "accepted");
        await until(
          "its model was asked",
          () => agents.model.asked.some(({ word }) => word === `first-${actor}`),
          PATIENCE,
        );
        // What a killed process hasn't written yet, its history can't decide.
        await until(
          "its history has the first",
          () => isInHistory(join(agents.root, actor), first),
          PATIENCE,
        );
        const second = await agents.send(`second-${actor}`, [actor]);
        await until(
          "it has the second in its hands",
          async () => ["claimed", "queued"].includes((await agents.delivery(second, actor)).state),
          PATIENCE,
        );
        const target = { group_id: agents.group_id, actor_id: actor };
        if (how === "killed") process.kill(agents.pid(actor), "SIGKILL");
        else if (how === "stopped") await agents.client.result("actor_stop", target);
        else {
          await crew.daemon.kill();
          await crew.daemon.start();
        }
        await agents.becomes(actor, "stopped");
        assert.match((await agents.presence(actor)).reason, /while it had a request$/);
        // Codex may take what is queued before it is gone, as it does when it is asked to end.
        const isTaken = name === "codex" && isInHistory(join(agents.root, actor), second);
        const { state } = await agents.delivery(second, actor);
        assert.ok(state === "pending" || (isTaken && state === "accepted"), state);
        let events = await agents.events();
        assert.equal(told(events, "interrupted_notice", first).length, 1);
        assert.equal(told(events, "interrupted_notice", second).length, 0, "it asked for no reply");
        assert.equal(told(events, "unconfirmed_notice", second).length, 0);

        await agents.start(actor);
        await agents.reaches(second, actor, "accepted");
        await until(
          "it answers the request",
          async () =>
            (await agents.events()).some(
              ({ kind, data }) => kind === "chat.message" && data["reply_to"] === first,
            ),
          PATIENCE,
        );
        await agents.becomes(actor, "idle");
        await agents.client.result("actor_stop", target);
        await agents.start(actor);
        events = await agents.events();
        assert.equal(told(events, "interrupted_notice", first).length, 1);
        assert.equal(told(events, "resume_notice", first).length, 1);
        assert.deepEqual(states(events, first), ["claimed", "accepted"]);
        const claims = states(events, second).filter((one) => one === "claimed").length;
        assert.equal(claims, state === "pending" ? 2 : 1);
        const most = Math.max(
          ...agents.model.heard.map((body) => body.split(`[svc] message ${second}`).length - 1),
        );
        assert.equal(most, 1, "never twice in one conversation");
        await agents.client.result("actor_stop", target);
      });
    }
  }
});
