/** Program text is cut into parts that have colors, and stays what it is. */
import assert from "node:assert/strict";
import * as fc from "fast-check";
import { parserOf } from "../../webview/feed/code-languages.ts";
import { codeRuns } from "../../webview/feed/code-runs.ts";

const NAMES =
  "c cpp cs java kotlin css scss less dockerfile go html xml ini ts json python ruby rust sh sql toml yaml".split(
    " ",
  );

/** Each part with its kind, line by line. */
async function partsOf(code: string, language: string): Promise<string[][]> {
  const parser = await parserOf(language);
  assert.ok(parser, language);
  const lines = code.split("\n");
  return [...codeRuns(code, parser)].map((runs, at) => {
    let from = 0;
    return runs.map(({ kind, length }) => {
      const part = lines[at]!.slice(from, from + length);
      from += length;
      return `${kind ?? "plain"} ${part}`;
    });
  });
}

describe("Parts of program text", () => {
  it("are what they are in their language", async () => {
    assert.deepEqual(await partsOf('const a = "b"; // c\n\nreturn 12;', "TSX"), [
      ["keyword const", "plain  ", "name a", "plain  = ", 'string "b"', "plain ; ", "comment // c"],
      [],
      ["keyword return", "plain  ", "number 12", "plain ;"],
    ]);
    assert.deepEqual(await partsOf('def f():\n    """one\n    two"""\n    return None', "py"), [
      ["keyword def", "plain  ", "name f", "plain ():"],
      ["plain     ", 'string """one'],
      ['string     two"""'],
      ["plain     ", "keyword return", "plain  ", "keyword None"],
    ]);
    assert.deepEqual(await partsOf('{"a": true}', "json"), [
      ["plain {", 'string "a"', "plain : ", "number true", "plain }"],
    ]);
  });

  it("cover every line exactly, whatever the text is, in every language", async () => {
    const parsers = await Promise.all(NAMES.map(async (name) => (await parserOf(name))!));
    const piece = fc.constantFrom(
      ...'a \t( ) { } [ ] < > " \' ` / * \\ # $ ${ #{ <!-- --> /* */ // """ r#" << <<A %w( </ => :: - : ; , . ! & | 0x 1e é \u{1f600} \ud800 function class import SELECT if \n \n\n'.split(
        " ",
      ),
      " ",
    );
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 80 }),
        fc.integer({ min: 0, max: parsers.length - 1 }),
        (pieces, at) => {
          const code = pieces.join("");
          const lengths = [...codeRuns(code, parsers[at]!)].map((runs) =>
            runs.reduce((sum, { length }) => sum + length, 0),
          );
          assert.deepEqual(
            lengths,
            code.split("\n").map(({ length }) => length),
            NAMES[at],
          );
        },
      ),
      { numRuns: 600 },
    );
  });

  it("leave lines plain that are too long, and end with a parser that stands still", async () => {
    const still = { token: () => "keyword" };
    const long = "x".repeat(501);
    assert.deepEqual(
      [...codeRuns(`ab\n${long}`, still)],
      [[{ kind: "keyword", length: 2 }], [{ kind: null, length: 501 }]],
    );
  });

  it("are unknown for languages that have none", async () => {
    for (const name of ["", "text", "constructor", "__proto__", "diff"])
      assert.equal(await parserOf(name), null);
  });
});
