/** Import rules by dependency-cruiser. It exits 0 when it couldn't read TypeScript at all, so the modules it saw are counted. */
import { spawnSync } from "node:child_process";

const folders = ["shared", "platform", "client", "daemon", "cli", "mcp-server", "webview", "demo", "bench"];
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
const { summary } = JSON.parse(stdout);
for (const { rule, from, to } of summary.violations)
  console.error(`${rule.severity} ${rule.name}: ${from} -> ${to}`);
console.log(
  `${summary.totalCruised} modules, ${summary.totalDependenciesCruised} imports, ${summary.error} against the rules`,
);
process.exit(summary.error === 0 && summary.totalCruised > 50 ? 0 : 1);
