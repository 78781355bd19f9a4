/**
 * `npm run coverage:requirements [-- --json]`: which requirement rows in scope a test cites with
 * `verifies(...)`. test/requirements.tsv holds the rows in scope (id, requirement, how_checked). A
 * row that no test cites, and an id cited but unknown there, are errors.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Ids in the tests' `verifies("A-001", ...)` calls, each with a file that has it. */
function cited() {
  const ids = new Map();
  for (const entry of readdirSync("test", { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !entry.name.endsWith(".test.ts")) continue;
    const source = readFileSync(join(entry.parentPath, entry.name), "utf8");
    for (const call of source.matchAll(/\bverifies\(([^)]*)\)/g))
      for (const id of call[1].matchAll(/["']([A-Z]{2,5}-\d{3})["']/g)) ids.set(id[1], entry.name);
  }
  return ids;
}

const rows = readFileSync("test/requirements.tsv", "utf8")
  .trimEnd()
  .split("\n")
  .slice(1)
  .map((line) => line.split("\t"));
const ids = cited();
const areas = {};
const uncovered = [];
for (const [id] of rows) {
  const area = (areas[id.split("-")[0]] ??= { rows: 0, covered: 0 });
  area.rows += 1;
  if (ids.has(id)) area.covered += 1;
  else uncovered.push(id);
}

const known = new Set(rows.map(([id]) => id));
const unknown = [...ids].filter(([id]) => !known.has(id));
if (process.argv.includes("--json"))
  console.log(JSON.stringify({ areas, uncovered, unknown: unknown.map(([id]) => id) }));
else {
  for (const [area, { rows: total, covered }] of Object.entries(areas))
    console.log(`${area.padEnd(6)}${covered} of ${total}`);
  for (const [id, file] of unknown) console.log(`no requirement: ${id}, cited in ${file}`);
  for (const id of uncovered) console.log(`without a test: ${id}  ${rows.find(([row]) => row === id)[1]}`);
}
process.exit(uncovered.length === 0 && unknown.length === 0 ? 0 : 1);
