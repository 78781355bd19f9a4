import assert from "node:assert/strict";
import { Mutex } from "../../platform/mutex.ts";
import { ManualClock } from "../support/manual-clock.ts";

/** Lets every promise that can settle settle. */
function settle(): Promise<void> {
  return new Promise((done) => setImmediate(done));
}

/** Asks for a permit and notes in `order` when it comes. */
function ask(mutex: Mutex, name: string, writes: boolean, order: string[]) {
  return (writes ? mutex.acquireWrite() : mutex.acquireRead()).then((release) => {
    order.push(name);
    return release;
  });
}

describe("Mutex", () => {
  it("lets readers in together and a writer alone", async () => {
    const mutex = new Mutex();
    const order: string[] = [];
    const first = await ask(mutex, "r1", false, order);
    const second = await ask(mutex, "r2", false, order);
    const writer = ask(mutex, "w", true, order);
    await settle();
    assert.deepEqual(order, ["r1", "r2"]);
    first();
    await settle();
    assert.deepEqual(order, ["r1", "r2"]);
    second();
    (await writer)();
    assert.deepEqual(order, ["r1", "r2", "w"]);
  });

  it("keeps the order of asking, so a writer is not starved by readers", async () => {
    const mutex = new Mutex();
    const order: string[] = [];
    const first = await ask(mutex, "r1", false, order);
    const writer = ask(mutex, "w", true, order);
    const late = ask(mutex, "r2", false, order);
    await settle();
    assert.deepEqual(order, ["r1"]);
    first();
    const release = await writer;
    await settle();
    assert.deepEqual(order, ["r1", "w"]);
    release();
    (await late)();
    assert.deepEqual(order, ["r1", "w", "r2"]);
  });

  it("takes a permit back once, however often it is released", async () => {
    const mutex = new Mutex();
    const first = await mutex.acquireRead();
    const second = await mutex.acquireRead();
    first();
    first();
    const order: string[] = [];
    const writer = ask(mutex, "w", true, order);
    await settle();
    assert.deepEqual(order, [], "the second reader still holds its permit");
    second();
    (await writer)();
  });

  it("lets those behind a writer go on when it gives up, and takes no permit afterwards", async () => {
    const mutex = new Mutex();
    const clock = new ManualClock();
    const order: string[] = [];
    const held = await mutex.acquireRead();
    const patience = { clock, milliseconds: 5000, late: () => new Error("busy") };
    const writer = mutex.acquireWrite(patience);
    const behind = ask(mutex, "r", false, order);
    clock.advance(4999);
    await settle();
    assert.deepEqual(order, []);
    clock.advance(1);
    await assert.rejects(writer, /busy/);
    (await behind)();
    held();
    (await mutex.acquireWrite(patience))();
    const again = await mutex.acquireRead();
    const patient = mutex.acquireWrite(patience);
    again();
    (await patient)();
    assert.equal(clock.timers, 0, "who has its permit waits for nothing");
  });

  it("refuses who waits and who comes later when it is destroyed, and leaves held permits alone", async () => {
    const mutex = new Mutex();
    const held = await mutex.acquireWrite();
    const waiting = mutex.acquireRead();
    mutex.destroy(new Error("shutting down"));
    mutex.destroy(new Error("second"));
    await assert.rejects(waiting, /shutting down/);
    await assert.rejects(mutex.acquireWrite(), /shutting down/);
    held();
  });
});
