/** What a ledger writes, and the end of its active file. */
import assert from "node:assert/strict";
import * as fs from "node:fs";
import { join } from "node:path";
import { oddNew } from "../support/events.ts";
import { hasCode, useLedger } from "./on-disk.ts";
import { message, texts } from "./setting.ts";

describe("Ledger", () => {
  const { directory, names, open, tally } = useLedger();

  function activeText(): string {
    return fs.readFileSync(join(directory, "active.jsonl"), "utf8");
  }

  /** Rewrites the active file as a crash could have left it: `text` and behind it `rest`. */
  function leaveBehind(text: string, rest: string): void {
    fs.writeFileSync(join(directory, "active.jsonl"), text + rest);
  }

  describe("append and reopen", () => {
    it("writes one JSON line per event, members in the contract's order and what projections need before the text", async () => {
      const ledger = await open();
      const data = {
        text: "hi",
        refs: [],
        client_id: "c",
        message_mode: "send",
        extra: 1,
        to: [],
        sender_title: "S",
      };
      await ledger.append(oddNew({ kind: "chat.message", scope_key: "", by: "user", data, key: "user\nc" }));
      const line = activeText().split("\n")[0]!;
      assert.deepEqual(Object.keys(JSON.parse(line) as object), [
        "v",
        "id",
        "ts",
        "kind",
        "group_id",
        "scope_key",
        "by",
        "data",
      ]);
      const members = Object.keys((JSON.parse(line) as { data: object }).data);
      assert.deepEqual(members, ["message_mode", "to", "client_id", "sender_title", "text", "refs", "extra"]);
    });

    it("extends the file ahead with line feeds, and keeps modes 0700 and 0600", async () => {
      const ledger = await open();
      await ledger.append(message("one"));
      const text = activeText();
      assert.equal(text.length, 1024 * 1024);
      assert.match(text, /^\{[^\n]+\}\n+$/);
      assert.equal(fs.statSync(directory).mode & 0o777, 0o700);
      for (const name of fs.readdirSync(directory))
        assert.equal(fs.statSync(join(directory, name)).mode & 0o777, 0o600, name);
    });

    it("gives ordinals in append order, also to those that wait together, and finds events after a reopen", async () => {
      let ledger = await open();
      const placed = await Promise.all(
        Array.from({ length: 200 }, (_, at) => ledger.append(message(`m${at}`, { client_id: `c${at}` }))),
      );
      assert.deepEqual(
        placed.map(({ ordinal }) => ordinal),
        Array.from({ length: 200 }, (_, at) => at),
      );
      for (const clean of [true, false]) {
        if (clean) await ledger.close();
        ledger = await open();
        assert.equal(ledger.count, 200);
        assert.equal(ledger.lastOrdinal, 199);
        assert.deepEqual(ledger.read(17), placed[17]!.event);
        assert.deepEqual(ledger.readById(placed[180]!.event.id), placed[180]!.event);
        assert.equal(ledger.ordinalOf(placed[3]!.event.id), 3);
        assert.equal(ledger.byKey("user\nc42"), 42);
        assert.equal(ledger.byKey("user\nnobody"), undefined);
        assert.equal(ledger.ordinalOf("f".repeat(32)), undefined);
        assert.equal(tally().seen.length, 200);
      }
    });

    it("writes an atomic batch with one sync and drops it whole when its last line is missing", async () => {
      let ledger = await open();
      await ledger.append(message("before"));
      await ledger.appendAll([message("a"), message("b"), message("c")]);
      await ledger.close();
      const lines = activeText().split("\n").slice(0, 4);
      // As a crash leaves it: nothing beside it knows of the batch.
      for (const name of names(/\.bin$/)) fs.rmSync(join(directory, name));
      leaveBehind(`${lines.slice(0, 3).join("\n")}\n`, "\n\n");
      ledger = await open();
      assert.deepEqual(texts(ledger), ["before"]);
      assert.equal(tally().seen.length, 1);
    });

    it("refuses what is too large, too much at once, or after the end, and records nothing of it", async () => {
      const ledger = await open({ lineBytes: 2000, batchBytes: 4000, batchLines: 3, pendingBytes: 6000 });
      await assert.rejects(ledger.append(message("x".repeat(2000))), hasCode("too_large"));
      await assert.rejects(
        ledger.appendAll(Array.from({ length: 4 }, () => message("y"))),
        hasCode("too_large"),
      );
      await assert.rejects(
        ledger.appendAll(Array.from({ length: 3 }, () => message("y".repeat(1500)))),
        hasCode("too_large"),
      );
      const many = await Promise.allSettled(
        Array.from({ length: 10 }, (_, at) => ledger.append(message(`${at} ${"z".repeat(1000)}`))),
      );
      assert.ok(many.some((one) => one.status === "rejected" && hasCode("overloaded")(one.reason)));
      assert.equal(ledger.count, many.filter((one) => one.status === "fulfilled").length);
      const waiting = ledger.append(message("still taken"));
      await Promise.all([ledger.close(), waiting]);
      await assert.rejects(ledger.append(message("late")), hasCode("shutting_down"));
    });

    it("keeps text of every kind unharmed", async () => {
      const odd = ['quotes " and \\ back', "line\nfeed\r\u0000", "ünï ✓ 😀 \ud800", '"},"text":"', "\u2028"];
      let ledger = await open();
      for (const text of odd) await ledger.append(message(text, { client_id: text, sender_title: text }));
      for (let round = 0; round < 2; round += 1) {
        assert.deepEqual(
          texts(ledger),
          odd.map((text) => JSON.parse(JSON.stringify(text)) as string),
        );
        for (const [at, text] of odd.entries())
          if (text.isWellFormed()) assert.equal(ledger.byKey(`user\n${text}`), at);
        await ledger.close();
        for (const name of names(/\.bin$/)) fs.rmSync(join(directory, name));
        ledger = await open();
      }
    });
  });

  describe("the end of the active file", () => {
    const torn: [string, string][] = [
      ["a line without its line feed", '{"v":1,"id":"'],
      [
        "half a line with blanks where its rest was",
        '{"v":1,"id":"0123456789abcdef0123456789abcdef","ts":"\n\n\n","data":{}}\n',
      ],
      ["a line that isn't JSON", "what is this}}\n"],
      ["a blank line and something complete behind it", "BLANK"],
      ["zeros where space was allocated", "\0\0\0\0\0\0"],
    ];
    for (const [what, rest] of torn) {
      it(`is before ${what}; a copy is kept and the next append follows the end`, async () => {
        let ledger = await open();
        await ledger.append(message("kept"));
        await ledger.close();
        const line = `${activeText().split("\n")[0]!}\n`;
        leaveBehind(line, rest === "BLANK" ? `\n${line}` : rest);
        ledger = await open();
        assert.deepEqual(texts(ledger), ["kept"]);
        const copies = names(/^torn-/);
        assert.equal(copies.length, 1);
        assert.equal(
          fs.readFileSync(join(directory, copies[0]!), "utf8"),
          rest === "BLANK" ? `\n${line}` : rest,
        );
        assert.equal(fs.statSync(join(directory, copies[0]!)).mode & 0o777, 0o600);
        await ledger.append(message("next"));
        await ledger.close();
        ledger = await open();
        assert.deepEqual(texts(ledger), ["kept", "next"]);
        assert.deepEqual((await ledger.verify()).problems, []);
        assert.equal(names(/^torn-/).length, 1);
      });
    }

    it("is found when a line of our layout is broken behind its head", async () => {
      let ledger = await open();
      for (const text of ["one", "two"]) await ledger.append(message(text));
      await ledger.close();
      for (const name of names(/\.bin$/)) fs.rmSync(join(directory, name));
      leaveBehind(activeText().replace('"text":"two"', '"text":"two'), "");
      ledger = await open();
      assert.deepEqual(texts(ledger), ["one"]);
    });
  });
});
