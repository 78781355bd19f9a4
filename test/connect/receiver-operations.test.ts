/** Receipts, withdrawals, replies and catalogs as a peer asks for them. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { cancellationDigest, messageDigest } from "../../daemon/connect/digests.ts";
import { remoteBy } from "../../daemon/messaging/authors.ts";
import { LIMITS } from "../../shared/limits.ts";
import { RESERVED_ACTOR_IDS } from "../../shared/model.ts";
import type { ConnectMessage } from "../../shared/wire/message.ts";
import { refusal } from "../messaging/setting.ts";
import { verifies } from "../requirements.ts";
import { deliverOperation, MINUTE, refused, Target } from "./receiver-setting.ts";

const UNKNOWN = "0123456789abcdef0123456789abcdef";

describe("Receiver: receipt", () => {
  let target: Target;

  beforeEach(async () => {
    target = await Target.open();
  });

  afterEach(() => target.home.remove());

  it("says what was received, or that nothing was", async () => {
    verifies("PEER-011", "PEER-041", "OUT-010");
    const message = target.message();
    assert.deepEqual(await target.receipt(message), { receipt: null });
    const { receipt } = await target.deliver(message);
    assert.deepEqual(await target.receipt(message), { receipt });
    const other = { ...target.receiptOperation(message), source_group_id: "g_other" };
    assert.equal(refused(await target.ask(other)), "connect_content_conflict");
    const digest = { ...target.receiptOperation(message), message_sha256: messageDigest(target.message()) };
    assert.equal(refused(await target.ask(digest)), "connect_content_conflict");
  });

  it("of a deleted Group is an error", async () => {
    verifies("PEER-044");
    const message = target.message();
    await target.deliver(message);
    await target.home.call("group_delete", { group_id: target.group_id, confirm: target.group_id });
    assert.equal(refused(await target.ask(target.receiptOperation(message))), "connect_group_not_found");
    assert.equal(refused(await target.ask(deliverOperation(message))), "connect_group_not_found");
  });

  it("of a Group that was reset is an error while what it had received may still be asked for", async () => {
    verifies("PEER-042");
    const message = target.message();
    await target.deliver(message);
    await target.home.call("group_reset", { group_id: target.group_id, confirm: target.group_id });
    const asked = async () => target.ask(target.receiptOperation(message));
    assert.equal(refused(await asked()), "connect_peer_denied");
    target.home.clock.advance(15 * MINUTE);
    assert.equal(refused(await asked()), "connect_peer_denied");
    target.home.clock.advance(MINUTE);
    assert.deepEqual(await target.receipt(target.message()), { receipt: null });
  });

  it("waits behind deliveries that the Group has admitted, and takes no lock itself", async () => {
    verifies("PEER-012", "PEER-015");
    const message = target.message();
    const release = await target.group.permit.acquireRead();
    const delivering = target.deliver(message);
    await new Promise((resolve) => setImmediate(resolve));
    let answered = false;
    const asked = target.receipt(message).finally(() => {
      answered = true;
    });
    for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    assert.equal(answered, false);
    release();
    assert.deepEqual(await asked, { receipt: (await delivering).receipt });
    const writer = await target.group.permit.acquireWrite();
    assert.notEqual((await target.receipt(message)).receipt, null);
    writer();
  });

  it("isn't kept waiting for ever: a delivery gives up on a busy Group", async () => {
    verifies("PEER-010", "PEER-015");
    const message = target.message();
    const writer = await target.group.permit.acquireWrite();
    const delivering = target.ask(deliverOperation(message));
    while (target.home.clock.timers === 0) await new Promise((resolve) => setImmediate(resolve));
    target.home.clock.advance(5000);
    assert.equal(refused(await delivering), "io_error");
    writer();
    assert.deepEqual(await target.receipt(message), { receipt: null });
    await target.deliver(message);
    assert.equal(target.messages().length, 1);
  });
});

describe("Receiver: cancel", () => {
  let target: Target;

  beforeEach(async () => {
    target = await Target.open();
  });

  afterEach(() => target.home.remove());

  const request = (changes: Partial<ConnectMessage> = {}) =>
    target.message({ message_mode: "request_reply", ...changes });

  it("withdraws the obligation, leaves the message and touches no one", async () => {
    verifies(
      "PEER-013",
      "PEER-014",
      "CAN-014",
      "CAN-021",
      "CAN-022",
      "CAN-023",
      "CAN-028",
      "EVT-006",
      "EVT-011",
      "EVT-012",
    );
    const original = request();
    const { receipt: delivered } = await target.deliver(original);
    const cancellation = target.cancellation(original);
    const { receipt } = await target.cancel(cancellation);
    const [control] = target.events("chat.reply_request.cancelled");
    assert.ok(control !== undefined);
    assert.deepEqual(receipt, {
      delivery_id: cancellation.delivery_id,
      message_sha256: cancellationDigest(cancellation),
      event_id: control.id,
      delivered_at: control.ts,
    });
    assert.equal(control.by, remoteBy(target.peer.instance_id));
    assert.deepEqual(control.data, {
      source_event_id: delivered!.event_id,
      cancelled_by: `connect:${target.peer.instance_id}::dora`,
      recipients: ["ann"],
      connect_cancel: cancellation,
      connect_cancel_sha256: cancellationDigest(cancellation),
    });
    const status = await target.home.status(target.group_id, delivered!.event_id);
    assert.equal(status.obligation_status.ann?.state, "cancelled");
    assert.deepEqual(status.connect_cancellation, { state: "sent" });
    assert.equal(status.delivery_status.ann?.state, "pending");
    assert.equal(target.messages().length, 1);
    assert.deepEqual(await target.receipt(original), { receipt: delivered });
  });

  it("is recorded once, and nothing else under its id", async () => {
    verifies("CAN-029", "CAN-031");
    const original = request();
    await target.deliver(original);
    const cancellation = target.cancellation(original);
    const { receipt } = await target.cancel(cancellation);
    target.home.clock.advance(16 * MINUTE);
    assert.deepEqual(await target.cancel(cancellation), { receipt, duplicate: true });
    await target.home.call("ledger_compact", { group_id: target.group_id });
    const home = await target.home.restarted();
    const { identity, peer, way, group_id } = target;
    target = new Target({ home, identity, peer, way, group_id });
    assert.deepEqual(await target.cancel(cancellation), { receipt, duplicate: true });
    const changed = { ...cancellation, created_at: "2026-01-01T00:00:01.000Z" };
    const answer = await target.ask({ op: "cancel", cancellation: changed });
    assert.equal(refused(answer), "connect_content_conflict");
    assert.equal(target.events("chat.reply_request.cancelled").length, 1);
  });

  it("waits for an original that may still come, and keeps it out afterwards", async () => {
    verifies("CAN-009", "CAN-015", "CAN-016", "CAN-017", "CAN-018", "ERR-013");
    const original = request();
    const early = target.cancellation(original);
    assert.equal(
      refused(await target.ask({ op: "cancel", cancellation: early })),
      "connect_original_pending",
    );
    target.home.clock.advance(15 * MINUTE - 1);
    const cancellation = target.cancellation(original);
    assert.equal(refused(await target.ask({ op: "cancel", cancellation })), "connect_original_pending");
    target.home.clock.advance(1);
    const { receipt } = await target.cancel(cancellation);
    const [control] = target.events("chat.reply_request.cancelled");
    assert.equal(control?.id, receipt?.event_id);
    assert.deepEqual(
      [control?.data.source_event_id, control?.data.not_delivered, control?.data.recipients],
      [null, true, []],
    );
    assert.deepEqual(await target.cancel(cancellation), { receipt, duplicate: true });
    // A clock that went back would let it in again.
    target.home.clock.advance(-10 * MINUTE);
    assert.equal(refused(await target.ask(deliverOperation(original))), "connect_message_withdrawn");
    const undashed = { ...original, delivery_id: original.delivery_id.replaceAll("-", "") };
    assert.equal(refused(await target.ask(deliverOperation(undashed))), "connect_message_withdrawn");
    const another = target.cancellation(original, { delivery_id: randomUUID() });
    target.home.clock.advance(10 * MINUTE);
    assert.equal(
      refused(await target.ask({ op: "cancel", cancellation: another })),
      "connect_content_conflict",
    );
    assert.equal(target.messages().length, 0);
    assert.deepEqual(await target.receipt(original), { receipt: null });
  });

  it("leaves the peer free to deliver the original meanwhile", async () => {
    verifies("CAN-016");
    const original = request();
    const cancellation = target.cancellation(original);
    const asked = target.ask({ op: "cancel", cancellation });
    const delivered = target.deliver(original);
    assert.equal(refused(await asked), "connect_original_pending");
    const { receipt } = await delivered;
    await target.cancel(cancellation);
    const status = await target.home.status(target.group_id, receipt!.event_id);
    assert.equal(status.obligation_status.ann?.state, "cancelled");
  });

  it("is the sender's in its generation, or a person's, never a recipient's", async () => {
    verifies("CAN-008", "CAN-025", "CAN-026", "CAN-027");
    const original = request();
    await target.deliver(original);
    const { sender } = original;
    const user = { id: "user", title: "", generation: "", enabled: true, role: null };
    const bent: Parameters<Target["cancellation"]>[1][] = [
      { sender: { ...sender, generation: "another generation" } },
      { sender: { ...sender, id: "ann", generation: target.recipient("ann").generation } },
      { original_message_sha256: messageDigest(request()) },
      { original_source_event_id: UNKNOWN },
      { original_deliver_before: new Date(target.home.clock.now() + 1).toISOString() },
      { source: { ...target.source, group_id: "g_other" } },
    ];
    for (const changes of bent) {
      const cancellation = target.cancellation(original, changes);
      const answer = await target.ask({ op: "cancel", cancellation });
      assert.equal(refused(answer), "connect_cancellation_denied", JSON.stringify(changes));
    }
    const plain = target.message();
    await target.deliver(plain);
    const wrong = await target.ask({ op: "cancel", cancellation: target.cancellation(plain) });
    assert.equal(refused(wrong), "connect_cancellation_denied");
    await target.cancel(target.cancellation(original, { sender: user }));
    assert.equal(target.events("chat.reply_request.cancelled").length, 1);
  });

  it("keeps to its own times", async () => {
    const original = request();
    await target.deliver(original);
    const late = target.cancellation(original);
    target.home.clock.advance(15 * MINUTE);
    assert.equal(refused(await target.ask({ op: "cancel", cancellation: late })), "connect_message_expired");
    const created_at = new Date(target.home.clock.now() + 31_000).toISOString();
    const early = target.cancellation(original, { created_at });
    assert.equal(refused(await target.ask({ op: "cancel", cancellation: early })), "connect_message_expired");
    assert.equal(target.events("chat.reply_request.cancelled").length, 0);
  });
});

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
    const { home, group_id, peer } = target;
    const actor = (id: string) => ({
      id,
      title: id,
      generation: `generation of ${id}`,
      enabled: true,
      role: null,
    });
    const event_id = randomUUID().replaceAll("-", "");
    const message = target.message({
      source: target.address,
      target: target.source,
      sender: target.recipient("ann"),
      recipients: [actor("cora"), actor("dora")],
      source_event_id: event_id,
      message_mode: "request_reply",
      ...changes,
    });
    const room = home.messaging.get(group_id);
    const event = room.event("chat.message", message.sender.id === "user" ? "user" : "ann", {
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
    await room.ledger.append({ ...event, id: event_id });
    return { event_id, message };
  }

  const answer = (original: ConnectMessage, event_id: string, changes: Partial<ConnectMessage> = {}) =>
    target.message({
      sender: original.recipients[0]!,
      recipients: [target.recipient("ann")],
      reply_to: { delivery_id: original.delivery_id, event_id },
      ...changes,
    });

  it("from a recipient fulfil its part of the request and stand under the message", async () => {
    verifies("RPL-003", "RPL-006", "RPL-013");
    const { event_id, message } = await sent();
    const [cora, dora] = message.recipients.map(({ id }) => `connect:${target.peer.instance_id}::${id}`);
    const { receipt } = await target.deliver(answer(message, event_id));
    const reply = target.group.ledger.readById(receipt!.event_id);
    assert.equal(reply.data.reply_to, event_id);
    const { obligation_status } = await target.home.status(target.group_id, event_id);
    assert.equal(obligation_status[cora!]?.state, "replied");
    assert.deepEqual(obligation_status[dora!], { state: "open" });
    assert.deepEqual((await target.home.read(target.group_id, "ann")).texts, ["hello"]);
  });

  it("from a person fulfil nobody's part", async () => {
    verifies("RPL-007", "RPL-008", "RPL-009");
    const { event_id, message } = await sent();
    const user = { id: "user", title: "", generation: "", enabled: true, role: null };
    await target.deliver(answer(message, event_id, { sender: user }));
    const { obligation_status } = await target.home.status(target.group_id, event_id);
    assert.ok(Object.values(obligation_status).every(({ state }) => state === "open"));
    assert.equal(target.messages().at(-1)?.data.source_user_id, "user");
  });

  it("to a person reach the person", async () => {
    verifies("RPL-007");
    const user = { id: "user", title: "user", generation: "", enabled: true, role: null };
    const { event_id, message } = await sent({ sender: user });
    await target.deliver(answer(message, event_id, { recipients: [user] }));
    assert.deepEqual(target.messages().at(-1)?.data.to, ["user"]);
    assert.equal(target.home.messaging.counts(target.group_id).unread, 1);
  });

  it("come from participants to participants, in their generations, over the same connection and in time", async () => {
    verifies("RPL-005", "RPL-006", "RPL-010", "RPL-011", "RPL-012", "LIM-034");
    const { event_id, message } = await sent({ deliver_before: soon(), reply_before: soon() });
    const reply = (changes: Partial<ConnectMessage>) => deliverOperation(answer(message, event_id, changes));
    const [cora] = message.recipients as [ConnectMessage["sender"]];
    const bent: Partial<ConnectMessage>[] = [
      { sender: { ...cora, generation: "another generation" } },
      { sender: { ...cora, id: "eve" } },
      { recipients: [target.recipient("bob")] },
      { recipients: [target.recipient("ann"), target.recipient("bob")] },
      { reply_to: { delivery_id: randomUUID(), event_id } },
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
    const { event_id, message } = await sent();
    await target.home.call("actor_remove", { group_id: target.group_id, actor_id: "ann" });
    await target.home.call("actor_add", { group_id: target.group_id, actor_id: "ann" });
    const wrong = refused(await target.ask(deliverOperation(answer(message, event_id))));
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
    const { event_id, message } = await sent();
    const user = { id: "user", title: "", generation: "", enabled: true, role: null };
    const byActor = target.cancellation(message, { sender: message.recipients[0]! });
    assert.equal(
      refused(await target.ask({ op: "cancel", cancellation: byActor })),
      "connect_cancellation_denied",
    );
    await target.cancel(target.cancellation(message, { sender: user }));
    const { obligation_status } = await target.home.status(target.group_id, event_id);
    assert.deepEqual(
      new Set(Object.values(obligation_status).map(({ state }) => state)),
      new Set(["cancelled"]),
    );
  });

  function soon(): string {
    return new Date(target.home.clock.now() + MINUTE).toISOString();
  }
});

describe("Receiver: catalog", () => {
  let target: Target;

  afterEach(() => target.home.remove());

  it("shows Groups in pages of 64 in the order of their ids, to the account", async () => {
    verifies("PEER-007", "PEER-008", "PEER-016", "CAT-001", "CAT-002", "CAT-003");
    target = await Target.open("account");
    for (let count = 1; count < 130; count += 1) await target.home.group();
    const first = await target.catalog();
    assert.equal(first.groups.length, LIMITS.connect.catalog.groups);
    const second = await target.catalog(first.next);
    const third = await target.catalog(second.next);
    assert.deepEqual([second.groups.length, third.groups.length, third.next], [64, 2, null]);
    const ids = [first, second, third].flatMap(({ groups }) => groups.map(({ group_id }) => group_id));
    assert.deepEqual(
      ids,
      target.home.registry
        .list()
        .map(({ group_id }) => group_id)
        .sort(),
    );
    assert.deepEqual((await target.catalog("zzz")).groups, []);
  });

  it("shows titles and Actors, and nothing of how they run", async () => {
    verifies("CAT-004", "CAT-005", "CAT-007");
    target = await Target.open("account");
    const { group_id } = target;
    const marked = {
      actor_id: "eve",
      title: "Eve",
      command: ["a-secret-command"],
      env: { KEY: "a-secret-value" },
    };
    await target.home.call("actor_add", { group_id, ...marked });
    await target.home.call("actor_stop", { group_id, actor_id: "eve" });
    const page = await target.catalog(null, group_id);
    assert.deepEqual(page, {
      groups: [
        {
          group_id,
          title: "Test",
          actors: ["ann", "bob", "eve"].map((id) => ({
            id,
            title: id === "eve" ? "Eve" : "",
            generation: target.group.actor(id).generation,
            enabled: id !== "eve",
            role: id === "ann" ? "foreman" : "peer",
          })),
        },
      ],
      next: null,
    });
    assert.ok(!JSON.stringify(page).includes("secret"));
    assert.equal(
      refused(
        await target.ask({ op: "catalog", source_group_id: "", target_group_id: "g_none", after: null }),
      ),
      "connect_group_not_found",
    );
  });

  it("shows the Actors that everybody here sees, and nobody else who speaks in a Group", async () => {
    verifies("CAT-006");
    target = await Target.open("account");
    const { group_id } = target;
    // Whatever is said by others than visible Actors: the person, the daemon, and one who is gone.
    await target.home.call("actor_add", { group_id, actor_id: "gone" });
    await target.home.call("send", { group_id, text: "to one who is gone", to: ["gone"] });
    await target.home.call("actor_remove", { group_id, actor_id: "gone" });
    for (const actor_id of RESERVED_ACTOR_IDS)
      await assert.rejects(target.home.call("actor_add", { group_id, actor_id }), refusal("invalid_args"));
    for (const hidden of [{ visible: false }, { internal: true }, { hidden: true }])
      await assert.rejects(
        target.home.call("actor_add", { group_id, actor_id: "inside", ...hidden }),
        refusal("invalid_args"),
      );
    const { actors } = await target.home.call("actor_list", { group_id });
    const [group] = (await target.catalog(null, group_id)).groups;
    assert.deepEqual(
      group!.actors.map(({ id }) => id),
      actors.map(({ id }) => id),
    );
    assert.deepEqual(
      group!.actors.map(({ id }) => id),
      ["ann", "bob"],
    );
  });

  for (const way of ["external", "direct"] as const) {
    it(`shows the one Group of a pair, to that pair (${way})`, async () => {
      verifies("PEER-016", "PEER-017");
      target = await Target.open(way);
      const other = await target.home.group("cleo");
      const { groups, next } = await target.catalog();
      assert.deepEqual([groups.map(({ group_id }) => group_id), next], [[target.group_id], null]);
      const connection_id = target.connection_id!;
      const ask = (target_group_id: string, source_group_id: string) =>
        target.ask({ op: "catalog", connection_id, source_group_id, target_group_id, after: null });
      await assert.rejects(ask(other, "g_there"), refusal("connect_peer_denied"));
      await assert.rejects(ask(target.group_id, "g_other"), refusal("connect_peer_denied"));
    });
  }

  it("ends a page early rather than over 1 MiB", async () => {
    verifies("CAT-001");
    target = await Target.open("account");
    const { registry } = target.home;
    const title = "\\".repeat(1000);
    for (let count = 0; count < 4; count += 1) {
      const group_id = await target.home.group();
      await registry.get(group_id).update(
        (record) => ({
          ...record,
          actors: Array.from({ length: 250 }, (_, at) => ({
            ...target.group.actor("ann"),
            id: `a${at}`,
            title,
          })),
        }),
        { kind: "group.update", by: "user", data: {} },
      );
    }
    const seen: string[] = [];
    let after: string | null = null;
    let pages = 0;
    do {
      const { groups, next } = await target.catalog(after);
      assert.ok(Buffer.byteLength(JSON.stringify({ groups, next })) <= LIMITS.connect.catalogPageBytes);
      seen.push(...groups.map(({ group_id }) => group_id));
      after = next;
      pages += 1;
    } while (after !== null);
    assert.ok(pages > 1);
    assert.deepEqual(
      seen,
      registry
        .list()
        .map(({ group_id }) => group_id)
        .sort(),
    );
  });

  it("answers within its bounds whatever is refused", async () => {
    target = await Target.open("account");
    const request = target.request(
      deliverOperation(
        target.message({ recipients: [{ ...target.recipient("ann"), generation: "x".repeat(128) }] }),
      ),
    );
    const response = await target.receiver.receive(request, target.arrival);
    assert.ok(Buffer.byteLength(JSON.stringify(response)) <= LIMITS.connect.answerBytes);
    refused(target.checked(request, response));
  });
});
