/**
 * Who may answer and withdraw what, and how a withdrawal travels; the ways that succeed are in
 * end-to-end.test.ts.
 */
import assert from "node:assert/strict";
import type { EventOf, MessageEvent } from "../../shared/events.ts";
import type { Caller } from "../../shared/operations/caller.ts";
import type { ArgumentsOf } from "../../shared/operations/registry.ts";
import { refusal } from "../messaging/setting.ts";
import { verifies } from "../requirements.ts";
import { USER } from "../support/services.ts";
import { DOWN, signed, UP, type Wire } from "./memory-transport.ts";
import { MINUTE, Pair, rest, SECOND, type Side } from "./sending-setting.ts";

const CANCELLED = "chat.reply_request.cancelled";

describe("answers and withdrawals between instances", () => {
  let pair: Pair;
  let here: Side;
  let there: Side;
  beforeEach(async () => {
    pair = await Pair.open("direct");
    ({ here, there } = pair);
  });
  afterEach(() => pair.close());

  const reply = (side: Side, eventId: string, more: Partial<ArgumentsOf<"reply">> = {}, as: Caller = USER) =>
    side.home.call("reply", { group_id: side.group_id, event_id: eventId, text: "answer", ...more }, { as });

  const cancel = (side: Side, eventId: string, as: Caller = USER) =>
    side.home.call("reply_request_cancel", { group_id: side.group_id, event_id: eventId }, { as });

  async function delivered(
    more: Parameters<Pair["send"]>[0] = {},
    as: Caller = USER,
  ): Promise<{ sent: MessageEvent; arrived: MessageEvent }> {
    const count = here.receipts().length;
    const { source_event: sourceEvent } = await pair.send(more, as);
    await pair.ended(here, count + 1);
    return { sent: sourceEvent, arrived: there.messages().at(-1)! };
  }

  it("lets nobody follow what hasn't arrived for sure", async () => {
    verifies("RPL-004");
    here.transport.wire = DOWN;
    const { source_event: sourceEvent } = await pair.send();
    await assert.rejects(
      reply(here, sourceEvent.id),
      refusal("connect_receipt_required", { state: "queued" }),
    );
    here.transport.wire = UP;
    await pair.ended(here);
    const { event } = await reply(here, sourceEvent.id);
    assert.equal(event.data.reply_to, sourceEvent.id);
  });

  it("keeps a reply among those that the message was between", async () => {
    verifies("RPL-001", "RPL-005", "RPL-006", "RPL-010", "RPL-007");
    const { sent, arrived } = await delivered(
      { to: ["bob"], message_mode: "request_reply" },
      here.actor("ann"),
    );
    await assert.rejects(reply(here, sent.id, { to: ["cat"] }), refusal("invalid_recipient"));
    assert.deepEqual((await reply(here, sent.id, { to: ["@all"] })).event.data.dst_to, ["bob"]);
    await assert.rejects(reply(here, sent.id, {}, here.actor("ben")), refusal("event_not_found"));
    await assert.rejects(reply(there, arrived.id, {}, there.actor("cat")), refusal("event_not_found"));
    await assert.rejects(reply(there, arrived.id, { to: ["ben"] }), refusal("invalid_recipient"));
    await assert.rejects(
      there.home.call("send", {
        group_id: there.group_id,
        text: "x",
        reply_to: arrived.id,
        message_mode: "request_reply",
      }),
      refusal("invalid_message_mode"),
    );
    const { event } = await reply(there, arrived.id);
    assert.deepEqual([event.by, event.data.dst_to], ["user", ["ann"]]);
  });

  it("checks an upload for a reply as it checks the reply, and does nothing", async () => {
    verifies("MSG-048", "MSG-049", "MSG-050");
    const { arrived } = await delivered({ to: ["bob"] });
    const preflight = (more: Partial<ArgumentsOf<"message_upload_preflight">>, as: Caller = USER) =>
      there.home.call(
        "message_upload_preflight",
        { group_id: there.group_id, files: [{ name: "a", bytes: 1 }], reply_to: arrived.id, ...more },
        { as },
      );
    const before = there.all.length;
    assert.equal((await preflight({})).upload_limit, 10 * 1024 * 1024);
    await assert.rejects(preflight({ to: ["cat"] }), refusal("invalid_recipient"));
    there.authority.state = "unavailable";
    await assert.rejects(preflight({}), refusal("connect_unavailable"));
    assert.equal(there.all.length, before);
    assert.deepEqual(there.outboxFiles(), []);
  });

  it("answers over the message's own connection and no other, without the other side's catalog", async () => {
    verifies("RPL-003", "RPL-011", "MSG-010");
    pair.there.transport.wire = UP;
    const { sent, arrived } = await delivered();
    const [grant] = there.authority.grants;
    there.authority.grants = [{ ...grant!, connection_id: "direct-99999999-2222-4333-8444-555555555555" }];
    await assert.rejects(reply(there, arrived.id), refusal("connect_not_granted"));
    there.authority.grants = [grant!];
    await reply(there, arrived.id);
    await pair.ended(there);
    const [answer] = here.messages().filter(({ data }) => data.reply_to === sent.id);
    assert.equal(answer?.by, `connect:${there.instance_id}`);
  });

  it("takes no replies when their time is over", async () => {
    verifies("LIM-034");
    const { arrived } = await delivered();
    pair.clock.advance(7 * 24 * 60 * MINUTE + SECOND);
    await assert.rejects(reply(there, arrived.id), refusal("connect_reply_expired"));
  });

  it("makes one message of a reply that is tried again", async () => {
    const { arrived } = await delivered();
    const first = await reply(there, arrived.id, { client_id: "k" });
    await pair.ended(there);
    const again = await reply(there, arrived.id, { client_id: "k" });
    assert.deepEqual(again.event, first.event);
    assert.equal(again.duplicate, true);
    await assert.rejects(
      reply(there, arrived.id, { client_id: "k", text: "other" }),
      refusal("idempotency_conflict"),
    );
  });

  it("makes one message of a reply that is tried again before the ledger has it", async () => {
    const { arrived } = await delivered();
    const { ledger } = there.group;
    const appendAll = ledger.appendAll.bind(ledger);
    ledger.appendAll = () => Promise.reject(new Error("the disk said no"));
    const first = await reply(there, arrived.id, { client_id: "k" });
    const again = await reply(there, arrived.id, { client_id: "k" });
    assert.deepEqual([again.event, again.duplicate], [first.event, true]);
    for (const other of [{ text: "other" }, { to: ["ann"] }]) {
      await assert.rejects(
        reply(there, arrived.id, { client_id: "k", ...other }),
        refusal("idempotency_conflict"),
      );
    }
    // The key is taken for messages within the Group, too.
    const local = { group_id: there.group_id, text: "answer", client_id: "k" };
    await assert.rejects(there.home.call("send", local), refusal("idempotency_conflict"));
    ledger.appendAll = appendAll;
    await pair.ended(there);
    assert.equal(there.records().length, 0);
    assert.deepEqual(
      there.messages().filter(({ data }) => data.client_id === "k"),
      [first.event],
    );
  });

  it("lets an Actor's obligation stand when the person answers", async () => {
    verifies("RPL-008", "RPL-009", "RPL-013");
    const { sent, arrived } = await delivered({ to: ["bob"], message_mode: "request_reply" });
    await reply(there, arrived.id);
    await pair.ended(there);
    const state = async (side: Side, id: string) =>
      Object.values((await side.home.status(side.group_id, id)).obligation_status).map((one) => one.state);
    assert.deepEqual(await state(there, arrived.id), ["open"]);
    assert.deepEqual(await state(here, sent.id), ["open"]);
    await reply(there, arrived.id, {}, there.actor("bob"));
    await pair.ended(there, 2);
    assert.deepEqual(await state(there, arrived.id), ["replied"]);
    const { obligation_status: obligationStatus } = await here.home.status(here.group_id, sent.id);
    assert.deepEqual(Object.keys(obligationStatus), [`connect:${there.instance_id}::bob`]);
    assert.deepEqual(await state(here, sent.id), ["replied"]);
  });

  it("lets the sender and the people of both Groups withdraw a request, and nobody else", async () => {
    verifies("CAN-025", "CAN-026", "CAN-027");
    const { sent, arrived } = await delivered(
      { message_mode: "request_reply", to: ["bob"] },
      here.actor("ann"),
    );
    await assert.rejects(cancel(there, arrived.id, there.actor("bob")), refusal("permission_denied"));
    await assert.rejects(cancel(here, sent.id, here.actor("ben")), refusal("event_not_found"));
    assert.equal((await cancel(here, sent.id, here.actor("ann"))).duplicate, false);
    assert.equal((await cancel(here, sent.id)).duplicate, true);
  });

  it("withdraws here at once, and there when the other side is reached", async () => {
    verifies(
      "CAN-001",
      "CAN-002",
      "CAN-003",
      "CAN-004",
      "CAN-006",
      "CAN-008",
      "CAN-012",
      "CAN-013",
      "CAN-029",
      "CAN-030",
    );
    const { sent } = await delivered({ message_mode: "request_reply", to: ["bob", "cat"] });
    here.transport.seen.length = 0;
    here.transport.wire = () => ({ kind: "uncertain", reason: "broke" });
    const { event, cancelled } = await cancel(here, sent.id);
    assert.equal(cancelled.length, 2);
    const { obligation_status: obligationStatus, connect_cancellation: connectCancellation } =
      await here.home.status(here.group_id, sent.id);
    assert.ok(Object.values(obligationStatus).every(({ state }) => state === "cancelled"));
    assert.deepEqual(connectCancellation, { state: "queued" });
    const [record] = here.records();
    assert.ok(record?.work.kind === "cancel");
    assert.deepEqual(record.source_event, event);
    assert.equal(record.work.data.original_source_event_id, sent.id);
    assert.equal(record.work.data.original_message_sha256, sent.data.connect_message_sha256);
    await pair.pass(40 * SECOND);
    here.transport.wire = UP;
    await pair.ended(here, 2);
    const controls = here.transport.ops("cancel").map(({ request }) => JSON.stringify(request.operation));
    assert.ok(controls.length > 2);
    assert.equal(new Set(controls).size, 1);
    assert.deepEqual(here.transport.ops("receipt"), []);
    const receipt = here.receipts().at(-1)!;
    const control = there.events(CANCELLED)[0]!;
    assert.deepEqual(
      [
        receipt.data.action,
        receipt.data.source_event_id,
        receipt.data.original_event_id,
        receipt.data.remote_event_id,
      ],
      ["cancel", event.id, sent.id, control.id],
    );
    const after = await here.home.status(here.group_id, sent.id);
    assert.equal(after.connect_delivery?.state, "sent");
    assert.notEqual(after.connect_delivery?.remote_event_id, control.id);
    assert.deepEqual(after.connect_cancellation, { state: "sent", remote_event_id: control.id });
    assert.deepEqual(there.transport.ops("cancel"), []);
  });

  it("has one id per message and Group that withdraws", async () => {
    verifies("CAN-007");
    const { sent, arrived } = await delivered({ message_mode: "request_reply" });
    here.transport.wire = DOWN;
    there.transport.wire = DOWN;
    const idOf = ({ data }: EventOf<"chat.reply_request.cancelled">) => data.connect_cancel!.delivery_id;
    const [one, other] = [(await cancel(here, sent.id)).event, (await cancel(there, arrived.id)).event];
    assert.notEqual(idOf(one), idOf(other));
    assert.equal(idOf((await cancel(here, sent.id)).event), idOf(one));
  });

  it("is recorded after a crash between the outbox and the ledger", async () => {
    verifies("CAN-013");
    const { sent } = await delivered({ message_mode: "request_reply" });
    here.transport.wire = DOWN;
    here.group.ledger.appendAll = () => Promise.reject(new Error("crashed"));
    const { event } = await cancel(here, sent.id);
    await rest();
    assert.deepEqual(here.events(CANCELLED), []);
    await here.restart();
    assert.deepEqual(here.events(CANCELLED), [event]);
  });

  it("waits five seconds for an original that may still arrive, which goes meanwhile", async () => {
    verifies("CAN-015", "CAN-016");
    let isHeld = true;
    here.transport.wire = (request, carry) =>
      request.operation.op === "deliver" && isHeld ? { kind: "refused", reason: "held" } : carry();
    const { source_event: sourceEvent } = await pair.send({ message_mode: "request_reply" });
    await rest();
    await cancel(here, sourceEvent.id);
    // The peer is waited for after the refusal; then both go.
    await pair.eventually(() => here.transport.ops("cancel").length === 1);
    isHeld = false;
    await pair.ended(here, 2);
    const cancels = here.transport.ops("cancel").map(({ at }) => at);
    assert.ok(cancels[1]! - cancels[0]! >= 5 * SECOND && cancels[1]! - cancels[0]! <= 7 * SECOND);
    const last = here.transport.ops("deliver").at(-1)!.at;
    assert.ok(last > cancels[0]! - SECOND && last <= cancels[1]!);
    assert.equal(there.messages().length, 1);
    assert.equal((await here.home.status(here.group_id, sourceEvent.id)).connect_cancellation?.state, "sent");
  });

  it("is unconfirmed when its time ends without an answer, and failed by a signed refusal alone", async () => {
    verifies("CAN-010", "CAN-019", "CAN-020");
    const first = await delivered({ message_mode: "request_reply" });
    here.transport.wire = () => new Promise(() => {});
    await cancel(here, first.sent.id);
    await pair.pass(15 * MINUTE + 10 * SECOND, 5 * SECOND);
    await pair.ended(here, 2);
    const state = async (id: string) =>
      (await here.home.status(here.group_id, id)).connect_cancellation?.state;
    assert.equal(await state(first.sent.id), "unconfirmed");
    here.transport.wire = UP;
    await pair.pass(2 * MINUTE, 5 * SECOND);
    const second = await delivered({ message_mode: "request_reply" });
    here.transport.wire = (request) =>
      signed(there.identity, request, {
        ok: false,
        error: { code: "connect_cancellation_denied", message: "It doesn't fit." },
      });
    await cancel(here, second.sent.id);
    await pair.ended(here, 4);
    assert.equal(await state(second.sent.id), "failed");
    assert.equal((await here.delivery(second.sent.id))?.state, "sent");
  });

  it("is failed by a signed refusal only when no earlier, unanswered POST can be under way, over a restart too", async () => {
    verifies("CAN-020");
    const denied: Wire = (request) =>
      signed(there.identity, request, {
        ok: false,
        error: { code: "connect_cancellation_denied", message: "It doesn't fit." },
      });
    for (const restarts of [false, true]) {
      const { sent } = await delivered({ message_mode: "request_reply" });
      const count = here.receipts().length;
      let posts = 0;
      here.transport.wire = (request, carry, to) => {
        if (request.operation.op !== "cancel") return carry();
        posts += 1;
        return posts === 1 ? { kind: "uncertain", reason: "broke" } : denied(request, carry, to);
      };
      await cancel(here, sent.id);
      await pair.eventually(() => posts === 1);
      if (restarts) await here.restart();
      await pair.eventually(() => posts === 2);
      await rest();
      const state = async () => (await here.home.status(here.group_id, sent.id)).connect_cancellation?.state;
      assert.equal(await state(), "queued", "an earlier POST may still arrive");
      await pair.pass(100 * SECOND, 5 * SECOND);
      await pair.ended(here, count + 1);
      assert.equal(await state(), "failed");
      here.transport.wire = UP;
    }
  });
});
