/**
 * Checks the import rules with dependency-cruiser, and that no folder is in a circle with those
 * next to it. dependency-cruiser exits with 0 if it couldn't read TypeScript at all, so the modules
 * that it saw are counted.
 */
import { spawnSync } from "node:child_process";
import rules from "./layers.cjs";
import { siblingCircles } from "./sibling-circles.mjs";

const folders = [...rules.productFolders, "bench"];
const { stdout, stderr, status } = spawnSync(
  process.execPath,
  [
    "node_modules/dependency-cruiser/bin/dependency-cruise.mjs",
    "--config",
    ".dependency-cruiser.cjs",
    "--output-type",
    "json",
    ...folders,
  ],
  { encoding: "utf8", maxBuffer: 256 * 1024 * 1024 },
);
if (stdout === "") {
  console.error(stderr);
  process.exit(status || 1);
}
const { modules, summary } = JSON.parse(stdout);
/** Files of a front that no code outside of the folder imports. */
const idle = rules.fronts.flatMap(({ folder, files }) =>
  files
    .map((file) => `${folder}/${file}`)
    .filter((path) => {
      const { dependents = [] } = modules.find(({ source }) => source === path) ?? {};
      return !dependents.some((from) => isOutside(from, folder));
    }),
);
function isOutside(path, folder) {
  if (path.startsWith("bench/")) return false;
  const inner = rules.layers.find(
    (layer) => layer.folder.startsWith(`${folder}/`) && path.startsWith(`${layer.folder}/`),
  );
  return inner !== undefined || !path.startsWith(`${folder}/`);
}

for (const { rule, from, to } of summary.violations)
  console.error(`${rule.severity} ${rule.name}: ${from} -> ${to}`);
const circles = siblingCircles(modules);
for (const circle of circles) console.error(`error a circle between folders: ${circle}`);
for (const path of idle) console.error(`error only its own folder imports it: ${path}`);
console.log(
  `${summary.totalCruised} modules, ${summary.totalDependenciesCruised} imports, ${summary.error} against the rules, circles between folders: ${circles.length}`,
);
const isGood = summary.error === 0 && idle.length === 0 && circles.length === 0;
process.exit(isGood && summary.totalCruised > 50 ? 0 : 1);
