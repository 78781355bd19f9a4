/** What surrounds the relay: the page's policy, what a window remembers, and places in files. */
import assert from "node:assert/strict";
import { webviewPage } from "../../../extension/webviews/page.ts";
import { readReference } from "../../../extension/webviews/references.ts";
import { ViewMemory } from "../../../extension/webviews/view-memory.ts";
import { LIMITS } from "../../../shared/limits.ts";

const { memoryKeys, memoryCharacters } = LIMITS.webview;

describe("a webview's page", () => {
  const source = {
    cspSource: "https://files.example",
    addressOf: (file: string) => `https://files.example/${file}`,
  };

  it("runs only its own script, by a nonce of its own, and connects to nothing", () => {
    const pages = [1, 2].map(() => webviewPage(source, "workbench", "Workbench"));
    const policies = pages.map((page) => /Content-Security-Policy" content="([^"]+)"/.exec(page)![1]!);
    for (const [index, policy] of policies.entries()) {
      assert.match(policy, /^default-src 'none'; script-src 'nonce-[\w-]{32}'; /);
      assert.doesNotMatch(policy, /connect-src|unsafe|https:(?!\/\/files\.example)|\*/);
      const nonce = /nonce-([\w-]+)/.exec(policy)![1]!;
      assert.ok(pages[index]!.includes(`<script type="module" nonce="${nonce}"`));
    }
    assert.notEqual(policies[0], policies[1]);
  });
});

describe("a window's memory", () => {
  it("forgets the oldest beyond its limits, and reads only what it wrote", () => {
    let kept: unknown = { one: "1", wrong: 2 };
    const keeper = { get: () => kept, set: (values: Record<string, string>) => (kept = values) };
    const memory = new ViewMemory(keeper);
    assert.deepEqual(memory.all(), { one: "1" });
    for (let number = 0; number < memoryKeys; number += 1) memory.remember(`key ${number}`, "v");
    assert.equal(Object.keys(memory.all()).length, memoryKeys);
    assert.ok(!("one" in memory.all()));
    for (let number = 0; number < 5; number += 1)
      memory.remember(`large ${number}`, "x".repeat(memoryCharacters / 4));
    assert.deepEqual(
      Object.keys(memory.all()).filter((key) => key.startsWith("large")),
      ["large 1", "large 2", "large 3", "large 4"],
    );
    memory.remember("large 4", null);
    assert.ok(!("large 4" in (kept as object)));
    assert.deepEqual(new ViewMemory({ get: () => null, set: () => {} }).all(), {});
  });
});

describe("a place in a file", () => {
  it("is a path with a line and a column, or without", () => {
    const place = (path: string, line: number | null, column: number | null) => ({ path, line, column });
    assert.deepEqual(readReference("src/app.ts:12"), place("src/app.ts", 12, null));
    assert.deepEqual(readReference(" src/app.ts:12:3 "), place("src/app.ts", 12, 3));
    assert.deepEqual(readReference("src/app.ts"), place("src/app.ts", null, null));
    assert.deepEqual(readReference("file:///tmp/a b.ts:1"), place("/tmp/a b.ts", 1, null));
    assert.deepEqual(readReference("C:\\work\\a.ts:7"), place("C:\\work\\a.ts", 7, null));
    assert.deepEqual(readReference("a.ts:0"), place("a.ts", null, null));
    assert.equal(readReference("a\0b:1"), null);
    assert.equal(readReference("  "), null);
  });
});
