/** What a peer may write here before it is asked to wait. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { ReceiverQuota } from "../../daemon/peers/receiving/receiver-quota.ts";
import { PeerRefusal } from "../../daemon/peers/wire/peer-refusal.ts";
import { LIMITS } from "../../shared/limits.ts";
import { isPassing } from "../../shared/wire/v1/refusals.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { deliverOperation, MINUTE, refused, Target } from "./receiver-setting.ts";

const { quota } = LIMITS.connect;
const isOver = (error: unknown): boolean =>
  error instanceof PeerRefusal && isPassing(error.code) && /sent as many/u.test(error.message);

describe("the allowance of a peer", () => {
  it("is so many records and bytes at a time, each peer's its own, and comes back", () => {
    const clock = new ManualClock();
    const allowance = new ReceiverQuota(clock);
    assert.deepEqual(allowance.left("one"), { records: quota.records, bytes: quota.bytes });
    for (let count = 0; count < quota.records; count += 1) allowance.spend("one", 10);
    assert.throws(() => allowance.spend("one", 10), isOver);
    assert.deepEqual(allowance.left("one"), { records: 0, bytes: quota.bytes - 10 * quota.records });
    allowance.spend("other", quota.bytes);
    assert.throws(() => allowance.spend("other", 1), isOver);
    assert.deepEqual(allowance.left("other"), { records: quota.records - 1, bytes: 0 });
    clock.advance(1000);
    assert.equal(allowance.left("one").records, quota.recordsPerSecond);
    clock.advance((24 * 60 * MINUTE) / 2);
    assert.equal(allowance.left("one").records, quota.records);
    assert.ok(allowance.left("other").bytes >= quota.bytesPerDay / 2);
    allowance.spend("other", quota.bytesPerDay / 2);
  });
});

describe("Receiver: what a peer writes", () => {
  let target: Target;
  beforeEach(async () => {
    target = await Target.open("direct");
  });
  afterEach(() => target.home.remove());

  it("counts once, and what is too much is refused for the time being and changes nothing", async () => {
    const left = () => target.quota.left(target.connection_id!);
    const before = left();
    const message = target.message({ text: "first", message_mode: "request_reply" });
    await target.deliver(message);
    await target.deliver(message);
    assert.equal(left().records, before.records - 1);
    assert.ok(left().bytes < before.bytes - 100);
    await target.cancel(target.cancellation(message));
    assert.equal(left().records, before.records - 2);
    const absent = target.message({ delivery_id: randomUUID() });
    const over = new Date(target.home.clock.now()).toISOString();
    const withdraw = () =>
      target.ask({
        op: "cancel",
        cancellation: target.cancellation(absent, { original_deliver_before: over }),
      });
    await withdraw();
    assert.equal(left().records, before.records - 3);
    for (let rest = left().records; rest > 0; rest -= 1) target.quota.spend(target.connection_id!, 0);
    const events = target.events("chat.message").length;
    const late = target.message({ text: "one too many" });
    const result = await target.ask(deliverOperation(late, []));
    assert.equal(refused(result), "io_error");
    assert.match(JSON.stringify(result), /sent as many messages/u);
    assert.equal(refused(await withdraw()), "io_error");
    assert.equal(target.events("chat.message").length, events);
    // What was received before is still said to have been.
    assert.equal((await target.deliver(message)).duplicate, true);
    target.home.clock.advance(1000);
    assert.notEqual((await target.deliver(late)).receipt, null);
  });
});
