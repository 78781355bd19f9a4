/** What a peer is told of a message that it may have delivered. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { verifies } from "../requirements.ts";
import { until } from "../support/until.ts";
import { messageDigest } from "../wire/digests.ts";
import { deliverOperation, MINUTE, refused, sha256, Target } from "./receiver-setting.ts";

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

  it("of a Group whose history is damaged comes later, and nobody knows once a person went on", async () => {
    const message = target.message();
    const { receipt } = await target.deliver(message);
    const kept = target.message();
    await target.deliver(kept);
    const { home, group_id: groupId } = target;
    const path = join(target.group.paths.ledger, "active.jsonl");
    const bytes = readFileSync(path);
    bytes[bytes.indexOf(`"id":"${receipt!.event_id}"`) - 2] = 0;
    writeFileSync(path, bytes);
    await home.call("ledger_verify", { group_id: groupId });
    // Temporary for the sender, which keeps its message.
    for (const operation of [
      target.receiptOperation(message),
      deliverOperation(message),
      deliverOperation(target.message()),
    ])
      assert.equal(refused(await target.ask(operation)), "io_error");
    assert.notEqual((await target.receipt(kept)).receipt, null);
    await home.call("ledger_continue", { group_id: groupId, confirm: groupId });
    assert.equal(refused(await target.ask(target.receiptOperation(message))), "connect_peer_denied");
    assert.notEqual((await target.receipt(kept)).receipt, null);
    assert.notEqual((await target.deliver(message)).receipt, null);
    home.clock.advance(16 * MINUTE);
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

  it("is never null for a delivery that came before, however long the digest of its files takes", async () => {
    verifies("PEER-041");
    const file = Buffer.alloc(4 * 1024 * 1024, 1);
    const message = target.message({
      attachments: [
        { sha256: sha256(file), bytes: file.length, name: "large", mime_type: "application/octet-stream" },
      ],
    });
    const delivering = target.deliver(message, [file]);
    // The query's own digest is quick.
    const { receipt } = await target.receipt(message);
    assert.notEqual(receipt, null);
    assert.deepEqual((await delivering).receipt, receipt);
  });

  it("is refused when the grant ended while it waited", async () => {
    verifies("PEER-043", "DRC-060");
    const message = target.message();
    await target.deliver(message);
    const release = await target.group.permit.acquireRead();
    const delivering = target.ask(deliverOperation(target.message()));
    await new Promise((resolve) => setImmediate(resolve));
    const asked = target.ask(target.receiptOperation(message));
    await new Promise((resolve) => setImmediate(resolve));
    target.authority.state = "gone";
    release();
    assert.equal(refused(await delivering), "connect_peer_denied");
    assert.equal(refused(await asked), "connect_peer_denied");
  });

  for (const permit of ["acquireRead", "acquireWrite"] as const) {
    it(`isn't kept waiting for ever: a delivery gives up on a busy Group (${permit})`, async () => {
      verifies("PEER-010", "PEER-015");
      const message = target.message();
      const release = await target.group.permit[permit]();
      const delivering = target.ask(deliverOperation(message));
      await until("it waits", () => target.home.clock.timers > 0);
      target.home.clock.advance(5000);
      assert.equal(refused(await delivering), "io_error");
      release();
      assert.deepEqual(await target.receipt(message), { receipt: null });
      await target.deliver(message);
      assert.equal(target.messages().length, 1);
    });
  }
});
