/**
 * What another instance asks or withdraws starts and stops no process here: real daemons, real
 * terminals.
 */

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { verifies } from "../../requirements.ts";
import { until } from "../../support/until.ts";

import { connect, Side } from "./two-homes.ts";

describe("processes of Actors over a Direct connection", function () {
  let here: Side;
  let there: Side;

  before(async () => {
    [here, there] = await Promise.all([Side.started("Here"), Side.started("There")]);
    for (const actorId of ["running", "stopped"]) {
      await there.client.result("actor_add", {
        group_id: there.group_id,
        actor_id: actorId,
        runtime: "custom",
        runner: "pty",
        // Its owner says so: else no other instance could name it.
        prompts: true,
        command: ["sh", "-c", `echo $$ >> ${startsOf(actorId)}; exec sleep 100000`],
      });
    }
    await connect(here, there);
    await there.client.result("actor_start", { group_id: there.group_id, actor_id: "running" });
    await until("the process", async () => existsSync(startsOf("running")));
  });
  after(async () => {
    await Promise.all([here?.dispose(), there?.dispose()]);
  });

  const startsOf = (actorId: string): string => join(there.project, `${actorId}.starts`);
  const stateOf = async (actorId: string): Promise<string> => {
    const { actor } = await there.client.result("actor_show", {
      group_id: there.group_id,
      actor_id: actorId,
    });
    return actor.presence.state;
  };
  /** One process since the start, which lives, and none of the other Actor. */
  const check = async (pid: string): Promise<void> => {
    assert.equal(readFileSync(startsOf("running"), "utf8"), pid);
    process.kill(Number(pid), 0);
    assert.equal(existsSync(startsOf("stopped")), false);
    assert.equal(await stateOf("stopped"), "stopped");
    assert.notEqual(await stateOf("running"), "stopped");
  };

  it("stay as they are when their Group is looked at", async () => {
    verifies("CAT-026");
    const pid = readFileSync(startsOf("running"), "utf8");
    const ask = (side: Side, other: Side) =>
      side.client.result("connect_catalog", {
        group_id: side.group_id,
        instance_id: other.instance_id,
        target_group_id: other.group_id,
      });
    await until("the Actors in the catalog", async () => {
      const found = await ask(here, there);
      const actors = "catalog" in found ? (found.catalog?.groups[0]?.actors ?? []) : [];
      return actors.some(({ id }) => id === "stopped");
    });
    await ask(there, here);
    await there.client.result("connect_catalog", { group_id: there.group_id });
    await check(pid);
  });

  it("go on when what they were asked is withdrawn", async () => {
    verifies("CAN-021");
    const pid = readFileSync(startsOf("running"), "utf8");
    const { source_event: sourceEvent } = await here.client.result("connect_send", {
      group_id: here.group_id,
      instance_id: there.instance_id,
      target_group_id: there.group_id,
      client_id: "asked",
      text: "?",
      to: ["running"],
      message_mode: "request_reply",
    });
    const { remote_event_id: remoteEventId } = await here.delivered(sourceEvent.id);
    await here.client.result("reply_request_cancel", { group_id: here.group_id, event_id: sourceEvent.id });
    await until("the withdrawal there", async () => {
      const { statuses } = await there.client.result("ledger_statuses", {
        group_id: there.group_id,
        event_ids: [remoteEventId!],
      });
      return statuses[remoteEventId!]?.obligation_status["running"]?.state === "cancelled";
    });
    await check(pid);
  });
});
