/** The checker of claims and cursors finds what it is there to find. */
import assert from "node:assert/strict";
import type { LedgerEvent } from "../../shared/events.ts";
import { ActorHistory, type Handed } from "./actor-history.ts";

const order = ["m1", "d1", "m2", "d2"];
const place = (id: string): number => order.indexOf(id);
function handed(id: string, redelivered = false): Handed {
  return { event: { id } as LedgerEvent, delivery: id.startsWith("m") ? "mail" : "direct", redelivered };
}

describe("the checker of an Actor's Inbox", () => {
  it("takes claim, crash, redelivery and acknowledgement", () => {
    const history = new ActorHistory("a");
    assert.deepEqual(history.batch([handed("m1"), handed("d1")], [], 0, place), []);
    assert.deepEqual(history.unacknowledged(), ["m1", "d1"]);
    assert.deepEqual(history.batch([handed("d1", true), handed("m2")], [], 2, place), []);
    history.lostAcknowledgement(["d1"]);
    assert.deepEqual(history.batch([handed("d1", true)], [], 2, place), []);
    assert.deepEqual(history.batch([handed("d2")], ["d1"], 2, place), []);
    assert.ok(history.isAcknowledged("d1") && !history.isAcknowledged("d2"));
  });

  it("finds a message again after its acknowledgement", () => {
    const history = new ActorHistory("a");
    history.batch([handed("d1")], [], -1, place);
    history.batch([], ["d1"], -1, place);
    assert.match(
      history.batch([handed("d1", true)], [], -1, place).join(),
      /acknowledged d1 and got it again/,
    );
  });

  it("finds a second delivery that isn't marked", () => {
    const history = new ActorHistory("a");
    history.batch([handed("d1")], [], -1, place);
    assert.match(history.batch([handed("d1")], [], -1, place).join(), /again without redelivered/);
  });

  it("takes Mail again that wasn't acknowledged", () => {
    const history = new ActorHistory("a");
    history.batch([handed("m1"), handed("m2")], [], -1, place);
    assert.deepEqual(history.batch([handed("m1"), handed("m2")], [], -1, place), []);
  });

  it("finds Mail that comes again after its acknowledgement, or out of order, and a cursor that goes back", () => {
    const history = new ActorHistory("a");
    history.batch([handed("m1"), handed("m2")], [], -1, place);
    assert.match(
      history.batch([handed("m1")], ["m1", "m2"], 2, place).join(),
      /acknowledged m1 and got it again/,
    );
    assert.match(history.batch([handed("m2"), handed("m1")], [], 2, place).join(), /Mail m1 out of order/);
    assert.match(history.cursorAt(0).join(), /cursor of a went back/);
  });
});
