/** What the stdio server says on the wire, line by line, without any daemon. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ListToolsResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { deriveTools } from "../../mcp-server/derive.ts";
import { HELP } from "../../mcp-server/help.ts";
import { LIMITS } from "../../shared/limits.ts";
import { NOWHERE, run } from "../cli/svc.ts";
import { verifies } from "../requirements.ts";

function initialize(protocolVersion: string): { jsonrpc: "2.0"; id: number; method: string; params: object } {
  return {
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: { protocolVersion, capabilities: {}, clientInfo: { name: "test", version: "1" } },
  };
}

interface Answer {
  id: number | null;
  result?: Record<string, unknown>;
  error?: { code: number; message: string };
}

/** Runs the server over these lines and gives what it wrote. */
async function converse(lines: readonly (object | string)[]): Promise<Answer[]> {
  const input = lines.map((line) => `${typeof line === "string" ? line : JSON.stringify(line)}\n`).join("");
  const { code, out, err } = await run(["mcp"], { input });
  assert.equal(code, 0, err);
  assert.equal(err, "");
  return out
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Answer);
}

function call(id: number, name: string, input: object): object {
  return { jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: input } };
}

describe("MCP on the wire", () => {
  it("answers initialize with the version that was asked for, else with the newest", async () => {
    for (const [asked, given] of [
      ["2025-06-18", "2025-06-18"],
      ["2025-11-25", "2025-11-25"],
      ["2026-07-28", "2025-11-25"],
    ] as const) {
      const [answer] = await converse([initialize(asked)]);
      assert.equal(answer?.result?.["protocolVersion"], given);
      assert.deepEqual(answer?.result?.["capabilities"], { tools: {} });
    }
  });

  it("answers initialize once, also with everything else right behind it", async () => {
    const answers = await converse([
      initialize("2025-11-25"),
      { jsonrpc: "2.0", method: "notifications/initialized" },
      { jsonrpc: "2.0", id: 2, method: "tools/list" },
      { jsonrpc: "2.0", id: 3, method: "ping" },
    ]);
    assert.deepEqual(new Set(answers.map(({ id }) => id)), new Set([1, 2, 3]));
  });

  it("answers a discovery probe with method-not-found and goes on", async () => {
    const answers = await converse([
      { jsonrpc: "2.0", id: 7, method: "server/discover", params: { protocolVersion: "2026-07-28" } },
      initialize("2025-11-25"),
    ]);
    assert.equal(answers.find(({ id }) => id === 7)?.error?.code, -32601);
    assert.ok(answers.find(({ id }) => id === 1)?.result);
  });

  it("answers behind a byte order mark, with lines that end like Windows', and after broken ones", async () => {
    const text = JSON.stringify(initialize("2025-11-25"));
    for (const lines of [[`\uFEFF${text}`], [`${text}\r`, "\r"], ["{bad\r", "\r", text]]) {
      const answers = await converse(lines);
      assert.ok(answers.find(({ id }) => id === 1)?.result, JSON.stringify(lines));
    }
  });

  it("answers what isn't a request with an error", async () => {
    const answers = await converse([
      "{",
      "[]",
      { jsonrpc: "1.0", id: 2, method: "ping" },
      { jsonrpc: "2.0", id: 3, method: "tools/call", params: [] },
      { jsonrpc: "2.0", id: 4, method: "tools/call", params: { name: "svc_group", arguments: "x" } },
      call(5, "no_such_tool", {}),
      { jsonrpc: "2.0", id: 6, method: "ping" },
    ]);
    assert.deepEqual(
      answers
        .map(({ id, error }) => [id, error?.code])
        .sort((one, other) => Number(one[0]) - Number(other[0])),
      [
        [null, -32700],
        [null, -32600],
        [2, -32600],
        [3, -32602],
        [4, -32602],
        [5, -32602],
        [6, undefined],
      ],
    );
  });

  it("lists its tools within 16 KiB, always the same, each complete", async () => {
    verifies("MCP-013");
    const request = { jsonrpc: "2.0", id: 2, method: "tools/list" };
    const [first] = await converse([request]);
    const [second] = await converse([request]);
    assert.deepEqual(first, second);
    assert.ok(Buffer.byteLength(JSON.stringify(first)) < LIMITS.mcp.toolListBytes);
    const { tools } = ListToolsResultSchema.parse(first?.result);
    assert.deepEqual(
      tools.map(({ name }) => name),
      [
        "svc_help",
        "svc_bootstrap",
        "svc_connect",
        "svc_message_send",
        "svc_message_reply",
        "svc_message_deliver",
        "svc_message_history",
        "svc_inbox_read",
        "svc_reply_request_cancel",
        "svc_file",
        "svc_file_send",
        "svc_presentation",
        "svc_group",
        "svc_actor",
      ],
    );
    for (const { name, title, description, annotations, inputSchema, outputSchema } of tools) {
      assert.ok(title && description, name);
      assert.deepEqual(Object.keys(annotations ?? {}).sort(), [
        "destructiveHint",
        "idempotentHint",
        "openWorldHint",
        "readOnlyHint",
      ]);
      assert.equal(inputSchema["additionalProperties"], false, name);
      assert.equal(outputSchema?.type, "object", name);
      for (const identity of ["group_id", "by"])
        assert.ok(!(identity in (inputSchema.properties ?? {})), name);
    }
    assert.deepEqual(
      first?.result?.["tools"],
      deriveTools().map(({ listed }) => listed),
    );
  });

  it("teaches the protocol in under 4 KiB, without a daemon or an identity", async () => {
    assert.ok(Buffer.byteLength(HELP) < LIMITS.mcp.helpBytes);
    const [answer] = await converse([call(1, "svc_help", {})]);
    assert.deepEqual(answer?.result?.["structuredContent"], { ok: true, result: { text: HELP } });
  });

  it("speaks for nobody without a launch identity, and says where there is no daemon", async () => {
    const [nobody] = await converse([call(1, "svc_bootstrap", {})]);
    const answer = nobody?.result?.["structuredContent"] as { error: { code: string } } | undefined;
    assert.equal(answer?.error.code, "invalid_launch_token");
    const input = `${JSON.stringify(call(1, "svc_bootstrap", {}))}\n`;
    const folder = mkdtempSync(join(tmpdir(), "svc-token-"));
    try {
      const file = join(folder, "token.json");
      writeFileSync(file, JSON.stringify({ token: "x".repeat(43) }), { mode: 0o600 });
      const { out } = await run(["mcp"], { home: NOWHERE, env: { SVC_ACTOR_FILE: file }, input });
      assert.match(out, /daemon_unreachable/);
      const old = await run(["mcp"], { home: NOWHERE, env: { SVC_LAUNCH_TOKEN: "x".repeat(43) }, input });
      assert.match(old.out, /invalid_launch_token.*SVC_ACTOR_FILE/);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
