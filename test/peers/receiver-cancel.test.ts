/** Withdrawals by a peer. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { remoteBy } from "../../daemon/messaging/projection/authors.ts";
import type { ConnectMessage } from "../../shared/wire/v1/message.ts";
import { verifies } from "../requirements.ts";
import { until } from "../support/until.ts";
import { cancellationDigest, messageDigest } from "../wire/digests.ts";
import { deliverOperation, MINUTE, refused, Target } from "./receiver-setting.ts";

const UNKNOWN = "0123456789abcdef0123456789abcdef";

describe("Receiver: cancel", () => {
  let target: Target;

  beforeEach(async () => {
    target = await Target.open();
  });

  afterEach(() => target.home.remove());

  const request = (changes: Partial<ConnectMessage> = {}) =>
    target.message({ message_mode: "request_reply", ...changes });

  it("needs the Group for itself, and gives up on a busy one", async () => {
    verifies("PEER-014");
    const original = request();
    await target.deliver(original);
    const cancellation = target.cancellation(original);
    const release = await target.group.permit.acquireRead();
    const { timers } = target.home.clock;
    const asked = target.ask({ op: "cancel", cancellation });
    await until("it waits", () => target.home.clock.timers > timers);
    target.home.clock.advance(5000);
    assert.equal(refused(await asked), "io_error");
    assert.deepEqual(target.events("chat.reply_request.cancelled"), []);
    release();
    await target.cancel(cancellation);
    assert.equal(target.events("chat.reply_request.cancelled").length, 1);
  });

  it("withdraws the obligation, leaves the message and touches no one", async () => {
    verifies("PEER-013", "CAN-014", "CAN-022", "CAN-023", "CAN-028", "EVT-006", "EVT-011", "EVT-012");
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
    const { identity, peer, way, group_id: groupId } = target;
    target = new Target({ home, identity, peer, way, group_id: groupId });
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
    target.home.clock.set(-10 * MINUTE);
    assert.equal(refused(await target.ask(deliverOperation(original))), "connect_message_withdrawn");
    const undashed = { ...original, delivery_id: original.delivery_id.replaceAll("-", "") };
    assert.equal(refused(await target.ask(deliverOperation(undashed))), "connect_message_withdrawn");
    const another = target.cancellation(original, { delivery_id: randomUUID() });
    target.home.clock.set(10 * MINUTE);
    assert.equal(
      refused(await target.ask({ op: "cancel", cancellation: another })),
      "connect_content_conflict",
    );
    assert.equal(target.messages().length, 0);
    assert.deepEqual(await target.receipt(original), { receipt: null });
  });

  it("says nothing of an original that may have come before a reset of the Group", async () => {
    verifies("CAN-017", "MSG-023");
    const original = request();
    await target.deliver(original);
    target.home.clock.advance(MINUTE);
    await target.home.call("group_reset", { group_id: target.group_id, confirm: target.group_id });
    target.home.clock.advance(MINUTE);
    const later = request();
    target.home.clock.advance(15 * MINUTE);
    const cancellation = target.cancellation(original);
    assert.equal(refused(await target.ask({ op: "cancel", cancellation })), "connect_peer_denied");
    assert.deepEqual(target.events("chat.reply_request.cancelled"), []);
    // What was written after the reset would be in the ledger.
    await target.cancel(target.cancellation(later));
    const [control] = target.events("chat.reply_request.cancelled");
    assert.equal(control?.data.not_delivered, true);
  });

  it("doesn't say that an original never came that a reset by a clock that was behind removed", async () => {
    verifies("CAN-017", "MSG-023");
    const { clock } = target.home;
    const original = request();
    await target.deliver(original);
    clock.advance(MINUTE);
    clock.set(-24 * MINUTE);
    await target.home.call("group_reset", { group_id: target.group_id, confirm: target.group_id });
    clock.set(24 * MINUTE);
    clock.advance(15 * MINUTE);
    const cancellation = target.cancellation(original);
    assert.equal(refused(await target.ask({ op: "cancel", cancellation })), "connect_peer_denied");
    assert.deepEqual(target.events("chat.reply_request.cancelled"), []);
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
    const createdAt = new Date(target.home.clock.now() + 31_000).toISOString();
    const early = target.cancellation(original, { created_at: createdAt });
    assert.equal(refused(await target.ask({ op: "cancel", cancellation: early })), "connect_message_expired");
    assert.equal(target.events("chat.reply_request.cancelled").length, 0);
  });
});
