/**
 * Every bundle that the package carries: entry, how it is built, and the most bytes that it may have. The build fails over a budget, so that
 * growth is decided on and not found out.
 */
const KiB = 1024;

/** Bundles for Node: one CommonJS file each. `packed` ones start often and carry V8's code cache (build/pack.mjs). */
export const NODE_BUNDLES = [
  { name: "cli", entry: "cli/main.ts", budget: 160 * KiB, packed: true },
  { name: "mcp", entry: "mcp-server/main.ts", budget: 640 * KiB, packed: true },
  { name: "hook", entry: "cli/hook/main.ts", budget: 4 * KiB, packed: false },
  { name: "daemon", entry: "daemon/main.ts", budget: 3000 * KiB, packed: false },
  { name: "demo", entry: "demo/main.ts", budget: 64 * KiB, packed: false },
];

/** Bundles for browsers: ES modules with shared chunks. The budget is for all files together, fonts and styles included. */
export const WEB_BUNDLES = [
  {
    name: "workbench",
    entry: "webview/workbench/main.ts",
    page: "webview/workbench/index.html",
    budget: 1400 * KiB,
  },
];
