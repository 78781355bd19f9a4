/** docs/architecture.md against build/layers.cjs, by which imports are checked. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import rules from "../../build/layers.cjs";

interface Layer {
  folder: string;
  imports: readonly string[];
}

const ROOT = join(import.meta.dirname, "../..");
const { fronts, layers } = rules;
const BENEATH_DAEMON = ["shared", "platform", "client"];
/** Top-level folders that aren't layers of the product. */
const BESIDE = new Set(["bench", "build", "docs", "test", "dist", "node_modules", "daemon"]);

const named = (cell: string): string[] => [...cell.matchAll(/`([^`]+?)\/?`/g)].map(([, folder]) => folder!);

/** The rows of the page's table of layers. */
function documented(): Layer[] {
  const page = readFileSync(join(ROOT, "docs/architecture.md"), "utf8");
  const [, section = ""] = page.split("\n## Layers\n");
  const found: Layer[] = [];
  for (const row of section.split("\n## ")[0]!.matchAll(/^\| (`[^|]+) \|[^|]*\| ([^|]+) \|$/gm)) {
    const above = found.map(({ folder }) => folder).filter((folder) => folder.startsWith("daemon/"));
    const imports = row[2]!.includes("folders above") ? [...BENEATH_DAEMON, ...above] : [];
    found.push({ folder: named(row[1]!)[0]!, imports: [...imports, ...named(row[2]!)] });
  }
  return found;
}

/** The rows of the page's table of fronts. */
function documentedFronts(): { folder: string; files: string[] }[] {
  const page = readFileSync(join(ROOT, "docs/architecture.md"), "utf8");
  const section = page.split("\n### Fronts\n")[1]!.split("\n## ")[0]!;
  return [...section.matchAll(/^\| (`[^|]+) \| ([^|]+) \|$/gm)].map(([, folder, files]) => ({
    folder: named(folder!)[0]!,
    files: named(files!),
  }));
}

describe("layers", () => {
  it("are in docs/architecture.md as imports are checked", () => {
    const sorted = (rows: readonly Layer[]) =>
      rows.map(({ folder, imports }) => ({ folder, imports: [...imports].sort() }));
    assert.deepEqual(sorted(documented()), sorted(layers));
  });

  it("have their fronts in docs/architecture.md as imports are checked", () => {
    assert.deepEqual(documentedFronts(), fronts);
  });

  it("are every folder of the product", () => {
    const folders = (under: string): string[] =>
      readdirSync(join(ROOT, under), { withFileTypes: true })
        .filter((entry) => entry.isDirectory() && !entry.name.startsWith("."))
        .map(({ name }) => name);
    const all = [
      ...folders(".").filter((name) => !BESIDE.has(name)),
      ...folders("daemon").map((name) => `daemon/${name}`),
    ];
    const top = layers.map(({ folder }) => folder).filter((folder) => !folder.startsWith("daemon/peers/"));
    assert.deepEqual(all.sort(), top.sort());
    for (const { folder } of layers) assert.ok(existsSync(join(ROOT, folder)), folder);
  });
});
