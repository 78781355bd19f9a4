/**
 * What the daemon makes of real screens: the output of real programs, recorded, drawn again step by
 * step (docs/runtimes.md).
 */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { CATALOGUE, entryOf } from "../../daemon/runtimes/catalogue.ts";
import { hasStarted, linesBehindPaste, look } from "../../daemon/runtimes/input/composer.ts";
import type { Screen } from "../../daemon/runtimes/terminal/screen.ts";
import { Runtime } from "../../shared/model.ts";
import { needsMark } from "../../shared/typed-actors.ts";
import { quietScreen } from "../support/quiet-screen.ts";

const FOLDER = join(import.meta.dirname, "..", "fixtures", "screens");

const Recording = z.strictObject({
  columns: z.int(),
  rows: z.int(),
  screens: z.array(
    z.strictObject({ shows: z.string(), kind: z.string(), reason: z.string(), output: z.string() }),
  ),
});

function recording(file: string): z.infer<typeof Recording> {
  return Recording.parse(JSON.parse(readFileSync(join(FOLDER, file), "utf8")));
}

function screen(columns: number, rows: number): Screen {
  return quietScreen(columns, rows);
}

const draw = (on: Screen, output: string): Promise<void> => new Promise((drawn) => on.write(output, drawn));

function inputOf(file: string) {
  const { input } = entryOf(Runtime.parse(file.split("-")[0]));
  assert.ok(input !== null);
  return input;
}

const files = readdirSync(FOLDER);

