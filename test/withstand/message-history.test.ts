/** The checker of the crash rounds finds what it is there to find. */
import assert from "node:assert/strict";
import type { LedgerEvent } from "../../shared/events.ts";
import { chatMessage, messageOf } from "../support/events.ts";
import { MessageHistory } from "./message-history.ts";

function message(key: string, text = key): LedgerEvent {
  return {
    v: 1,
    id: Buffer.from(key.padEnd(16)).toString("hex"),
    ts: "2026-01-01T00:00:00.000Z",
    kind: "chat.message",
    group_id: "g_000000000000",
    scope_key: "",
    by: "user",
    data: chatMessage({ to: ["a"], client_id: key, text }),
  };
}

/** Four messages sent one after the other, the last without an answer. */
function recorded(): { history: MessageHistory; events: LedgerEvent[] } {
  const history = new MessageHistory();
  const events = ["one", "two", "three", "four"].map((key) => message(key));
  for (const event of events) {
    const { client_id: key = "", text } = messageOf(event);
    history.begin(key, { text, message_mode: "send", to: ["a"], blobs: [] });
    if (key !== "four") assert.equal(history.answer(key, event.id, false), null);
  }
  return { history, events };
}

describe("the checker of crash rounds", () => {
  it("takes a faithful ledger, with and without the unanswered message", () => {
    const { history, events } = recorded();
    assert.deepEqual(history.check(events.slice(0, 3), true), []);
    history.begin("four", { text: "four", message_mode: "send", to: ["a"], blobs: [] });
    assert.deepEqual(history.check(events, true), []);
    assert.deepEqual(history.check(events, true), []);
  });

  const faults: Record<string, [(events: LedgerEvent[]) => LedgerEvent[], RegExp]> = {
    "a lost message": [
      (events) => events.filter((_, index) => index !== 1),
      /two, acknowledged as .*, is lost/,
    ],
    "a doubled message": [
      (events) => [...events, { ...events[0]!, id: "f".repeat(32) }],
      /one stands there twice/,
    ],
    "one event id twice": [(events) => [...events, events[0]!], /event id .* stands there twice/],
    "an altered text": [(events) => events.with(2, message("three", "thre3")), /three isn't what was sent/],
    "a swapped order": [
      ([first, second, ...rest]) => [second!, first!, ...rest],
      /two stands before one that was answered before it was sent/,
    ],
    "a message of nobody": [(events) => [...events, message("five")], /five was sent by nobody/],
    "another event id": [
      (events) => events.with(0, { ...events[0]!, id: "e".repeat(32) }),
      /one was acknowledged as .* and stands there as e+/,
    ],
  };
  for (const [name, [plant, expected]] of Object.entries(faults)) {
    it(`finds ${name}`, () => {
      const { history, events } = recorded();
      assert.match(history.check(plant(events), true).join("\n"), expected);
    });
  }

  it("finds a message that comes back after it was missing", () => {
    const { history, events } = recorded();
    history.check(events.slice(0, 3), true);
    assert.match(history.check(events, true).join("\n"), /four was missing after a crash/);
  });

  it("finds a history that changed behind what was read", () => {
    const { history, events } = recorded();
    history.check(events, true);
    const changed = events.with(1, { ...events[1]!, ts: "2026-01-01T00:00:00.001Z" });
    assert.match(history.check(changed, true).join("\n"), /the event at 1 was another one before/);
  });

  it("finds a retry that is written again", () => {
    const { history } = recorded();
    assert.match(history.answer("one", "d".repeat(32), false) ?? "", /one was acknowledged as/);
  });
});
