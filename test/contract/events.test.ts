/**
 * Ledger events: one table of kinds, which the documents follow and what comes from outside has to
 * fit.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import {
  ChatMessage,
  EVENT_DATA,
  LedgerEventSchema,
  MessageEventSchema,
  SourceEventSchema,
} from "../../shared/events.ts";
import { chatMessage } from "../support/events.ts";

const EVENT = {
  v: 1,
  id: "0123456789abcdef0123456789abcdef",
  ts: "2026-01-01T00:00:00.000Z",
  kind: "chat.message",
  group_id: "g_0123456789ab",
  scope_key: "",
  by: "user",
  data: chatMessage({ text: "hello" }),
};

describe("ledger events", () => {
  it("stand in docs/protocol.md with every kind and member, and no other", () => {
    const text = readFileSync("docs/protocol.md", "utf8");
    const section = text.slice(text.indexOf("\n## Ledger events\n")).split("\n## ")[1]!;
    const rows = [...section.matchAll(/^\| `([a-z_.]+)` \| (.*) \|$/gm)];
    assert.deepEqual(
      rows.map(([, kind]) => kind),
      Object.keys(EVENT_DATA),
    );
    for (const [, kind, cell] of rows) {
      if (cell!.startsWith("[")) continue;
      const { shape } = EVENT_DATA[kind as keyof typeof EVENT_DATA];
      const plain = cell!.replaceAll(/\{code, message\}|"[a-z]+"|\\\||null|(?<=: )true/g, "");
      const members = [...plain.matchAll(/[a-z_0-9]+\??(?=[,:}])/g)].map(([name]) => name);
      const expected = Object.entries(shape).map(
        ([name, schema]) => `${name}${schema.safeParse(undefined).success ? "?" : ""}`,
      );
      assert.deepEqual(members, expected, kind);
    }
    for (const name of Object.keys(ChatMessage.shape).filter((member) => /^(src|connect)_/.test(member)))
      assert.ok(rows[0]![2]!.includes(name), name);
  });

  it("of a kind or with members that only a newer version knows are kept as they are", () => {
    const newer = { ...EVENT, kind: "chat.reaction", data: { emoji: "+1", deep: [{ b: 1, a: 2 }] }, more: 1 };
    assert.equal(JSON.stringify(LedgerEventSchema.parse(newer)), JSON.stringify(newer));
    const wider = { ...EVENT, data: { mood: 1, ...EVENT.data } };
    assert.equal(JSON.stringify(LedgerEventSchema.parse(wider)), JSON.stringify(wider));
    // An inherited name is no kind.
    assert.ok(LedgerEventSchema.safeParse({ ...newer, kind: "constructor" }).success);
  });

  it("of a known kind have its data, and an operation's are of its kinds", () => {
    const broken = { ...EVENT, data: { ...EVENT.data, to: "user" } };
    assert.ok(!LedgerEventSchema.safeParse(broken).success);
    const read = { ...EVENT, kind: "mail.read", data: { actor_id: "a", event_id: EVENT.id } };
    assert.ok(LedgerEventSchema.safeParse(read).success);
    assert.ok(!MessageEventSchema.safeParse(read).success);
    assert.ok(!SourceEventSchema.safeParse({ ...EVENT, kind: "newer" }).success);
  });
});
