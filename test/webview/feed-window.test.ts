/** The window on a Group's ledger: bounded, contiguous, each event once. */
import assert from "node:assert/strict";
import { array, boolean, assert as check, constant, integer, oneof, property, record } from "fast-check";
import type { LedgerEvent } from "../../shared/events.ts";
import { FeedWindow, WINDOW_ROWS } from "../../webview/state/feed-window.ts";
import { chatMessage, messageOf } from "../support/events.ts";

function event(number: number): LedgerEvent {
  return {
    v: 1,
    id: number.toString(16).padStart(32, "0"),
    ts: new Date(number * 1000).toISOString(),
    kind: "chat.message",
    group_id: "g_000000000000",
    scope_key: "",
    by: "user",
    data: chatMessage({ text: String(number) }),
  };
}

function run(from: number, to: number): LedgerEvent[] {
  return Array.from({ length: to - from }, (_, index) => event(from + index));
}

function numbers(window: FeedWindow): number[] {
  return window.rows.map((row) => Number(messageOf(row).text));
}

describe("FeedWindow", () => {
  it("trims the newest rows when older ones come, and knows that they exist", () => {
    const window = new FeedWindow();
    window.reset(run(500, 500 + WINDOW_ROWS), { older: true, newer: false });
    window.prepend(run(440, 500), true);
    assert.equal(window.rows.length, WINDOW_ROWS);
    assert.equal(numbers(window)[0], 440);
    assert.ok(window.hasNewer);
  });

  it("trims the oldest rows while the person follows the end", () => {
    const window = new FeedWindow();
    window.reset(run(0, WINDOW_ROWS), { older: false, newer: false });
    assert.ok(window.accept(event(WINDOW_ROWS), true));
    assert.equal(window.rows.length, WINDOW_ROWS);
    assert.equal(numbers(window)[0], 1);
    assert.ok(window.hasOlder);
    assert.equal(window.unseen, 0);
  });

  it("moves nothing while the person looks elsewhere, and counts what came", () => {
    const window = new FeedWindow();
    window.reset(run(0, WINDOW_ROWS), { older: false, newer: false });
    window.accept(event(WINDOW_ROWS), false);
    window.accept(event(WINDOW_ROWS + 1), false);
    assert.equal(numbers(window)[0], 0);
    assert.equal(window.unseen, 2);
    assert.ok(window.hasNewer);
    window.append(run(WINDOW_ROWS, WINDOW_ROWS + 2), false);
    assert.equal(window.unseen, 0);
  });

  it("takes an event once, however often it comes", () => {
    const window = new FeedWindow();
    window.reset(run(0, 3), { older: false, newer: false });
    assert.equal(window.accept(event(2), true), false);
    assert.equal(window.accept(event(3), true), true);
    assert.equal(window.accept(event(3), false), false);
    assert.equal(window.unseen, 0);
  });

  it("is a contiguous, bounded run of the ledger after any walk through it", () => {
    const step = oneof(
      record({ kind: constant("older" as const), page: integer({ min: 1, max: 80 }) }),
      record({ kind: constant("newer" as const), page: integer({ min: 1, max: 80 }) }),
      record({ kind: constant("live" as const), following: boolean() }),
    );
    check(
      property(array(step, { maxLength: 60 }), (steps) => {
        const ledger = run(0, 600);
        const window = new FeedWindow();
        window.reset(ledger.slice(-60), { older: true, newer: false });
        for (const next of steps) {
          const first = numbers(window)[0]!;
          const last = numbers(window).at(-1)!;
          if (next.kind === "older" && window.hasOlder) {
            const page = ledger.slice(Math.max(0, first - next.page), first);
            window.prepend(page, first - page.length > 0);
          } else if (next.kind === "newer" && window.hasNewer) {
            const page = ledger.slice(last + 1, last + 1 + next.page);
            window.append(page, last + 1 + page.length < ledger.length);
          } else if (next.kind === "live") {
            const fresh = event(ledger.length);
            ledger.push(fresh);
            window.accept(fresh, next.following);
          }
          const shown = numbers(window);
          assert.ok(shown.length <= WINDOW_ROWS);
          shown.forEach((number, index) => assert.equal(number, shown[0]! + index));
          assert.equal(window.hasOlder, shown[0]! > 0);
          assert.equal(window.hasNewer, shown.at(-1)! < ledger.length - 1);
          assert.ok(shown.every((number) => window.has(event(number).id)));
        }
      }),
    );
  });
});
