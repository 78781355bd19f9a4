/** Replies from a peer, and to it. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { ConnectMessage } from "../../shared/wire/v1/message.ts";
import { verifies } from "../requirements.ts";
import { messageOf } from "../support/events.ts";
import { messageDigest } from "../wire/digests.ts";
import { deliverOperation, MINUTE, refused, Target } from "./receiver-setting.ts";

const UNKNOWN = "0123456789abcdef0123456789abcdef";

describe("Receiver: replies", () => {
  let target: Target;

  beforeEach(async () => {
    target = await Target.open("direct");
  });

  afterEach(() => target.home.remove());

  /** A request from this Group to ann's and cora's there, as sending records it. */
  async function sent(
    changes: Partial<ConnectMessage> = {},
  ): Promise<{ event_id: string; message: ConnectMessage }> {
    const { home, group_id: groupId, peer } = target;
    const actor = (id: string) => ({
      id,
      title: id,
      generation: `generation of ${id}`,
      enabled: true,
      role: null,
    });
    const eventId = randomUUID().replaceAll("-", "");
    const message = target.message({
      source: target.address,
      target: target.source,
      sender: target.recipient("ann"),
      recipients: [actor("cora"), actor("dora")],
      source_event_id: eventId,
      message_mode: "request_reply",
      ...changes,
    });
    const chat = home.messaging.get(groupId);
    const event = chat.event("chat.message", message.sender.id === "user" ? "user" : "ann", {
      message_mode: message.message_mode,
      to: [],
      to_generations: {},
      ...(message.sender.generation === "" ? {} : { sender_generation: message.sender.generation }),
      sender_title: "ann",
      delivery_id: message.delivery_id.replaceAll("-", ""),
      dst_instance_id: peer.instance_id,
      dst_group_id: "g_there",
      dst_to: message.recipients.map(({ id }) => id),
      dst_to_generations: Object.fromEntries(
        message.recipients.map(({ id, generation }) => [id, generation]),
      ),
      text: message.text,
      format: "plain",
      attachments: [],
      refs: [],
      connect_message: message,
      connect_message_sha256: messageDigest(message),
    });
    await chat.ledger.append({ ...event, id: eventId });
    return { event_id: eventId, message };
  }

  const answer = (original: ConnectMessage, eventId: string, changes: Partial<ConnectMessage> = {}) =>
    target.message({
      sender: original.recipients[0]!,
      recipients: [target.recipient("ann")],
      reply_to: { delivery_id: original.delivery_id, event_id: eventId },
      ...changes,
    });

  it("from a recipient fulfil its part of the request and stand under the message", async () => {
    verifies("RPL-003", "RPL-006", "RPL-013");
    const { event_id: eventId, message } = await sent();
    const [cora, dora] = message.recipients.map(({ id }) => `connect:${target.peer.instance_id}::${id}`);
    const { receipt } = await target.deliver(answer(message, eventId));
    const reply = target.group.ledger.readById(receipt!.event_id);
    assert.equal(messageOf(reply).reply_to, eventId);
    const { obligation_status: obligationStatus } = await target.home.status(target.group_id, eventId);
    assert.equal(obligationStatus[cora!]?.state, "replied");
    assert.deepEqual(obligationStatus[dora!], { state: "open" });
    assert.deepEqual((await target.home.read(target.group_id, "ann")).texts, ["hello"]);
  });

  it("from a person fulfil nobody's part", async () => {
    verifies("RPL-007", "RPL-008", "RPL-009");
    const { event_id: eventId, message } = await sent();
    const user = { id: "user", title: "", generation: "", enabled: true, role: null };
    await target.deliver(answer(message, eventId, { sender: user }));
    const { obligation_status: obligationStatus } = await target.home.status(target.group_id, eventId);
    assert.ok(Object.values(obligationStatus).every(({ state }) => state === "open"));
    assert.equal(target.messages().at(-1)?.data.source_user_id, "user");
  });

  it("to a person reach the person", async () => {
    verifies("RPL-007");
    const user = { id: "user", title: "user", generation: "", enabled: true, role: null };
    const { event_id: eventId, message } = await sent({ sender: user });
    await target.deliver(answer(message, eventId, { recipients: [user] }));
    assert.deepEqual(target.messages().at(-1)?.data.to, ["user"]);
    assert.equal(target.home.messaging.counts(target.group_id).unread, 1);
  });

  it("come from participants to participants, in their generations, over the same connection and in time", async () => {
    verifies("RPL-005", "RPL-006", "RPL-010", "RPL-011", "RPL-012", "LIM-034");
    const { event_id: eventId, message } = await sent({ deliver_before: soon(), reply_before: soon() });
    const reply = (changes: Partial<ConnectMessage>) => deliverOperation(answer(message, eventId, changes));
    const [cora] = message.recipients as [ConnectMessage["sender"]];
    const bent: Partial<ConnectMessage>[] = [
      { sender: { ...cora, generation: "another generation" } },
      { sender: { ...cora, id: "eve" } },
      { recipients: [target.recipient("bob")] },
      { recipients: [target.recipient("ann"), target.recipient("bob")] },
      { reply_to: { delivery_id: randomUUID(), event_id: eventId } },
      { reply_to: { delivery_id: message.delivery_id, event_id: UNKNOWN } },
      { reply_to: { delivery_id: message.delivery_id, event_id: target.group.ledger.read(0).id } },
    ];
    for (const changes of bent) {
      assert.equal(
        refused(await target.ask(reply(changes))),
        "connect_reply_denied",
        JSON.stringify(changes),
      );
    }
    const elsewhere = await sent({ connection_id: `direct-${randomUUID()}` });
    const other = deliverOperation(answer(elsewhere.message, elsewhere.event_id));
    assert.equal(refused(await target.ask(other)), "connect_reply_denied");
    const toAnother = await sent({ target: { ...target.source, group_id: "g_other" } });
    const foreign = deliverOperation(answer(toAnother.message, toAnother.event_id));
    assert.equal(refused(await target.ask(foreign)), "connect_reply_denied");
    target.home.clock.advance(MINUTE + 1);
    assert.equal(refused(await target.ask(reply({}))), "connect_reply_denied");
    assert.equal(target.messages().length, 3);
  });

  it("to somebody who was added anew are refused", async () => {
    verifies("RPL-012");
    const { event_id: eventId, message } = await sent();
    await target.home.call("actor_remove", { group_id: target.group_id, actor_id: "ann" });
    await target.home.call("actor_add", { group_id: target.group_id, actor_id: "ann" });
    const wrong = refused(await target.ask(deliverOperation(answer(message, eventId))));
    assert.equal(wrong, "connect_reply_denied");
  });

  it("may follow up what was received, from its sender to some of its recipients", async () => {
    verifies("RPL-005", "RPL-010", "RPL-012");
    const original = target.message({ recipients: [target.recipient("ann"), target.recipient("bob")] });
    const { receipt } = await target.deliver(original);
    const followUp = (changes: Partial<ConnectMessage>) =>
      deliverOperation(
        target.message({
          reply_to: { delivery_id: original.delivery_id, event_id: receipt!.event_id },
          recipients: [target.recipient("bob")],
          ...changes,
        }),
      );
    assert.ok((await target.ask(followUp({}))).ok);
    assert.equal(target.messages().at(-1)?.data.reply_to, receipt!.event_id);
    const eve = { ...original.sender, id: "eve" };
    assert.equal(refused(await target.ask(followUp({ sender: eve }))), "connect_reply_denied");
    await target.home.call("actor_add", { group_id: target.group_id, actor_id: "cleo" });
    const wider = followUp({ recipients: [target.recipient("bob"), target.recipient("cleo")] });
    assert.equal(refused(await target.ask(wider)), "connect_reply_denied");
  });

  it("let a person on the other side withdraw what was asked of it, nobody else", async () => {
    verifies("CAN-026", "CAN-027");
    const { event_id: eventId, message } = await sent();
    const user = { id: "user", title: "", generation: "", enabled: true, role: null };
    const byActor = target.cancellation(message, { sender: message.recipients[0]! });
    assert.equal(
      refused(await target.ask({ op: "cancel", cancellation: byActor })),
      "connect_cancellation_denied",
    );
    await target.cancel(target.cancellation(message, { sender: user }));
    const { obligation_status: obligationStatus } = await target.home.status(target.group_id, eventId);
    assert.deepEqual(
      new Set(Object.values(obligationStatus).map(({ state }) => state)),
      new Set(["cancelled"]),
    );
  });

  function soon(): string {
    return new Date(target.home.clock.now() + MINUTE).toISOString();
  }
});
