/**
 * The layers of the product, lowest first (docs/architecture.md#layers): each folder and what it
 * may import beside itself. A folder of the daemon may import every layer that stands before it.
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
  "peers/https",
  "peers/account",
  "peers/direct",
  "notifications",
  "operations",
  "http",
  "assembly",
].map((name) => `daemon/${name}`);

/**
 * The front of a folder (docs/architecture.md#fronts): the files that code outside of it may
 * import. Tests and benchmarks may import any. A layer inside another one is outside of it.
 */
exports.fronts = [
  { folder: "client/hook", files: ["hook-client", "hook-command", "serve"] },
  { folder: "mcp-server", files: ["http", "main", "tools"] },
  { folder: "daemon/home", files: ["home", "identity", "settings"] },
  { folder: "daemon/ledger", files: ["ledger", "parsed-head", "types"] },
  { folder: "daemon/ledger/search", files: ["filters", "search"] },
  {
    folder: "daemon/groups",
    files: ["actors", "examinations", "group", "group-view", "handlers", "launch-tokens", "recipients", "registry", "scopes"],
  },
  { folder: "daemon/access", files: ["access-token-handlers", "access-tokens", "lineage"] },
  { folder: "daemon/activity", files: ["activity", "launches"] },
  {
    folder: "daemon/messaging",
    files: [
      "group-chat",
      "kinds",
      "messaging",
      "files/blobs",
      "messages/attachments",
      "messages/idempotency",
      "messages/message-event",
      "messages/statuses",
      "messages/trouble-notices",
      "presentations/presentations",
      "projection/authors",
      "projection/message-keys",
      "projection/projections",
    ],
  },
  {
    folder: "daemon/messaging/files",
    files: ["blobs", "file-fetch", "file-streams", "referred-files", "upload-quota"],
  },
  { folder: "daemon/messaging/inbox", files: ["inbox", "mail-hold", "overview", "sessions"] },
  { folder: "daemon/messaging/transfer", files: ["group-export", "group-import"] },
  { folder: "daemon/runtimes", files: ["runtimes", "launch/live-launches", "terminal/terminal"] },
  {
    folder: "daemon/peers",
    files: [
      "authority",
      "outbound",
      "peers",
      "transport",
      "receiving/receiver",
      "receiving/receiver-quota",
      "wire/base64-pieces",
      "wire/json-body",
      "wire/json-outline",
      "wire/json-parts",
      "wire/statements",
    ],
  },
  { folder: "daemon/peers/https", files: ["frames", "peer-endpoint", "web-transport"] },
  { folder: "daemon/peers/account", files: ["account", "handlers"] },
  { folder: "daemon/peers/direct", files: ["direct", "handlers", "tls-links"] },
  { folder: "daemon/peers/direct/tls", files: ["alert", "connection", "handshake", "suites"] },
  { folder: "daemon/peers/outbox", files: ["outbox", "outbox-entry", "scheduler", "work-generations", "worker"] },
  { folder: "daemon/peers/receiving", files: ["receiver", "receiver-quota", "receiver-reply"] },
  { folder: "daemon/notifications", files: ["notifications", "push-services"] },
  { folder: "daemon/operations", files: ["dispatcher", "failures", "health", "system-handlers"] },
  {
    folder: "daemon/http",
    files: [
      "api/api",
      "local/actor-doors",
      "local/local-caller",
      "local/local-socket",
      "local/peer",
      "streams/stream-hub",
      "web/access-handlers",
      "web/browser-sessions",
      "web/exhibit",
      "web/login-links",
      "web/web-service",
    ],
  },
  { folder: "daemon/http/api", files: ["api"] },
  { folder: "daemon/http/exchange", files: ["exchange", "plain-page", "routes"] },
  { folder: "daemon/http/local", files: ["actor-doors", "local-caller", "local-socket", "peer"] },
  {
    folder: "daemon/http/streams",
    files: [
      "activity-stream",
      "event-socket",
      "global-stream",
      "ledger-stream",
      "stream-hub",
      "terminal-socket",
    ],
  },
  { folder: "daemon/assembly", files: ["daemon", "options"] },
  { folder: "account", files: ["main"] },
  { folder: "demo", files: ["main"] },
  { folder: "webview/composer", files: ["command-words", "composer"] },
  {
    folder: "webview/connections",
    files: [
      "account-dialog",
      "account-link",
      "connect-actor-dialog",
      "connections-dialog",
      "joined-banner",
      "sharing-dialog",
    ],
  },
  {
    folder: "webview/feed",
    files: ["attachment", "excerpt", "feed", "markdown", "message", "search", "thread"],
  },
  { folder: "webview/hosts/http", files: ["http-host", "http-session", "requests"] },
  { folder: "webview/notifications", files: ["notifications", "notifications-dialog"] },
  { folder: "webview/terminals", files: ["terminals"] },
  { folder: "webview/apps", files: [] },
].map(({ folder, files }) => ({ folder, files: files.map((file) => `${file}.ts`) }));

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
  { folder: "account", imports: ["shared", "platform"] },
  { folder: "demo", imports: ["shared", "client"] },
  { folder: "cli", imports: ["shared", "client", "mcp-server", "demo", "account/main.ts", "daemon/main.ts"] },
  { folder: "extension", imports: ["shared", "client"] },
  { folder: "webview", imports: ["shared"] },
];

/** The folders at the top level that hold the product's sources. */
exports.productFolders = [...new Set(exports.layers.map(({ folder }) => folder.split("/")[0]))];
