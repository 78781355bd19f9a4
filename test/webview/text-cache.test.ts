import assert from "node:assert/strict";
import { TextCache } from "../../webview/controls/text-cache.ts";

describe("A text cache", () => {
  const counting = () => {
    const made: string[] = [];
    const make = (text: string): string => {
      made.push(text);
      return text.repeat(2);
    };
    return { made, make };
  };

  it("makes each text once, and forgets the one that wasn't used for longest", () => {
    const { made, make } = counting();
    const cache = new TextCache({ entries: 2, characters: 1000 });
    for (const text of ["a", "b", "a", "c", "a", "b"]) assert.equal(cache.of(text, make), text.repeat(2));
    assert.deepEqual(made, ["a", "b", "c", "b"]);
    assert.equal(cache.characters, 6);
  });

  it("keeps no more characters than it may, whatever it is given", () => {
    const { made, make } = counting();
    const cache = new TextCache({ entries: 600, characters: 1_000_000 });
    for (let number = 0; number < 600; number += 1) {
      cache.of(`${number}${"x".repeat(64_000)}`, make);
      assert.ok(cache.characters <= 1_000_000);
    }
    assert.equal(made.length, 600);
    const huge = "y".repeat(500_000);
    assert.equal(cache.of(huge, make).length, 1_000_000, "also what it can't keep");
    assert.equal(cache.characters, 0);
  });
});
