/**
 * Agents and the command line reach another instance: two real daemons, the MCP server and `svc` as
 * they ship.
 */
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { LedgerEvent } from "../../shared/events.ts";
import { run } from "../cli/svc.ts";
import { Peer } from "../mcp/peer.ts";
import { verifies } from "../requirements.ts";
import { messageOf } from "../support/events.ts";
import { connect, Side } from "./direct/two-homes.ts";

interface Queued {
  accepted: boolean;
  queued: boolean;
  delivery_state: string;
  delivery_id: string;
  source_event: LedgerEvent;
}

describe("another instance through the ports", function () {
  this.timeout(120_000);
  let here: Side;
  let there: Side;
  let agent: Peer;
  let connectionId: string;

  before(async () => {
    [here, there] = await Promise.all([Side.started("Here"), Side.started("There")]);
    connectionId = await connect(there, here);
    agent = await Peer.connected(here.daemon, here.tokenFile);
  });
  after(async () => {
    await agent.close();
    await here.dispose();
    await there.dispose();
  });

  const arrived = async (eventId: string): Promise<LedgerEvent | undefined> => {
    assert.equal((await here.delivered(eventId)).state, "sent");
    return (await there.messages()).find(({ data }) => data["src_event_id"] === eventId);
  };
  const address = () => ({ dst_instance_id: there.instance_id, dst_group_id: there.group_id });

  it("are shown to an agent, with the Actors of a Group that it names", async () => {
    verifies("MCP-001", "MCP-002", "MCP-003", "MCP-004", "MCP-005", "MCP-013");
    const before = await here.messages();
    const found = await agent.result("svc_connect");
    const [group] = found["external_groups"] as { connection_id: string; group_id: string; title: string }[];
    assert.deepEqual(
      [group?.connection_id, group?.group_id, group?.title],
      [connectionId, there.group_id, "There"],
    );
    const details = await agent.result("svc_connect", {
      instance_id: there.instance_id,
      target_group_id: there.group_id,
    });
    const { groups } = details["catalog"] as { groups: { actors: { id: string }[] }[] };
    assert.deepEqual(
      groups[0]?.actors.map(({ id }) => id),
      ["lead"],
    );
    assert.deepEqual(await here.messages(), before);
  });

  it("take an agent's message and files, once for one key", async () => {
    verifies("MCP-006", "MCP-008", "MCP-009", "MCP-011", "MCP-012");
    const message = { ...address(), text: "from an agent", to: ["lead"], idempotency_key: "k" };
    const first = (await agent.result("svc_message_send", message)) as unknown as Queued;
    assert.equal(first.accepted, true);
    assert.equal(messageOf(first.source_event).message_mode, "mail");
    const again = (await agent.result("svc_message_send", message)) as unknown as Queued;
    assert.equal(again.source_event.id, first.source_event.id);
    const event = await arrived(first.source_event.id);
    assert.equal(messageOf(event).source_user_id, "lead");
    const unkeyed = { ...address(), text: "twice" };
    const [one, other] = [
      await agent.result("svc_message_send", unkeyed),
      await agent.result("svc_message_send", unkeyed),
    ];
    assert.notEqual(one?.["delivery_id"], other?.["delivery_id"]);
    writeFileSync(join(here.project, "report.txt"), "all green");
    const files = (await agent.result("svc_file_send", {
      ...address(),
      paths: ["report.txt"],
      idempotency_key: "files",
    })) as unknown as Queued;
    assert.equal(files.accepted, true);
    const carried = messageOf(await arrived(files.source_event.id)).attachments;
    assert.deepEqual(
      carried.map(({ name }) => name),
      ["report.txt"],
    );
  });

  it("are never mistaken for the own instance", async () => {
    verifies("MCP-007", "MCP-010", "ERR-001", "ERR-003");
    const before = await here.messages();
    for (const [wrong, code] of [
      [{ dst_instance_id: "" }, "invalid_args"],
      [{ dst_instance_id: "nonsense", dst_group_id: there.group_id }, "invalid_args"],
      [{ dst_group_id: here.group_id }, "connect_instance_required"],
      [{ dst_instance_id: there.instance_id }, "connect_target_group_required"],
      // The own Group's id, on the other instance.
      [{ dst_instance_id: there.instance_id, dst_group_id: here.group_id }, "connect_not_granted"],
    ] as const) {
      const answer = await agent.tool("svc_message_send", { text: "lost?", ...wrong });
      assert.equal(answer.isError, true);
      assert.equal(answer.error.code, code, answer.text);
    }
    const both = await agent.tool("svc_message_send", {
      text: "x",
      local_group_id: here.group_id,
      ...address(),
    });
    assert.equal(both.error.code, "invalid_args");
    assert.deepEqual(await here.messages(), before);
  });

  it("are reached by the command line in the same way", async () => {
    verifies("CLI-001", "CLI-002", "CLI-003", "CLI-004", "CLI-005", "CLI-006");
    const help = await run(["connect", "--help"]);
    assert.equal(help.code, 0);
    assert.match(help.out, /--target-group/);
    const groupId = here.group_id;
    assert.deepEqual(
      await here.svc(["connect"]),
      await here.client.result("connect_catalog", { group_id: groupId }),
    );
    const named = { instance_id: there.instance_id, target_group_id: there.group_id };
    const shown = await here.svc([
      "connect",
      "--instance",
      named.instance_id,
      "--target-group",
      named.target_group_id,
    ]);
    assert.deepEqual(shown, await here.client.result("connect_catalog", { group_id: groupId, ...named }));
    const file = join(here.project, "more", "notes.md");
    mkdirSync(join(here.project, "more"));
    writeFileSync(file, "notes");
    const send = (text: string) =>
      here.svc<Queued>([
        "send",
        text,
        "--dst-instance",
        there.instance_id,
        "--dst-group",
        there.group_id,
        "--to",
        "lead",
        "--insight",
        "Read it.",
        "--idempotency-key",
        "cli",
        "--attach",
        file,
      ]);
    const first = await send("from the command line");
    assert.equal((await send("from the command line")).delivery_id, first.delivery_id);
    const event = await arrived(first.source_event.id);
    assert.equal(messageOf(event).insight, "Read it.");
    const { event: reply } = await there.svc<{ event: LedgerEvent }>(["reply", event?.id ?? "", "thanks"]);
    assert.deepEqual(messageOf(reply).dst_to, ["user"]);
    assert.equal((await there.delivered(reply.id)).state, "sent");
    const refused = await run(["send", "x", "--dst-instance", "nonsense", "--dst-group", there.group_id], {
      home: here.daemon.home,
    });
    assert.equal(refused.code, 1);
  });
});
