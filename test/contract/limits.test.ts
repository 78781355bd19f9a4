/**
 * Every limit of the table is one that the product keeps: read by name, through whatever names a
 * file gives to parts of the table.
 */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import layers from "../../build/layers.cjs";
import { LIMITS } from "../../shared/limits.ts";

/** Limits that tests alone measure against, with what keeps them. */
const MEASURED: Readonly<Record<string, string>> = {
  "mcp.toolListBytes":
    "test/mcp/protocol.test.ts measures the tool list, which is made when the product is built",
  "mcp.helpBytes": "test/mcp/protocol.test.ts measures the help, which is text of the product",
};

function sources(): Map<string, string> {
  const found = new Map<string, string>();
  for (const folder of layers.productFolders) {
    for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
      const path = join(folder, name);
      if (!/\.(?:ts|mts|js)$/u.test(name) || path.includes("node_modules") || path === "shared/limits.ts")
        continue;
      const text = readFileSync(path, "utf8");
      if (text.includes("LIMITS")) found.set(path, text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gmu, ""));
    }
  }
  return found;
}

function leaves(value: object, path: readonly string[] = []): string[] {
  return Object.entries(value).flatMap(([name, member]: [string, unknown]) =>
    typeof member === "object" && member !== null && !Array.isArray(member)
      ? leaves(member, [...path, name])
      : [[...path, name].join(".")],
  );
}

/**
 * A file with names of its own for parts of the table written out, and the declarations of those
 * names left out.
 */
function writtenOut(source: string): string {
  let text = source;
  for (let round = 0; round < 8; round += 1) {
    const pattern = /\bconst (\{[^{}=]*\}|\w+)(?:: [\w<>[\]. |]+)? =\s*(LIMITS(?:\.\w+)*);/u;
    const match = pattern.exec(text);
    if (match === null) return text;
    const [whole, names, path] = match as unknown as [string, string, string];
    text = text.replace(whole, "");
    const given = names.startsWith("{")
      ? names
          .slice(1, -1)
          .split(",")
          .map((one) => one.trim())
          .filter((one) => one !== "")
          .map((one) => one.split(":").map((part) => part.trim()))
          .map(([member, name = member]) => [name!, `${path}.${member}`] as const)
      : [[names, path] as const];
    for (const [name, value] of given) {
      text = text.replaceAll(new RegExp(`(?<![\\w.$"'#])${name}\\b(?!:)`, "gu"), value);
    }
  }
  return text;
}

/** Limits that no source reads; reading a part as a whole reads what is in it. */
function unread(texts: Iterable<string>): string[] {
  const read = new Set<string>();
  for (const text of texts) {
    for (const [path] of writtenOut(text).matchAll(/\bLIMITS(?:\.\w+)+/gu))
      read.add(path.slice("LIMITS.".length));
  }
  return leaves(LIMITS).filter((leaf) => {
    const parts = leaf.split(".");
    return !parts.some((_, index) => read.has(parts.slice(0, index + 1).join(".")));
  });
}

describe("the table of limits", () => {
  it("has no limit that nothing keeps", () => {
    assert.deepEqual(unread(sources().values()), Object.keys(MEASURED));
  });

  it("is read by any names", () => {
    const rest = (text: string) => leaves(LIMITS).length - unread([text]).length;
    assert.equal(rest("if (x > LIMITS.tls.idleMessages) f(LIMITS.page.max);"), 2);
    assert.equal(rest("const { tls } = LIMITS;\nf(tls.idleMessages, other.tls.lingerSeconds);"), 1);
    assert.equal(rest("const { idleMessages: most, lingerSeconds } = LIMITS.tls;\nf(most);"), 1);
    assert.equal(
      rest("const limits = LIMITS.connect.catalog;\nconst { pages } = limits;\nf(pages, limits.peers);"),
      2,
    );
    assert.equal(rest("import { LIMITS } from 'x';\nconst { tls } = LIMITS;"), 0);
  });
});