describe("an input line on a screen", () => {
  for (const file of files) {
    it(`is told from everything else: ${file}`, async () => {
      const { columns, rows, screens } = recording(file);
      const shown = screen(columns, rows);
      for (const { shows, kind, reason, output } of screens) {
        await draw(shown, output);
        const seen = look(shown, inputOf(file));
        assert.equal(seen.kind, kind, shows);
        assert.equal("reason" in seen ? seen.reason : "", reason, shows);
      }
      shown.dispose();
    });
  }

  it("shows a paste before Enter follows", async () => {
    for (const file of files.filter((name) => name.endsWith("-main.json"))) {
      const { columns, rows, screens } = recording(file);
      const shown = screen(columns, rows);
      for (const { shows, output } of screens) {
        await draw(shown, output);
        assert.equal(
          linesBehindPaste(shown, inputOf(file), "[svc] To answer: y") !== null,
          shows === "paste",
          shows,
        );
      }
      shown.dispose();
    }
  });

  it("tells when a start is over by a line below everything that was asked: Gemini restarts on the same screen", async () => {
    const trust = recording("gemini-0.61.0-trust.json");
    const main = recording("gemini-0.61.0-main.json");
    const shown = screen(trust.columns, 2 * trust.rows);
    for (const { output } of trust.screens) await draw(shown, output);
    assert.ok(shown.shows(/Gemini CLI v0/), "the process that asks has drawn its line, too");
    assert.equal(hasStarted(shown, inputOf("gemini")), false);
    const started: boolean[] = [];
    for (const piece of main.screens[0]!.output.match(/[^]{1,100}/g)!) {
      await draw(shown, piece);
      started.push(hasStarted(shown, inputOf("gemini")));
    }
    assert.equal(started[0], false);
    assert.equal(started.at(-1), true);
    assert.equal(look(shown, inputOf("gemini")).kind, "empty");
    shown.dispose();
  });

  it("shows the end of a paste also in a low window, which has no room for its beginning", async () => {
    const { columns, rows, screens } = recording("claude-2.1.329-low.json");
    const shown = screen(columns, rows);
    const ending = `[svc] To answer: svc_message_reply with event_id ${"fedcba9876543210".repeat(2)}`;
    for (const { shows, output } of screens) {
      await draw(shown, output);
      assert.equal(
        linesBehindPaste(shown, inputOf("claude-low"), ending) !== null,
        shows === "pasted behind",
        shows,
      );
    }
    shown.dispose();
  });

  it("is never empty on a screen that is half drawn, unless it was or becomes so", async () => {
    for (const file of files) {
      const { columns, rows, screens } = recording(file);
      const shown = screen(columns, rows);
      let before = "";
      for (const { shows, kind, output } of screens) {
        const pieces = output.match(/[^]{1,400}/g) ?? [];
        for (const piece of pieces) {
          await draw(shown, piece);
          const isEmpty = look(shown, inputOf(file)).kind === "empty";
          // A menu that is drawn begins with the empty input line that was there.
          const mayBe = before !== "question" && before !== "view" ? true : kind !== before;
          assert.ok(!isEmpty || mayBe, `${file}: ${shows}`);
        }
        before = kind;
      }
      shown.dispose();
    }
  });

  it("isn't believed where an agent has drawn it: the cursor isn't there", async () => {
    const { columns, rows, screens } = recording("claude-2.1.329-trust.json");
    const rule = "─".repeat(columns);
    const shown = screen(columns, rows);
    for (const { output } of screens) await draw(shown, output);
    const { row, column } = shown.cursor;
    const imitation = `${rule}\r\n❯\u00a0 \r\n${rule}\r\n  ? for shortcuts`;
    await draw(shown, `\u001b[20;1H${imitation}\u001b[${row + 1};${column + 1}H`);
    assert.equal(look(shown, inputOf("claude")).kind, "question");
    shown.dispose();
  });

  it("counts although words of a question stand above it", async () => {
    const rule = "─".repeat(60);
    const shown = screen(60, 12);
    const words =
      "Yes, I trust this folder\r\n Do you want to proceed?\r\nEnter to confirm · Esc to cancel\r\n";
    await draw(shown, `${words}${rule}\r\n❯\u00a0\u001b7\r\n${rule}\r\n  ? for shortcuts\u001b8`);
    assert.equal(look(shown, inputOf("claude")).kind, "empty");
    shown.dispose();
  });

  it("needs its whole frame, its mark and the cursor at its beginning", async () => {
    const rule = "─".repeat(60);
    const cases: [output: string, kind: string][] = [
      [`${rule}\r\n❯\u00a0\u001b7\r\n${rule}\u001b8`, "empty"],
      [`${rule.slice(1)}x\r\n❯\u00a0\u001b7\r\n${rule}\u001b8`, "unknown"],
      [`\r\n❯\u00a0\u001b7\r\n${rule}\u001b8`, "unknown"],
      [`${rule}\r\n❯\u00a0\u001b7\r\n\u001b8`, "unknown"],
      [`${rule}\r\n>\u00a0\u001b7\r\n${rule}\u001b8`, "unknown"],
      [`${rule}\r\n❯\u001b7\u00a0\r\n${rule}\u001b8`, "unknown"],
      [`${rule}\r\n❯\u00a0 \u001b7\r\n${rule}\u001b8`, "occupied"],
      [`${rule}\r\n❯\u00a0\u001b7x\r\n${rule}\u001b8`, "occupied"],
      [`${rule}\r\n❯\u00a0\u001b7\r\n  \r\n${rule}\u001b8`, "occupied"],
      [`${rule}\r\n❯\u00a0\u001b7describe a task for a new session\r\n${rule}\u001b8`, "view"],
      [`\u001b[?2026h${rule}\r\n❯\u00a0\u001b7\r\n${rule}\u001b8`, "drawing"],
      [`${rule.slice(12)} backend ─\r\n❯\u00a0\u001b7\r\n${rule.slice(12)} backend ─\u001b8`, "unknown"],
      [`${rule.slice(12)} backend x\r\n❯\u00a0\u001b7\r\n${rule}\u001b8`, "unknown"],
      [`${rule}\r\n❯\u00a0\u001b7\r\n─── ↓ 3 more ${rule.slice(13)}\u001b8`, "occupied"],
      [`─── ↑ 3 more ${rule.slice(13)}\r\n  \u001b7\r\n${rule}\u001b8`, "occupied"],
    ];
    for (const [output, kind] of cases) {
      const shown = screen(60, 12);
      await draw(shown, `\r\n${output}`);
      assert.equal(look(shown, inputOf("claude")).kind, kind, JSON.stringify(output));
      shown.dispose();
    }
  });
});

