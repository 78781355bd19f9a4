/** How comments and texts are written: narrow comments, and no words that translate badly. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";

const WIDTH = 100;
const COMMENTED = /\.(?:ts|mts|cts|mjs|cjs)$/u;
const SPOKEN =
  /^(?:shared|client|platform|daemon|cli|mcp-server|webview|extension|account|demo|build)\/.*\.ts$/u;
const PAGES = /^(?:(?:README|CHANGELOG|CONTRIBUTING|docs\/[a-z-]+)\.md|mcp-server\/help\.ts)$/u;

/** Words of texts that people see, each with a better one in the message of the failure. */
const RETIRED: readonly (readonly [RegExp, string])[] = [
  [/\bsomebody\b/iu, "someone"],
  [/\banew\b/iu, "again"],
  [/\bwhoever\b/iu, "anyone who"],
  [/\bmeanwhile\b/iu, "in the meantime"],
  [/\bso many\b/iu, "N, or this many"],
  [/\bstands? (?:in|at|for|behind)\b/iu, "is in, means, comes after"],
  [/\bworth nothing\b/iu, "no longer valid"],
  [/\blets? go of\b/iu, "releases"],
  [/\bby hand of\b/iu, "by"],
  [/\bhanded out again\b/iu, "delivered again"],
  [/\bwhich is the most\b/iu, "which is the limit"],
  [/\b(?:isn't|aren't|doesn't \w+) any more\b/iu, "no longer"],
];

const tracked = execFileSync("git", ["ls-files"], { encoding: "utf8", maxBuffer: 64 * 1024 * 1024 })
  .split("\n")
  .filter((path) => path !== "" && existsSync(path));

const linesOf = (path: string) => readFileSync(path, "utf8").split("\n");
const isComment = (line: string) => /^\s*(?:\/\/|\/?\*)/u.test(line);

/** Retired words in a text, as `word: better`. */
function retired(text: string): string[] {
  return RETIRED.flatMap(([word, better]) => {
    const found = word.exec(text);
    return found === null ? [] : [`"${found[0]}": ${better}`];
  });
}

describe("English", () => {
  it(`has comments of at most ${WIDTH} columns`, () => {
    const wide = tracked
      .filter((path) => COMMENTED.test(path))
      .flatMap((path) =>
        linesOf(path).flatMap((line, index) =>
          isComment(line) && line.length > WIDTH ? [`${path}:${index + 1}`] : [],
        ),
      );
    assert.deepEqual(wide, []);
  });

  it("has no retired words in texts that people see", () => {
    const spoken = tracked
      .filter((path) => SPOKEN.test(path))
      .flatMap((path) =>
        linesOf(path).flatMap((line, index) =>
          isComment(line) ? [] : retired(line).map((found) => `${path}:${index + 1} ${found}`),
        ),
      );
    assert.deepEqual(spoken, []);
  });

  it("has no retired words in the pages", () => {
    const written = tracked
      .filter((path) => PAGES.test(path))
      .flatMap((path) =>
        linesOf(path).flatMap((line, index) => retired(line).map((found) => `${path}:${index + 1} ${found}`)),
      );
    assert.deepEqual(written, []);
  });

  it("knows a retired word and a comment when it sees them", () => {
    assert.deepEqual(retired("It stands for whoever comes anew."), [
      '"anew": again',
      '"whoever": anyone who',
      '"stands for": is in, means, comes after',
    ]);
    assert.ok(isComment(" * text") && !isComment("const a = 1; // text"));
  });
});
