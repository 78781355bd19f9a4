/**
 * Every bundle that the package carries: entry, how it is built, and the most bytes that it may have. The build fails over a budget (some
 * 15 % above what it needs today), so that growth is decided on and not found out.
 */
const KiB = 1024;

/**
 * Bundles for Node: a CommonJS file each. The `split` one is an ES module with chunks that it imports when they are first needed, because
 * loading all of it would cost memory that stays.
 */
export const NODE_BUNDLES = [
  { name: "cli", entry: "cli/main.ts", budget: 226 * KiB },
  { name: "mcp", entry: "mcp-server/main.ts", budget: 345 * KiB },
  { name: "websocket", entry: "cli/web-socket.ts", budget: 77 * KiB },
  { name: "hook", entry: "client/hook/main.ts", budget: 3 * KiB },
  { name: "daemon", entry: "daemon/main.ts", budget: 3200 * KiB, split: true },
  { name: "demo", entry: "demo/main.ts", budget: 75 * KiB },
];

/** The most bytes of all source maps of the bundles for Node. */
export const SOURCE_MAPS_BUDGET = 2950 * KiB;

/**
 * Bundles for browsers: ES modules with shared chunks, measured as they travel (Brotli). `budget` is for what every visit loads first, fonts
 * and styles included: under 300 KB a page is there within a second at 3 Mbit/s. `laterBudget` is for all that loads when it is asked for:
 * terminals, dialogs.
 */
export const WEB_BUNDLES = [
  {
    name: "workbench",
    entry: "webview/apps/workbench/main.ts",
    page: "webview/apps/workbench/index.html",
    budget: 206 * KiB,
    laterBudget: 126 * KiB,
  },
];
