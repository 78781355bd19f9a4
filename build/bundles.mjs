/**
 * Every bundle that the package carries: entry, how it is built, and the most bytes that it may have. The build fails over a budget, so that
 * growth is decided on and not found out.
 */
const KiB = 1024;

/** Bundles for Node: one CommonJS file each, which build/launcher.cjs starts with V8's code cache. */
export const NODE_BUNDLES = [
  { name: "cli", entry: "cli/main.ts", budget: 160 * KiB, cache: true },
  { name: "mcp", entry: "mcp-server/main.ts", budget: 640 * KiB, cache: true },
  { name: "daemon", entry: "daemon/main.ts", budget: 3000 * KiB, cache: false },
  { name: "demo", entry: "demo/main.ts", budget: 64 * KiB, cache: false },
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
