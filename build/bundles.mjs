/**
 * Every bundle that the package carries: entry, how it is built, and the most bytes that it may have. The build fails over a budget (some
 * 15 % above what it needs today), so that growth is decided on and not found out.
 */
const KiB = 1024;

/** Bundles for Node: one CommonJS file each. `packed` ones start often and carry V8's code cache (build/pack.mjs). */
export const NODE_BUNDLES = [
  { name: "cli", entry: "cli/main.ts", budget: 146 * KiB, packed: true },
  { name: "mcp", entry: "mcp-server/main.ts", budget: 218 * KiB, packed: true },
  { name: "hook", entry: "cli/hook/main.ts", budget: 2 * KiB, packed: false },
  { name: "daemon", entry: "daemon/main.ts", budget: 2200 * KiB, packed: false },
  { name: "demo", entry: "demo/main.ts", budget: 36 * KiB, packed: false },
];

/** Bundles for browsers: ES modules with shared chunks. The budget is for all files together, fonts and styles included. */
export const WEB_BUNDLES = [
  {
    name: "workbench",
    entry: "webview/workbench/main.ts",
    page: "webview/workbench/index.html",
    budget: 1020 * KiB,
  },
];
