import assert from "node:assert/strict";
import * as fc from "fast-check";
import { Thinning } from "../../daemon/runtimes/terminal/thinning.ts";
import { LIMITS } from "../../shared/limits.ts";
import { quietScreen } from "../support/quiet-screen.ts";

const LINES = LIMITS.terminal.scrollbackLines + 20;

async function drawn(...outputs: string[]): Promise<string> {
  const screen = quietScreen(40, 10);
  for (const output of outputs) await new Promise<void>((done) => screen.write(output, done));
  const picture = screen.serialize();
  screen.dispose();
  return picture;
}

/** As a terminal's output in pieces of `piece` bytes, of which the last one is a flood. */
function thin(output: string, piece = Number.POSITIVE_INFINITY): string {
  const bytes = Buffer.from(output);
  const thinning = new Thinning();
  for (let at = 0; at < bytes.length; at += piece) thinning.see(bytes.subarray(at, at + piece));
  return thinning.thinned(bytes, LINES).toString();
}

describe("a flood of plain output", () => {
  it("draws the same when it is thinned", async function () {
    this.timeout(120_000);
    const piece = fc.oneof(
      { weight: 6, arbitrary: fc.tuple(fc.string({ maxLength: 30 }), fc.integer({ min: 1, max: 6000 })) },
      {
        weight: 2,
        arbitrary: fc.tuple(
          fc.string({ unit: "grapheme", maxLength: 30 }),
          fc.integer({ min: 1, max: 6000 }),
        ),
      },
      {
        weight: 1,
        arbitrary: fc.tuple(
          fc.constantFrom(
            "\u001b[31m",
            "\u001b[3;7r",
            "\u001b[3;7r\u001b[9;1H",
            "\u001b[\r\n3;7r",
            "\u001bc",
            "\u001b[?1049h",
            "\u001b[?1049l",
            "\n",
            "\r",
            "\u001b[H",
            "\u009b3;7r",
            "\u007f",
            "\t\u001b",
          ),
          fc.constant(1),
        ),
      },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { minLength: 1, maxLength: 5 }), fc.boolean(), async (parts, ends) => {
        const output =
          parts.map(([text, times]) => `${text}\r\n`.repeat(times)).join("") + (ends ? "" : "rest");
        assert.equal(await drawn(thin(output)), await drawn(output));
      }),
      { numRuns: 15, endOnFailure: true },
    );
  });

  it("leaves nothing out while margins are set, which keep lines from scrolling", async () => {
    const flood = `${"a longer line\r\n".repeat(3000)}${"short\r\n".repeat(8000)}`;
    for (const margins of ["\u001b[3;7r", "\u009b3;7r", "\u001b[3;\u00077r", "\u001b[3\u001b[;7r"]) {
      for (const place of ["", "\u001b[2;1H", "\u001b[9;1H"]) {
        const output = `${margins}${place}${flood}`;
        const pieces = [1, 2, 3, 64 * 1024];
        for (const piece of pieces) assert.equal(thin(output, piece), output, JSON.stringify(margins));
        const over = `${output}\u001bc${flood}`;
        assert.ok(thin(over, 3).length < over.length);
        assert.equal(await drawn(thin(over)), await drawn(over));
      }
    }
  });

  it("isn't stopped by text whose bytes look like a sequence", () => {
    const flood = "\u4edb3;7r\r\n".repeat(20_000);
    assert.ok(thin(flood, 1).length < flood.length / 2);
  });

  it("leaves nothing out of a sequence that a line end interrupts", async () => {
    for (const begun of ["\u001b", "\u001b[", "\u001b[3"]) {
      const output = `${"first\r\n".repeat(100)}${begun}\r\n${"Mine\r\n".repeat(8000)}${"=last\r\n".repeat(20_000)}`;
      assert.equal(await drawn(thin(output)), await drawn(output), JSON.stringify(begun));
    }
  });

  it("is thinned to what the screen and its scrollback hold", () => {
    const flood = "a line of some length\r\n".repeat(50_000);
    const kept = thin(`\u001b[1mhead\r\n${flood}`);
    assert.ok(kept.startsWith("\u001b[1mhead\r\n"));
    assert.equal(kept.split("\r\n").length, LINES + 2);
    assert.equal(thin(`${flood}\u001b[1m`).length, flood.length + 4);
  });
});

describe("what a program writes badly", () => {
  it("isn't told on the daemon's own output, which a file keeps", async () => {
    const told: unknown[] = [];
    const { error } = console;
    console.error = (...words) => told.push(words);
    try {
      await drawn("\u007f\u001b[\u0080\u009f\u007f\r\n".repeat(100));
    } finally {
      console.error = error;
    }
    assert.deepEqual(told, []);
  });
});
