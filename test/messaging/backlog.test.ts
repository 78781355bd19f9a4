import assert from "node:assert/strict";
import * as fc from "fast-check";
import { Backlog } from "../../daemon/messaging/projection/backlog.ts";

/** Ids whose kept halves collide often. */
const idOf = (number: number) => (number * 7919).toString(16).padStart(8, "0").repeat(4);
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("push"), count: fc.integer({ min: 1, max: 90 }) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("drop"), count: fc.integer({ min: 1, max: 60 }) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("remove"), count: fc.nat(200) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("find"), count: fc.nat(400) }) },
);

describe("A backlog", () => {
  it("finds what waits, and nothing else, however it grew and shrank", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const backlog = new Backlog();
        let model: number[] = [];
        let next = 0;
        for (const { kind, count } of steps) {
          if (kind === "push") {
            for (let at = 0; at < count; at += 1) {
              backlog.push(next, idOf(next));
              model.push(next);
              next += 1;
            }
          } else if (kind === "drop") {
            backlog.drop(Math.min(count, model.length));
            model = model.slice(count);
          } else if (kind === "remove" && model.length > 0) {
            const place = count % model.length;
            backlog.remove(place);
            model.splice(place, 1);
          } else assert.equal(backlog.find(idOf(count)), model.indexOf(count));
          assert.equal(backlog.count, model.length);
        }
        for (let number = 0; number < next; number += 7) {
          assert.equal(backlog.find(idOf(number)), model.indexOf(number));
        }
        const restored = Backlog.decode(backlog.encode());
        assert.deepEqual(
          model.map((number) => restored.find(idOf(number))),
          model.map((_, place) => place),
        );
      }),
      { numRuns: 200 },
    );
  });

  it("takes about as long to find one of many as one of few", () => {
    const time = (count: number): number => {
      const backlog = new Backlog();
      for (let number = 0; number < count; number += 1) backlog.push(number, idOf(number));
      const begin = performance.now();
      for (let number = 0; number < 2000; number += 1) {
        assert.equal(backlog.find(idOf(count - 1 - (number % 100))), count - 1 - (number % 100));
      }
      return performance.now() - begin;
    };
    time(200);
    const rounds = Array.from({ length: 12 }, () => [time(200), time(20_000)] as const);
    const few = Math.min(...rounds.map(([time]) => time));
    const many = Math.min(...rounds.map(([, time]) => time));
    // A look at each entry would take a hundred times as long.
    assert.ok(many < 30 * few + 5, `${many} ms against ${few} ms`);
  });
});
