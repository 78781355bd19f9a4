/** Who may import what (docs/architecture.md): arrows run downward only, no circles. */
const rooms = [
  "platform",
  "home",
  "ledger",
  "groups",
  "activity",
  "messaging",
  "runtimes",
  "connect",
  "direct",
  "operations",
  "http",
  "assembly",
];

/** Rooms of the daemon that `room` may not import: those above it. */
const upward = rooms.map((room, floor) => ({
  name: `daemon-${room}-imports-downward`,
  comment: `daemon/${room} may import itself and the rooms below it.`,
  severity: "error",
  from: { path: `^daemon/${room}/` },
  to: { path: `^daemon/(${[...rooms.slice(floor + 1), "main"].join("|")})(/|\\.ts$)` },
}));

const face = (name, folder, allowed) => ({
  name,
  severity: "error",
  from: { path: `^${folder}/` },
  to: { path: "^(daemon|cli|mcp-server|webview|test|bench|demo|build)/", pathNot: `^(${allowed.join("|")})` },
});

module.exports = {
  forbidden: [
    { name: "no-circles", severity: "error", from: {}, to: { circular: true } },
    { name: "no-unresolved", severity: "error", from: {}, to: { couldNotResolve: true, pathNot: "^(svc:|virtual:)" } },
    ...upward,
    { name: "shared-stands-alone", severity: "error", from: { path: "^shared/" }, to: { path: "^(daemon|cli|mcp-server|webview|test|bench|demo|build)/" } },
    { name: "shared-runs-in-a-browser", severity: "error", from: { path: "^shared/" }, to: { dependencyTypes: ["core"] } },
    face("client-is-light", "daemon/client", ["daemon/client/", "daemon/platform/", "daemon/home/(paths|endpoint|process-state)\\.ts"]),
    face("mcp-server-is-a-port", "mcp-server", ["mcp-server/", "daemon/client/", "daemon/home/(paths|endpoint|process-state)\\.ts", "build/generated"]),
    face("cli-is-a-port", "cli", ["cli/", "daemon/client/", "daemon/home/(paths|endpoint|process-state)\\.ts", "daemon/main\\.ts", "mcp-server/", "demo/"]),
    face("webview-is-a-port", "webview", ["webview/"]),
    { name: "one-importer-of-the-mcp-sdk", severity: "error", from: { pathNot: "^(mcp-server/sdk\\.ts|test/|demo/|bench/)" }, to: { path: "node_modules/@modelcontextprotocol/sdk" } },
    { name: "one-importer-of-the-toolkit", severity: "error", from: { path: "^webview/", pathNot: "^webview/toolkit\\.ts" }, to: { path: "node_modules/@vscode/webview-ui-toolkit" } },
    { name: "product-does-not-import-tests", severity: "error", from: { path: "^(shared|daemon|cli|mcp-server|webview|demo)/" }, to: { path: "^(test|bench)/" } },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: { exportsFields: ["exports"], mainFields: ["module", "main"], extensions: [".ts", ".mjs", ".cjs", ".js", ".json"], conditionNames: ["import", "require", "node", "default", "types"] },
  },
};
