import assert from "node:assert/strict";
import * as fc from "fast-check";
import { parseStrictJson, parseStrictJsonBytes, StrictJsonError } from "../../shared/strict-json.ts";

function hasTwice(text: string): boolean {
  // A reviver sees only what is left, so members are counted by a scanner of the test's own.
  let found = false;
  let at = 0;
  const space = (): void => {
    while (" \t\r\n".includes(text[at] ?? "x")) at++;
  };
  const string = (): string => {
    const from = at++;
    while (text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
    at++;
    return JSON.parse(text.slice(from, at)) as string;
  };
  const value = (): void => {
    space();
    if (text[at] === '"') string();
    else if (text[at] === "{" || text[at] === "[") {
      const isObject = text[at] === "{";
      const names = new Set<string>();
      at++;
      space();
      while (text[at] !== "}" && text[at] !== "]") {
        if (isObject) {
          space();
          const name = string();
          if (names.has(name)) found = true;
          names.add(name);
          space();
          at++;
        }
        value();
        space();
        if (text[at] === ",") at++;
        space();
      }
      at++;
    } else while (at < text.length && !",]} \t\r\n".includes(text[at]!)) at++;
    space();
  };
  value();
  return found;
}

/**
 * Values in a JSON value, itself included, and one more for each array and object that is empty.
 */
function valuesIn(value: unknown): number {
  if (typeof value !== "object" || value === null) return 1;
  const inside = Object.values(value);
  return 1 + Math.max(1, inside.length) + inside.reduce((sum: number, one) => sum + valuesIn(one) - 1, 0);
}

/** Whether a value that was parsed has no half of a surrogate pair and no `__proto__`. */
function isTame(value: unknown): boolean {
  if (typeof value === "string") return value.isWellFormed();
  if (typeof value !== "object" || value === null) return true;
  return Object.entries(value).every(
    ([name, inside]) => name !== "__proto__" && name.isWellFormed() && isTame(inside),
  );
}

describe("strict JSON", () => {
  it("counts values before it builds them, whatever stands in texts", () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 5 }), (text) => {
        const value = JSON.parse(text) as unknown;
        if (!isTame(value)) return;
        const count = valuesIn(value);
        const bytes = Buffer.from(JSON.stringify(value));
        assert.deepEqual(parseStrictJsonBytes(bytes, 64, count), value);
        if (count === 1) return;
        assert.throws(() => parseStrictJsonBytes(bytes, 64, count - 1), StrictJsonError);
      }),
    );
  });

  it("reads what JSON.parse reads, when no member stands twice and all is well-formed", () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 6 }), fc.nat({ max: 3 }), (compact, indent) => {
        const value = JSON.parse(compact) as unknown;
        if (!isTame(value)) return;
        const text = JSON.stringify(value, null, indent);
        assert.deepEqual(parseStrictJson(text), value);
        assert.deepEqual(parseStrictJsonBytes(Buffer.from(text)), value);
      }),
    );
  });

  it("never accepts what JSON.parse refuses, and never a member twice, whatever the text", () => {
    const piece = fc.constantFrom(
      "{",
      "}",
      "[",
      "]",
      ",",
      ":",
      '"a"',
      '"b"',
      '"\\u0061"',
      '"\\\\"',
      '"\\":"',
      '":"',
      "1",
      "true",
      " ",
      '"',
    );
    const text = fc.oneof(
      fc.array(piece, { maxLength: 14 }).map((pieces) => pieces.join("")),
      fc
        .array(
          fc.tuple(fc.constantFrom('"a"', '"b"', '"\\u0061"', '"a:"', '"\\"a"'), fc.json({ maxDepth: 1 })),
          { maxLength: 4 },
        )
        .map((members) => `{${members.map(([name, value]) => `${name} : ${value}`).join(" , ")}}`),
    );
    fc.assert(
      fc.property(text, (given) => {
        let parsed: unknown;
        let isJson = true;
        try {
          parsed = JSON.parse(given);
        } catch {
          isJson = false;
        }
        let taken = true;
        try {
          assert.deepEqual(parseStrictJson(given), parsed);
        } catch (error) {
          if (!(error instanceof StrictJsonError)) throw error;
          taken = false;
        }
        assert.equal(taken, isJson && !hasTwice(given) && isTame(parsed), given);
      }),
      { numRuns: 3000 },
    );
  });

  it("refuses halves of surrogate pairs, as text and as escapes, in names and values", () => {
    for (const text of ['"\\ud800"', '{"\\udc00":1}', '["\\ud83d x"]', `"\ud800"`]) {
      assert.throws(() => parseStrictJson(text), StrictJsonError, text);
    }
    assert.equal(parseStrictJson('"\\ud83c\\udf89"'), "🎉");
  });

  it("refuses bytes that aren't UTF-8, a byte order mark, and a member that names the prototype", () => {
    for (const bytes of [
      [0x22, 0xff, 0x22],
      [0x22, 0xc0, 0x80, 0x22],
      [0x22, 0xed, 0xa0, 0x80, 0x22],
      [0xef, 0xbb, 0xbf, 0x31],
    ]) {
      assert.throws(() => parseStrictJsonBytes(Uint8Array.from(bytes)), StrictJsonError);
    }
    for (const text of ['{"__proto__":1}', '{"a":[{"\\u005f_proto__":{}}]}']) {
      assert.throws(() => parseStrictJson(text), StrictJsonError);
    }
  });

  it("counts depth, and survives any", () => {
    assert.deepEqual(parseStrictJson("[[1]]", 2), [[1]]);
    assert.throws(() => parseStrictJson("[[[1]]]", 2), /deeply/);
    assert.throws(() => parseStrictJson("[".repeat(200_000) + "]".repeat(200_000)), StrictJsonError);
  });

  it("quotes nothing of the text in its messages", () => {
    for (const text of ['{"secret-word": ', '{"secret-word":1,"secret-word":2}']) {
      assert.throws(
        () => parseStrictJson(text),
        (error: Error) => !error.message.includes("secret-word"),
      );
    }
  });
});
