/**
 * Every bundle in the package: its entry, how it is built, and its maximum size in bytes. The build
 * fails over a budget (some 15 % above what it needs today), so that growth is a decision and not a
 * surprise.
 */
const KiB = 1024;

/**
 * Bundles for Node: a CommonJS file each. The `split` one is an ES module with chunks that it
 * imports when they are first needed, because loading all of it would cost memory that stays.
 */
export const NODE_BUNDLES = [
  { name: "cli", entry: "cli/main.ts", budget: 320 * KiB },
  { name: "mcp", entry: "mcp-server/main.ts", budget: 345 * KiB },
  { name: "websocket", entry: "client/web-socket.ts", budget: 77 * KiB },
  { name: "qr", entry: "cli/qr-code.ts", budget: 48 * KiB },
  { name: "hook", entry: "client/hook/main.ts", budget: 3 * KiB },
  { name: "daemon", entry: "daemon/main.ts", budget: 3280 * KiB, split: true },
  { name: "account", entry: "account/main.ts", budget: 2460 * KiB, split: true },
  { name: "demo", entry: "demo/main.ts", budget: 90 * KiB },
];

/**
 * Files of the extension's code for the editor's extension host. The first one, with the chunks
 * that all of them share, is loaded when the editor starts, the others when they are first needed:
 * a command, a webview, a daemon that answers, an agent's server, a terminal, an agent's
 * configuration.
 */
export const EXTENSION_BUNDLES = [
  { name: "extension", entry: "extension/extension.ts", budget: 122 * KiB },
  { name: "commands", entry: "extension/all-commands.ts", budget: 40 * KiB },
  { name: "webviews", entry: "extension/webviews/shown-webviews.ts", budget: 60 * KiB },
  { name: "terminals", entry: "extension/terminals/command-on-path.ts", budget: 3 * KiB },
  { name: "joining", entry: "extension/agents/joining.ts", budget: 3 * KiB },
  { name: "websocket", entry: "client/web-socket.ts", budget: 58 * KiB },
  { name: "agents", entry: "extension/agents/config-text.ts", budget: 66 * KiB },
];

/** The most bytes of a VSIX without and with the daemon. */
export const VSIX_BUDGETS = { universal: 2 * 1024 * KiB, withDaemon: 8 * 1024 * KiB };

/** The most bytes of all source maps of the bundles for Node. */
export const SOURCE_MAPS_BUDGET = 4800 * KiB;

/**
 * Bundles for browsers: ES modules with shared chunks, measured in transfer size (Brotli). `budget`
 * is for what every visit loads first, including fonts and styles: under 300 KB, a page loads
 * within a second at 3 Mbit/s. `laterBudget` is for everything that loads on demand: terminals,
 * dialogs.
 */
export const WEB_BUNDLES = [
  {
    name: "workbench",
    entry: "webview/apps/workbench/main.ts",
    page: "webview/apps/workbench/index.html",
    budget: 210 * KiB,
    laterBudget: 200 * KiB,
  },
];

/**
 * What stands beside a page of browsers as it is, and the service worker: one script without
 * imports, because not every browser takes a module for it.
 */
export const PAGE_FILES = ["webview/apps/workbench/manifest.webmanifest", "webview/apps/workbench/icon.png"];
export const WORKER_BUNDLES = [
  { name: "service-worker", entry: "webview/notifications/service-worker.ts", budget: 6 * KiB },
];

/**
 * Bundles of the extension's webviews, measured as they are in the VSIX's folder: an editor loads
 * them from the disk. `budget` is for what each loads first, with fonts and styles.
 */
export const WEBVIEW_BUNDLES = [
  { name: "workbench", entry: "webview/apps/workbench/editor.ts", budget: 680 * KiB },
  { name: "ticker", entry: "webview/apps/ticker/main.ts", budget: 300 * KiB },
  { name: "direct", entry: "webview/apps/direct/main.ts", budget: 460 * KiB },
  { name: "account", entry: "webview/apps/account/main.ts", budget: 440 * KiB },
];
