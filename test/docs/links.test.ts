/**
 * Every reference leads somewhere: from comments into docs/ and to requirements, and between
 * documents.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

const tracked = execFileSync("git", ["ls-files"], { encoding: "utf8", maxBuffer: 64 * 1024 * 1024 })
  .split("\n")
  .filter((path) => path !== "" && existsSync(path));
const code = tracked.filter((path) => /\.(?:ts|mts|mjs|cjs|css|html)$/u.test(path));
const pages = tracked.filter((path) => path.endsWith(".md"));

/** Anchors of a page's headings, as the usual hosts make them. */
const anchors = new Map<string, Set<string>>();
function anchorsOf(page: string): Set<string> {
  let found = anchors.get(page);
  if (found === undefined) {
    const headings = readFileSync(page, "utf8").matchAll(/^#+ +(.+?)\s*$/gmu);
    found = new Set(
      [...headings].map(([, heading]) =>
        heading!
          .toLowerCase()
          .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
          .replaceAll(" ", "-"),
      ),
    );
    anchors.set(page, found);
  }
  return found;
}

/** What is wrong with a reference to `page#anchor`; null when it resolves. */
function problem(page: string, anchor: string | undefined): string | null {
  if (!existsSync(page)) return "no such file";
  if (anchor === undefined || !page.endsWith(".md")) return null;
  return anchorsOf(page).has(anchor) ? null : "no such heading";
}

describe("references", () => {
  it("from code to a page lead to a page of this repository and a heading on it", () => {
    const wrong: string[] = [];
    for (const file of code) {
      const text = readFileSync(file, "utf8");
      for (const [reference, page, anchor] of text.matchAll(/\bdocs\/([a-z0-9-]+\.md)(?:#([a-z0-9-]+))?/gu)) {
        const why = problem(`docs/${page}`, anchor);
        if (why !== null) wrong.push(`${file}: ${reference}: ${why}`);
      }
    }
    assert.deepEqual(wrong, []);
  });

  it("name a page with its folder, so that a reader finds it", () => {
    const bare = /(?<![\w/.-])([a-z]+(?:-[a-z]+)*\.md)\b/gu;
    const wrong: string[] = [];
    for (const file of code.filter((path) =>
      /^(?:shared|platform|client|daemon|cli|mcp-server|webview)\//u.test(path),
    )) {
      for (const line of readFileSync(file, "utf8").split("\n")) {
        if (!/^\s*(?:\/?\*|\/\/)/u.test(line)) continue;
        for (const [, page] of line.matchAll(bare)) wrong.push(`${file}: ${page}`);
      }
    }
    assert.deepEqual(wrong, []);
  });

  it("to a requirement name a row that exists", () => {
    const rows = readFileSync("test/requirements.tsv", "utf8")
      .split("\n")
      .map((line) => line.split("\t")[0]!)
      .filter((id) => /^[A-Z]+-\d{3}$/u.test(id));
    const known = new Set(rows);
    const areas = new Set(rows.map((id) => id.split("-")[0]!));
    const wrong: string[] = [];
    for (const file of [...code, ...pages]) {
      for (const [id, area] of readFileSync(file, "utf8").matchAll(/\b([A-Z]{2,4})-\d{3}\b/gu)) {
        if (areas.has(area!) && !known.has(id)) wrong.push(`${file}: ${id}`);
      }
    }
    assert.deepEqual(wrong, []);
  });

  it("between pages lead to a file and a heading on it", () => {
    const wrong: string[] = [];
    for (const page of pages) {
      for (const [, target] of readFileSync(page, "utf8").matchAll(/\]\(([^)\s]+)\)/gu)) {
        if (/^[a-z]+:/u.test(target!)) continue;
        const [path, anchor] = target!.split("#");
        const file = path === "" ? page : normalize(join(dirname(page), path!));
        const why = problem(file, anchor);
        if (why !== null) wrong.push(`${page}: ${target}: ${why}`);
      }
    }
    assert.deepEqual(wrong, []);
  });
});
