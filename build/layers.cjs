/**
 * The layers of the product, lowest first (docs/architecture.md#layers): each folder and what it may import
 * beside itself. A folder of the daemon may import every layer that stands before it.
 */
const beneath = ["shared", "platform", "client"];
const parts = [
  "home",
  "ledger",
  "groups",
  "access",
  "activity",
  "messaging",
  "runtimes",
  "peers",
  "peers/direct",
  "operations",
  "http",
  "assembly",
].map((name) => `daemon/${name}`);

exports.layers = [
  { folder: "shared", imports: [] },
  { folder: "platform", imports: ["shared"] },
  { folder: "client", imports: ["shared", "platform"] },
  { folder: "mcp-server", imports: ["shared", "client"] },
  ...parts.map((folder, floor) => ({
    folder,
    // The daemon answers MCP over HTTP itself.
    imports: [...beneath, ...(folder === "daemon/assembly" ? ["mcp-server"] : []), ...parts.slice(0, floor)],
  })),
  { folder: "demo", imports: ["shared", "client"] },
  { folder: "cli", imports: ["shared", "client", "mcp-server", "demo", "daemon/main.ts"] },
  { folder: "webview", imports: ["shared"] },
];
