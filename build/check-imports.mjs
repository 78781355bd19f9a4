/**
 * Checks the import rules with dependency-cruiser, and that no folder is in a circle with those
 * next to it, except for a list that only shrinks (build/layers.cjs). dependency-cruiser exits with
 * 0 if it couldn't read TypeScript at all, so the modules that it saw are counted.
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
const fresh = circles.filter((circle) => !rules.circles.includes(circle));
const ended = rules.circles.filter((circle) => !circles.includes(circle));
for (const circle of fresh) console.error(`error a circle between folders: ${circle}`);
for (const circle of ended)
  console.error(`error no circle any more, take it from build/layers.cjs: ${circle}`);
for (const path of idle) console.error(`error only its own folder imports it: ${path}`);
console.log(
  `${summary.totalCruised} modules, ${summary.totalDependenciesCruised} imports, ${summary.error} against the rules, ${circles.length} circles between folders`,
);
const isGood = [idle, fresh, ended].every((list) => list.length === 0);
process.exit(summary.error === 0 && isGood && summary.totalCruised > 50 ? 0 : 1);
