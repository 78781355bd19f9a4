import assert from "node:assert/strict";
import * as fc from "fast-check";
import { Screen } from "../../daemon/runtimes/screen.ts";
import { thinned } from "../../daemon/runtimes/thinning.ts";
import { LIMITS } from "../../shared/limits.ts";

const LINES = LIMITS.terminal.scrollbackLines + 20;

async function drawn(...outputs: string[]): Promise<string> {
  const screen = new Screen(40, 10, { answer: () => {}, reads: () => {} });
  for (const output of outputs) await new Promise<void>((done) => screen.write(output, done));
  const picture = screen.serialize();
  screen.dispose();
  return picture;
}

const thin = (output: string): string => thinned(Buffer.from(output), LINES).toString();

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
