/** Agents' configurations, in which people keep comments and other entries. */
import assert from "node:assert/strict";
import {
  ConfigProblem,
  isBlank,
  readEntry,
  withEntry,
  withoutEntry,
} from "../../extension/agents/config-text.ts";
import { AGENT_CLIENTS, agentClient, serverFor } from "../../shared/agent-clients.ts";

const claude = agentClient("claude")!;
const codex = agentClient("codex")!;
const entryOf = (client: typeof claude, actorId: string = client.actorId) =>
  client.entry(serverFor(client, { actorId, home: "/home/me/.svc" }));

describe("an agent's configuration", () => {
  it("begins empty, and is as it was before once the entry is gone", () => {
    for (const client of AGENT_CLIENTS) {
      const entry = entryOf(client);
      const text = withEntry("", client, entry);
      assert.deepEqual(readEntry(text, client), entry);
      assert.equal(withEntry(text, client, entry), text);
      assert.ok(!isBlank(text, client));
      assert.ok(isBlank(withoutEntry(text, client), client));
    }
  });

  const JSON_TEXT = `// Servers of the team
{
\t"mcpServers": {
\t\t// ours
\t\t"docs": { "command": "docs", "env": { "KEY": "1" } }, // keep
\t},
\t"other": [1, 2], /* last */
}
`;

  it("keeps comments, order, tabs and other servers of a JSON file", () => {
    const text = withEntry(JSON_TEXT, claude, entryOf(claude));
    const added =
      '\n\t\t"svc": {\n\t\t\t"command": "svc",\n\t\t\t"args": [\n\t\t\t\t"mcp",\n\t\t\t\t"--as",\n\t\t\t\t"claude"\n\t\t\t]\n\t\t},';
    assert.equal(text.replace(added, ""), JSON_TEXT);
    assert.equal(withoutEntry(text, claude), JSON_TEXT);
  });

  it("is changed behind the byte order mark that some editors begin it with, which stays", () => {
    for (const [client, text] of [
      [claude, `\uFEFF${JSON_TEXT.replaceAll("\n", "\r\n")}`],
      [codex, '\uFEFFmodel = "m"\r\n'],
      [codex, "\uFEFF"],
    ] as const) {
      const changed = withEntry(text, client, entryOf(client));
      assert.deepEqual(readEntry(changed, client), entryOf(client));
      assert.ok(changed.startsWith("\uFEFF") && !changed.includes("\uFEFF", 1), text);
      assert.equal(withoutEntry(changed, client).trimEnd(), text.trimEnd());
    }
  });

  it("leaves of any JSON file what it had before", () => {
    for (const text of [
      "{}",
      '{ "mcpServers": {} }\n',
      '{ // mine\n  "a": 1\n}\n',
      '{"mcpServers":{"a":{"command":"a"}},"b":[]}',
      '{\n    "mcpServers": { // all\n        "a": {} // last\n    }\n}',
      '{ /* head */ "a": "svc", "mcpServers": { /* none */ } }',
    ]) {
      const changed = withEntry(text, claude, entryOf(claude));
      assert.deepEqual(readEntry(changed, claude), entryOf(claude), text);
      const rest = withoutEntry(changed, claude);
      const bare = (words: string) =>
        words
          .replaceAll(/\s+/g, "")
          .replace(/"mcpServers":\{\},?/, "")
          .replace(",}", "}");
      assert.equal(bare(rest), bare(text), text);
    }
    const last = '{\n  "mcpServers": {\n    "a": {}, // first\n    "svc": {}\n  }\n}\n';
    assert.equal(withoutEntry(last, claude), '{\n  "mcpServers": {\n    "a": {} // first\n  }\n}\n');
  });

  it("changes only what differs of an earlier entry", () => {
    const earlier = `{
  "mcpServers": {
    "svc": {
      "command": "svc", // from the team
      "args": ["mcp", "--as", "old"],
      "env": { "SVC_HOME": "/x" }
    }
  }
}
`;
    const text = withEntry(earlier, claude, entryOf(claude));
    assert.ok(text.includes('"command": "svc", // from the team'));
    assert.deepEqual(readEntry(text, claude), { ...entryOf(claude), env: { SVC_HOME: "/x" } });
  });

  const TOML_TEXT = `# My Codex
model = "o" # the usual

[mcp_servers.docs]
command = "docs" # keep
args = [ "a", # first
  "b" ]

[mcp_servers.docs.env]
KEY = "1"

# Projects
[projects."/home/me/a.b"]
trust_level = "trusted"
`;

  it("keeps every line of a TOML file", () => {
    const text = withEntry(TOML_TEXT, codex, entryOf(codex));
    assert.ok(text.startsWith(TOML_TEXT));
    assert.ok(text.endsWith('\n\n[mcp_servers.svc]\ncommand = "svc"\nargs = ["mcp", "--as", "codex"]\n'));
    assert.equal(withoutEntry(text, codex).trimEnd(), TOML_TEXT.trimEnd());
  });

  it("changes an earlier entry of a TOML file in its place, with its comments and tables", () => {
    const earlier = `[mcp_servers.svc] # ours
args = ["mcp", "--as", "old"] # who
startup_timeout_sec = 20
[mcp_servers.svc.env]
A = "1"

# next
[mcp_servers.docs]
command = "docs"
`;
    const text = withEntry(earlier, codex, entryOf(codex));
    assert.ok(
      text.startsWith(
        '[mcp_servers.svc] # ours\ncommand = "svc"\nargs = ["mcp", "--as", "codex"] # who\nstartup',
      ),
    );
    assert.ok(text.includes('[mcp_servers.svc.env]\nA = "1"\n\n# next\n[mcp_servers.docs]'));
    assert.equal(withoutEntry(text, codex), '# next\n[mcp_servers.docs]\ncommand = "docs"\n');
  });

  it("keeps line ends of Windows", () => {
    for (const [client, text] of [
      [codex, TOML_TEXT],
      [claude, JSON_TEXT],
    ] as const) {
      const changed = withEntry(text.replaceAll("\n", "\r\n"), client, entryOf(client));
      assert.ok(!/[^\r]\n/.test(changed));
    }
  });

  it("is refused when it can't be changed without losing something", () => {
    for (const [client, text, words] of [
      [claude, "{ broken", /isn't valid JSON.*line 1/],
      [claude, "[]", /isn't a JSON object/],
      [claude, '{"mcpServers": []}', /something else/],
      [claude, '{"mcpServers": {"svc": "x"}}', /isn't an entry/],
      [codex, "model = ", /isn't valid TOML/],
      [codex, 'mcp_servers.svc.command = "x"\n', /can't change safely/],
      [codex, 'mcp_servers = { docs = { command = "x" } }\n', /valid TOML|can't change safely/],
      [codex, '[[mcp_servers]]\nname = "x"\n', /something else/],
    ] as const)
      assert.throws(
        () => withEntry(text, client, entryOf(client)),
        (error) => error instanceof ConfigProblem && words.test(error.message),
        text,
      );
  });
});
