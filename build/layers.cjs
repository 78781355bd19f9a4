/**
 * The layers of the product, lowest first (docs/architecture.md#layers): each folder and what it may import
 * beside itself. A room of the daemon may import every layer that stands before it.
 */
const beneath = ["shared", "platform", "client"];
const rooms = [
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
].map((room) => `daemon/${room}`);

exports.layers = [
  { folder: "shared", imports: [] },
  { folder: "platform", imports: ["shared"] },
  { folder: "client", imports: ["shared", "platform"] },
  { folder: "mcp-server", imports: ["shared", "client"] },
  ...rooms.map((folder, floor) => ({
    folder,
    // The daemon answers MCP over HTTP itself.
    imports: [...beneath, ...(folder === "daemon/assembly" ? ["mcp-server"] : []), ...rooms.slice(0, floor)],
  })),
  { folder: "demo", imports: ["shared", "client"] },
  { folder: "cli", imports: ["shared", "client", "mcp-server", "demo", "daemon/main.ts"] },
  { folder: "webview", imports: ["shared"] },
];
