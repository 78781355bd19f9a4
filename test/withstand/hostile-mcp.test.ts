/** An MCP client that doesn't keep to the protocol, and a daemon that goes away beneath it. */

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { LIMITS } from "../../shared/limits.ts";
import { ENVIRONMENT } from "../../shared/names.ts";
import { DaemonProcess } from "../support/daemon-process.ts";
import { until } from "../support/until.ts";
import { McpProcess } from "./mcp-process.ts";
import { Sentinel } from "./sentinel.ts";

describe("hostile input at the MCP server", () => {
  let daemon: DaemonProcess;
  let sentinel: Sentinel;
  let mcp: McpProcess;

  beforeEach(async () => {
    daemon = await DaemonProcess.started();
    sentinel = await Sentinel.stand(daemon);
    mcp = new McpProcess(daemon.home, { [ENVIRONMENT.actorFile]: sentinel.token_file });
  });
  afterEach(async () => {
    await mcp.kill();
    await daemon.dispose();
  });

  it("answers what isn't a request with an error or nothing, and goes on", async () => {
    await mcp.initialize();
    const lines: (string | Buffer)[] = [
      "",
      "{",
      "null",
      "1",
      '"text"',
      "[]",
      '[{"jsonrpc":"2.0","id":1,"method":"ping"}]',
      "{}",
      '{"jsonrpc":"1.0","id":2,"method":"ping"}',
      '{"jsonrpc":"2.0","id":null,"method":"ping"}',
      '{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}',
      '{"jsonrpc":"2.0","id":1e999,"method":"ping"}',
      '{"jsonrpc":"2.0","id":3,"method":7}',
      '{"jsonrpc":"2.0","id":4,"method":"__proto__"}',
      '{"jsonrpc":"2.0","id":5,"method":"tools/call","params":[]}',
      '{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"constructor","arguments":{}}}',
      '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"svc_actor","arguments":{"action":"toString"}}}',
      '{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"svc_group","arguments":{"__proto__":{"a":1}}}}',
      '{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"svc_group","arguments":"x"}}',
      '{"jsonrpc":"2.0","id":10,"method":"server/discover"}',
      '{"jsonrpc":"2.0","id":99,"result":{}}',
      '{"jsonrpc":"2.0","id":98,"error":{"code":1,"message":"x"}}',
      '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"nothing"}}',
      '{"jsonrpc":"2.0","method":"notifications/nothing"}',
      Buffer.from([0xff, 0xfe, 0x7b, 0x7d]),
      `{"jsonrpc":"2.0","id":11,"method":"ping","params":${"[".repeat(200_000)}${"]".repeat(200_000)}}`,
      "x".repeat(LIMITS.client.streamLineBytes + 10),
    ];
    for (const line of lines) mcp.write(line);
    const { result } = await mcp.request("tools/list", {});
    assert.ok(Array.isArray(result?.["tools"]));
    const refused = (id: number): boolean => {
      const answer = mcp.messages.find((message) => message.id === id);
      return answer?.error !== undefined || answer?.result?.["isError"] === true;
    };
    for (const id of [5, 6, 7, 8, 9, 10]) assert.ok(refused(id), `request ${id} wasn't refused`);
    const discovery = mcp.messages.find((message) => message.id === 10);
    assert.equal(discovery?.error?.code, -32601);
    const first = await mcp.tool("svc_bootstrap", {});
    assert.equal(first.ok, true);
    await sentinel.check();
  });

  it("names the argument that is wrong", async () => {
    await mcp.initialize();
    for (const [name, args, field] of [
      ["svc_message_send", { to: ["user"] }, "text"],
      ["svc_message_send", { text: 1 }, "text"],
      ["svc_message_send", { text: "x", message_mode: "shout" }, "message_mode"],
      ["svc_message_send", { text: "x", idempotency_key: "" }, "idempotency_key"],
      ["svc_message_send", { text: "x", by: "user" }, "by"],
      ["svc_message_send", { text: "x", group_id: sentinel.group_id }, "group_id"],
      ["svc_inbox_read", { wait_seconds: -1 }, "wait_seconds"],
      ["svc_inbox_read", { actor_id: "user" }, "actor_id"],
      ["svc_message_reply", { event_id: "../x", text: "x" }, "event_id"],
      ["svc_help", { x: 1 }, "x"],
    ] as [string, object, string][]) {
      const answer = (await mcp.tool(name, args)) as {
        ok: boolean;
        error?: { code: string; details: { field: string } };
      };
      const code = field === "message_mode" ? "invalid_message_mode" : "invalid_args";
      assert.equal(answer.error?.code, code, name);
      assert.equal(answer.error?.details.field, field, `${name} ${JSON.stringify(args)}`);
    }
    await sentinel.check();
  });

  it("tells of a daemon that is killed while it waits, and works again with the next one", async () => {
    await mcp.initialize();
    const waiting = mcp.tool("svc_inbox_read", { wait_seconds: 50 });
    await until("it waits", async () => {
      const { actors } = await daemon.client().result("actor_list", { group_id: sentinel.group_id });
      return actors[0]?.presence.state === "waiting" || actors[0]?.presence.state === "idle";
    });
    await daemon.kill();
    const broken = await waiting;
    assert.equal(broken.ok, false);
    await daemon.start();
    assert.equal((await mcp.tool("svc_bootstrap", {})).ok, true);
  });

  it("says who it isn't any more once its token was renewed", async () => {
    await mcp.initialize();
    assert.equal((await mcp.tool("svc_bootstrap", {})).ok, true);
    await daemon.client().result("actor_restart", { group_id: sentinel.group_id, actor_id: "watch" });
    const answer = await mcp.tool("svc_bootstrap", {});
    assert.equal(answer.error?.code, "invalid_launch_token");
  });

  it("speaks for nobody with a credential that it can't use", async () => {
    const file = join(daemon.home, "no-token");
    writeFileSync(file, "nothing", { mode: 0o600 });
    for (const environment of [
      {},
      { [ENVIRONMENT.actorFile]: file },
      { [ENVIRONMENT.actorFile]: join(daemon.home, "missing") },
      { [ENVIRONMENT.actorFile]: "" },
      { [ENVIRONMENT.launchToken]: "" },
      { [ENVIRONMENT.launchToken]: "x".repeat(43) },
    ]) {
      const other = new McpProcess(daemon.home, environment);
      try {
        await other.initialize();
        const answer = await other.tool("svc_message_send", {
          text: "as the user",
          message_mode: "send",
          to: ["user"],
        });
        assert.equal(answer.error?.code, "invalid_launch_token", JSON.stringify(environment));
      } finally {
        await other.kill();
      }
    }
    await sentinel.check();
  });

  it("ends with its client, even while it waits and in the middle of a line", async () => {
    await mcp.initialize();
    mcp.write(
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"svc_inbox_read","arguments":{"wait_seconds":50}}}',
    );
    mcp.write('{"jsonrpc":"2.0","id":2,"meth');
    const begun = performance.now();
    await mcp.end();
    assert.equal(mcp.exitCode, 0);
    assert.ok(performance.now() - begun < 45_000, "it ended with its wait");
  });
});
