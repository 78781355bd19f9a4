/**
 * The feed store: gapless over pages and stream, statuses only where something can still happen.
 */

import assert from "node:assert/strict";
import type { LedgerEvent, MessageEvent } from "../../shared/events.ts";
import type { LedgerListener } from "../../shared/stream-client/listeners.ts";
import { type Host, HostError } from "../../webview/hosts/host.ts";
import { Feed, type Place } from "../../webview/state/feed-store.ts";
import { verifies } from "../requirements.ts";
import { chatMessage, odd } from "../support/events.ts";
import { until } from "../support/until.ts";

const GROUP = "g_000000000001";

function message(number: number): MessageEvent {
  const data = chatMessage({ to: ["a"], text: String(number) });
  return {
    v: 1,
    id: `e${number}`,
    ts: "2026-01-01T00:00:00.000Z",
    kind: "chat.message",
    group_id: GROUP,
    scope_key: "",
    by: "user",
    data,
  };
}

/** A ledger in memory with the operations that the feed calls. */
class Ledger {
  readonly events: LedgerEvent[] = [];
  readonly asked: string[][] = [];
  listener: LedgerListener | null = null;
  after: string | null = null;
  /** Runs before a page is answered. */
  beforePage: () => void = () => {};

  add(count: number): void {
    for (let index = 0; index < count; index += 1) this.append(message(this.events.length));
  }

  append(event: LedgerEvent): void {
    this.events.push(event);
    this.listener?.event(event);
  }

  readonly host = {
    call: async (name: string, input: Record<string, unknown>) => {
      if (name === "ledger_statuses") {
        this.asked.push(input["event_ids"] as string[]);
        const state = { state: "accepted", reason: "", ts: null };
        return {
          statuses: Object.fromEntries(
            (input["event_ids"] as string[]).map((id) => [
              id,
              { read_status: {}, obligation_status: {}, delivery_status: { a: state } },
            ]),
          ),
        };
      }
      if (input["limit"] !== 1) this.beforePage();
      const at = (id: unknown) => this.events.findIndex((event) => event.id === id);
      if (name === "ledger_window") {
        const middle = at(input["event_id"]);
        if (middle === -1) throw new HostError("event_not_found", "There is no such event.");
        const [from, to] = [middle - Number(input["before"]), middle + 1 + Number(input["after"])];
        const events = this.events.slice(Math.max(from, 0), to);
        return { events, has_older: from > 0, has_newer: to < this.events.length };
      }
      const limit = input["limit"] as number;
      if (input["before"] !== undefined) {
        const older = this.events.slice(0, at(input["before"]));
        return { events: older.slice(-limit), has_more: older.length > limit };
      }
      if (input["after"] !== undefined) {
        const newer = this.events.slice(at(input["after"]) + 1);
        return { events: newer.slice(0, limit), has_more: newer.length > limit };
      }
      return { events: this.events.slice(-limit), has_more: this.events.length > limit };
    },
    watchLedger: (_: string, after: string | null, listener: LedgerListener) => {
      this.listener = listener;
      this.after = after;
      const from = this.events.findIndex((event) => event.id === after) + 1;
      for (const event of this.events.slice(from)) listener.event(event);
      return () => {
        this.listener = null;
      };
    },
  } as unknown as Host;
}

function feedOf(host: Host, place: () => Place | null = () => null): Feed {
  return new Feed(host, GROUP, () => {}, place);
}

