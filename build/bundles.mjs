/**
 * Every bundle that the package carries: entry, how it is built, and the most bytes that it may have. The build fails over a budget (some
 * 15 % above what it needs today), so that growth is decided on and not found out.
 */
const KiB = 1024;

/**
 * Bundles for Node: one CommonJS file each. `packed` ones carry V8's code cache (build/pack.mjs), because they start often or because compiling
 * them would cost memory that stays; `chunked` ones load parts of them later (build/chunks.mjs).
 */
export const NODE_BUNDLES = [
  { name: "cli", entry: "cli/main.ts", budget: 146 * KiB, packed: true },
  { name: "mcp", entry: "mcp-server/main.ts", budget: 218 * KiB, packed: true },
  { name: "hook", entry: "cli/hook/main.ts", budget: 2 * KiB },
  { name: "daemon", entry: "daemon/main.ts", budget: 2200 * KiB, packed: true, chunked: true },
  { name: "scan", entry: "daemon/scan-thread.ts", budget: 19 * KiB },
  { name: "demo", entry: "demo/main.ts", budget: 61 * KiB },
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