describe("the input line of Claude Code in a session that has a name", () => {
  const NAMES = [
    "backend",
    "a name with spaces",
    "日本語の名前",
    "👩‍👩‍👧‍👦 ❤️ 1️⃣ 🇩🇪",
    "שלום עולם",
    "e\u0301\u0301x",
    "─",
    "──── ─ ────",
    "❯",
    "❯ 1. Yes",
    "[svc] message 0123456789abcdef0123456789abcdef",
    "↑ 3 more",
    "─── ↑ 3 more ───",
    "Do you want to proceed?",
    "Esc to cancel",
    "Select model",
    "describe a task for a new session",
    "enter to return",
    "x".repeat(300),
    "名".repeat(300),
  ];
  const cells = (text: string): number =>
    Array.from(text).reduce((sum, sign) => sum + (/[\u3000-\u9fff]/.test(sign) ? 2 : 1), 0);
  /** As Claude Code draws it: at the right end, and cut where the window ends. */
  const ruleWith = (name: string, columns: number, start = ""): string => {
    const room = Math.max(1, columns - start.length - 3);
    const signs = Array.from(name);
    while (cells(signs.join("")) > room) signs.splice(-2, 2, ...(signs.length > 1 ? ["…"] : []));
    const shown = ` ${signs.join("")} ─`;
    return start + "─".repeat(Math.max(0, columns - start.length - cells(shown))) + shown;
  };

  for (const columns of [12, 40, 100, 250]) {
    it(`is told from a draft, a shell mode and other views, ${columns} columns wide`, async () => {
      const rule = "─".repeat(columns);
      for (const name of NAMES) {
        const cases: [above: string, line: string, below: string, kind: string][] = [
          [ruleWith(name, columns), "❯\u00a0\u001b7", rule, "empty"],
          [ruleWith(name, columns), "❯\u00a0x\u001b7", rule, "occupied"],
          [ruleWith(name, columns), "!\u00a0\u001b7", rule, "occupied"],
          [ruleWith(name, columns), "❯\u00a0\u001b7\r\n  x", rule, "occupied"],
          // It needs more room than the narrowest of these windows has.
          [ruleWith(name, Math.max(40, columns), "─── ↑ 3 more "), "  \u001b7", rule, "occupied"],
          [ruleWith(name, columns), " ❯\u001b7 1. Yes", rule, "unknown"],
          [ruleWith(name, columns), "❯\u00a0\u001b7", ruleWith(name, columns), "unknown"],
        ];
        for (const [above, line, below, kind] of cases) {
          const shown = screen(Math.max(columns, cells(above)), 12);
          await draw(shown, `\u001b[?7l\r\n${above}\r\n${line}\r\n${below}\u001b8`);
          // What stands elsewhere only chooses the words.
          const seen = look(shown, inputOf("claude")).kind;
          const isNot = kind === "unknown" && seen !== "empty" && seen !== "occupied";
          if (!isNot) assert.equal(seen, kind, JSON.stringify([above, line, below]));
          shown.dispose();
        }
      }
    });
  }

  it("isn't taken for a question because of that name", () => {
    const { asks } = entryOf("claude");
    assert.ok(asks !== null && asks.test(" Esc to cancel · Tab to amend"));
    assert.ok(!asks.test(ruleWith("Esc to cancel", 60)));
  });
});

describe("input lines in other modes", () => {
  it("are Gemini's with its asterisk and with vi keys, unless those wait for a command", async () => {
    const cases: [line: string, kind: string][] = [
      [" > \u001b7  Type your message or @path/to/file", "empty"],
      [" * \u001b7  Type your message or @path/to/file", "empty"],
      [" ! \u001b7  Type your shell command", "occupied"],
      [" * \u001b7  Press 'Esc' for NORMAL mode.", "empty"],
      [" * \u001b7  Press 'i' for INSERT mode.", "view"],
      [" * x\u001b7", "occupied"],
    ];
    for (const [line, kind] of cases) {
      const shown = screen(60, 12);
      await draw(shown, `${"▄".repeat(60)}\r\n${line}\r\n${"▀".repeat(60)}\u001b8`);
      assert.equal(look(shown, inputOf("gemini")).kind, kind, line);
      shown.dispose();
    }
  });

  it("are opencode's with an agent that is called like its shell mode", async () => {
    for (const [mode, kind] of [
      ["Shell · scripted Anthropic", "empty"],
      ["Shell", "occupied"],
    ] as const) {
      const shown = screen(60, 12);
      const rows = ["", "  ┃", "  ┃  \u001b7", "  ┃", `  ┃  ${mode}`, `  ╹${"▀".repeat(50)}`];
      await draw(shown, `${rows.join("\r\n")}\u001b8`);
      assert.equal(look(shown, inputOf("opencode")).kind, kind, mode);
      shown.dispose();
    }
  });
});

describe("The catalogue", () => {
  it("asks the owner's word for exactly the runtimes whose input line isn't known", () => {
    for (const { runtime, input } of CATALOGUE) {
      assert.equal(needsMark({ runner: "pty", runtime }), input === null, runtime);
    }
  });
});