describe("Feed", () => {
  it("misses nothing that happens between its first page and the stream", async () => {
    const ledger = new Ledger();
    ledger.add(5);
    ledger.beforePage = () => {
      ledger.add(1);
      ledger.beforePage = () => {};
    };
    const feed = feedOf(ledger.host);
    await feed.open();
    ledger.add(1);
    assert.deepEqual(
      feed.rows.map((row) => row.id),
      ["e0", "e1", "e2", "e3", "e4", "e5", "e6"],
    );
    assert.equal(ledger.after, "e4");
    feed.close();
  });

  it("pages through the whole history and back", async () => {
    const ledger = new Ledger();
    ledger.add(1000);
    const feed = feedOf(ledger.host);
    await feed.open();
    feed.following = false;
    while (feed.window.hasOlder) await feed.older();
    assert.equal(feed.rows[0]?.id, "e0");
    while (feed.window.hasNewer) await feed.newer();
    assert.equal(feed.rows.at(-1)?.id, "e999");
    feed.close();
  });

  it("reads a fresh page when the stream can't go on", async () => {
    const ledger = new Ledger();
    ledger.add(3);
    const feed = feedOf(ledger.host);
    await feed.open();
    ledger.events.splice(0);
    ledger.events.push(message(100));
    ledger.listener?.reload();
    await until("the fresh page", () => feed.rows.length === 1);
    assert.equal(feed.rows[0]?.id, "e100");
    feed.close();
  });

  it("stays where the person reads when the stream can't go on", async () => {
    const ledger = new Ledger();
    ledger.add(1000);
    let place: Place | null = null;
    const feed = feedOf(ledger.host, () => place);
    await feed.open();
    assert.equal(await feed.jump("e300"), true);
    place = { eventId: "e300", offset: 0 };
    const { rows } = feed;
    ledger.listener?.reload();
    await until("the fresh page", () => feed.rows !== rows);
    assert.ok(feed.window.has("e300"));
    feed.close();
  });

  it("tells an event that isn't there from no answer, and asks again at once for the person", async () => {
    const ledger = new Ledger();
    ledger.add(1000);
    const feed = feedOf(ledger.host);
    await feed.open();
    ledger.beforePage = () => {
      throw new HostError("offline", "The daemon didn’t answer.");
    };
    assert.equal(await feed.jump("e300"), null);
    ledger.beforePage = () => {};
    assert.equal(await feed.jump("e5000"), false);
    assert.equal(await feed.jump("e300"), true);
    assert.ok(feed.window.has("e300"));
    feed.close();
  });

  it("is never put back by an answer that was overtaken", async () => {
    verifies("OUT-033");
    const ledger = new Ledger();
    ledger.add(1);
    const answers: (() => void)[] = [];
    const host = {
      ...ledger.host,
      call: async (name: string, input: Record<string, unknown>) => {
        if (name !== "ledger_statuses")
          return (ledger.host.call as (...args: unknown[]) => unknown)(name, input);
        const state = answers.length === 0 ? "queued" : "sent";
        await new Promise<void>((resolve) => answers.push(resolve));
        const [id] = input["event_ids"] as string[];
        const status = { read_status: {}, obligation_status: {}, delivery_status: {} };
        return { statuses: { [id!]: { ...status, connect_delivery: { state } } } };
      },
    } as unknown as Host;
    const feed = feedOf(host);
    await feed.open();
    await until("the first question", () => answers.length === 1);
    ledger.append(odd({ ...message(1), id: "receipt", kind: "connect.receipt" }));
    // A timer that is set later and lasts longer than the feed's own comes after it.
    await new Promise((resolve) => setTimeout(resolve, 200));
    answers[1]?.();
    await new Promise((resolve) => setImmediate(resolve));
    answers[0]!();
    await until("the second question", () => answers.length === 2);
    answers[1]!();
    const shown = () => feed.status("e0")?.connect_delivery?.state;
    await until("what holds", () => shown() !== "queued" && shown() !== undefined);
    assert.equal(shown(), "sent");
    feed.close();
  });

  it("opens by itself when the Group was busy", async () => {
    const ledger = new Ledger();
    ledger.add(3);
    let busy = true;
    const { host } = ledger;
    const call = host.call.bind(host);
    host.call = (name: never, input: never) => {
      if (busy) return Promise.reject(new HostError("group_busy", "The Group is being reset."));
      return call(name, input);
    };
    const feed = feedOf(host);
    await feed.open();
    assert.match(feed.failure ?? "", /being reset/);
    busy = false;
    await until("it is open", () => feed.loaded && feed.failure === null);
    assert.equal(feed.rows.length, 3);
    feed.close();
  });

  it("asks for the state of a message only until it is settled", async () => {
    const ledger = new Ledger();
    ledger.add(2);
    const feed = feedOf(ledger.host);
    await feed.open();
    await until("the first states", () => feed.status("e1"));
    ledger.add(1);
    await until("the state of the new one", () => feed.status("e2"));
    assert.deepEqual(ledger.asked, [["e0", "e1"], ["e2"]]);
    feed.close();
  });

  it("shows deliveries as words and not as rows", async () => {
    const ledger = new Ledger();
    ledger.add(1);
    const feed = feedOf(ledger.host);
    await feed.open();
    ledger.append(odd({ ...message(7), kind: "runtime.delivery" }));
    assert.deepEqual(
      feed.rows.map((row) => row.id),
      ["e0"],
    );
    feed.close();
  });
});
