/** The same server at /mcp of the Web listener, by the SDK's own HTTP client. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { LIMITS } from "../../shared/limits.ts";
import { DaemonProcess } from "../support/daemon-process.ts";
import { until } from "../support/until.ts";
import type { Taken } from "./peer.ts";

describe("MCP over HTTP", () => {
  let daemon: DaemonProcess;
  let groupId: string;
  let tokenFile: string;
  let token: string;
  let address: URL;
  const open: Client[] = [];

  before(async () => {
    daemon = await DaemonProcess.started();
    const user = daemon.client();
    groupId = (await user.result("group_create", { title: "HTTP" })).group_id;
    ({ token_file: tokenFile } = await user.result("actor_add", { group_id: groupId, actor_id: "ada" }));
    ({ token } = JSON.parse(readFileSync(tokenFile, "utf8")) as { token: string });
    const { web_origin: webOrigin } = await user.result("daemon_status", {});
    address = new URL("/mcp", webOrigin ?? "");
  });
  after(async () => {
    await Promise.all(open.map((client) => client.close()));
    await daemon.dispose();
  });

  async function connected(
    bearer: string,
  ): Promise<{ client: Client; transport: StreamableHTTPClientTransport }> {
    const client = new Client({ name: "peer", version: "1" });
    const transport = new StreamableHTTPClientTransport(address, {
      requestInit: { headers: { authorization: `Bearer ${bearer}` } },
    });
    await client.connect(transport);
    open.push(client);
    return { client, transport };
  }

  async function result(client: Client, name: string, input: object = {}): Promise<Record<string, unknown>> {
    const { structuredContent } = await client.callTool({ name, arguments: { ...input } });
    const { ok, result: value } = structuredContent as { ok: boolean; result: Record<string, unknown> };
    assert.equal(ok, true, JSON.stringify(structuredContent));
    return value;
  }

  function post(
    headers: Record<string, string>,
    method = "tools/list",
    params: object = {},
  ): Promise<Response> {
    return fetch(address, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...headers,
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    });
  }

  it("serves the same tools and waits for messages", async () => {
    const { client } = await connected(token);
    const { tools } = await client.listTools();
    assert.equal(tools.length, 14);
    assert.equal((await result(client, "svc_bootstrap"))["unread_mail"], 0);
    const waiting = result(client, "svc_inbox_read", { wait_seconds: 20 });
    const sent = await daemon.client().result("send", { group_id: groupId, to: ["ada"], text: "over HTTP" });
    const taken = (await waiting) as unknown as Taken;
    assert.equal(taken.messages[0]?.event.id, sent.event.id);
    await result(client, "svc_inbox_read", { wait_seconds: 0, ack: taken.batch_id });
  });

  it("takes a launch token as bearer and nothing else", async () => {
    const administrator = await daemon.client().result("access_token_create", {});
    for (const headers of [
      {},
      { authorization: "Bearer nonsense" },
      { authorization: `Bearer ${administrator.token}` },
      { authorization: `Basic ${token}` },
      { "svc-launch-token": token },
    ] as Record<string, string>[]) {
      const answer = await post(headers);
      assert.equal(answer.status, 401, JSON.stringify(Object.keys(headers)));
      assert.equal(((await answer.json()) as { ok: boolean }).ok, false);
    }
  });

  it("opens a session for who initializes with the id of one that has ended, and says so of other calls", async () => {
    const stale = { authorization: `Bearer ${token}`, "mcp-session-id": "of-an-earlier-daemon" };
    const listed = await post(stale);
    assert.equal(listed.status, 404);
    const { error } = (await listed.json()) as { error: { message: string } };
    assert.match(error.message, /^There is no such MCP session\. Initialize again/);
    const opened = await post(stale, "initialize", {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "test", version: "1" },
    });
    assert.equal(opened.status, 200);
    const id = opened.headers.get("mcp-session-id") ?? "";
    assert.notEqual(id, stale["mcp-session-id"]);
    assert.equal((await post({ ...stale, "mcp-session-id": id })).status, 200);
  });

  it("refuses foreign origins, and sessions of others", async () => {
    const foreign = await post({ authorization: `Bearer ${token}`, origin: "https://elsewhere.example" });
    assert.equal(foreign.status, 403);
    const { transport } = await connected(token);
    const other = await daemon.client().result("actor_add", { group_id: groupId, actor_id: "max" });
    const stranger = (JSON.parse(readFileSync(other.token_file, "utf8")) as { token: string }).token;
    const session = { "mcp-session-id": transport.sessionId ?? "", "mcp-protocol-version": "2025-11-25" };
    assert.equal((await post({ ...session, authorization: `Bearer ${stranger}` })).status, 404);
    assert.equal((await post({ ...session, authorization: `Bearer ${token}` })).status, 200);
    assert.equal((await post({ authorization: `Bearer ${token}` })).status, 400);
  });

  it("lets an Actor that opens sessions without end lose its own, and nobody else's", async () => {
    const other = await daemon.client().result("actor_add", { group_id: groupId, actor_id: "calm" });
    const calm = (JSON.parse(readFileSync(other.token_file, "utf8")) as { token: string }).token;
    const { client } = await connected(calm);
    const { client: first } = await connected(token);
    const initialize = JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: {
        protocolVersion: "2025-06-18",
        capabilities: {},
        clientInfo: { name: "flood", version: "1" },
      },
    });
    const accept = "application/json, text/event-stream";
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json", accept };
    for (let count = 0; count < LIMITS.mcp.sessions; count++) {
      const opened = await fetch(address, { method: "POST", headers, body: initialize });
      assert.equal(opened.status, 200);
      await opened.body?.cancel();
    }
    await assert.rejects(result(first, "svc_bootstrap"));
    await result(client, "svc_bootstrap");
  });

  describe("loses no message", () => {
    let session: Record<string, string>;
    let client: Client;

    let own: string;

    before(async () => {
      const added = await daemon.client().result("actor_add", { group_id: groupId, actor_id: "eve" });
      own = (JSON.parse(readFileSync(added.token_file, "utf8")) as { token: string }).token;
    });
    beforeEach(async () => {
      const opened = await connected(own);
      client = opened.client;
      session = {
        authorization: `Bearer ${own}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-session-id": opened.transport.sessionId ?? "",
        "mcp-protocol-version": "2025-11-25",
      };
    });
    afterEach(() => drained());

    function body(id: string, waitSeconds: number): string {
      const params = { name: "svc_inbox_read", arguments: { wait_seconds: waitSeconds } };
      return JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params });
    }

    async function send(text: string): Promise<string> {
      return (await daemon.client().result("send", { group_id: groupId, to: ["eve"], text })).event.id;
    }

    async function isClaimed(eventId: string): Promise<boolean> {
      const { statuses } = await daemon
        .client()
        .result("ledger_statuses", { group_id: groupId, event_ids: [eventId] });
      return statuses[eventId]?.delivery_status["eve"]?.state === "claimed";
    }

    async function read(waitSeconds = 5): Promise<[string, boolean][]> {
      const { messages } = (await result(client, "svc_inbox_read", {
        wait_seconds: waitSeconds,
      })) as unknown as Taken;
      return messages.map(({ event, redelivered }) => [event.id, redelivered]);
    }

    async function drained(): Promise<void> {
      while ((await read(0)).length > 0);
    }

    it("whose answer came to a client that had stopped reading and broke off", async () => {
      const event = await send("unread");
      const socket = connect(Number(address.port), address.hostname);
      await once(socket, "connect");
      socket.pause();
      const text = body("r1", 0);
      const head = Object.entries({ ...session, host: address.host, "content-length": text.length });
      socket.write(
        `POST /mcp HTTP/1.1\r\n${head.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${text}`,
      );
      await until("the read took it", () => isClaimed(event));
      socket.resetAndDestroy();
      // A call behind the break: when it is answered, the daemon has seen both.
      await daemon.client().result("daemon_status", {});
      await until("it is handed out again", async () => (await read(0)).some(([id]) => id === event));
    });

    it("that a client cancels after its answer left", async () => {
      const event = await send("cancelled late");
      const answer = await fetch(address, { method: "POST", headers: session, body: body("late", 5) });
      assert.match(await answer.text(), new RegExp(event));
      const params = { requestId: "late", reason: "gave up" };
      const message = JSON.stringify({ jsonrpc: "2.0", method: "notifications/cancelled", params });
      const cancelled = await fetch(address, { method: "POST", headers: session, body: message });
      assert.equal(cancelled.status, 202);
      assert.deepEqual(await read(), [[event, true]]);
    });

    it("that a client cancels after a later call overtook the cancellation", async () => {
      const settles = LIMITS.mcp.settleSeconds * 1000;
      const notification = (requestId: string) =>
        JSON.stringify({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId } });
      const overtaken = async (round: number): Promise<boolean> => {
        const event = await send(`overtaken ${round}`);
        const id = `overtaken-${round}`;
        const answer = await fetch(address, { method: "POST", headers: session, body: body(id, 5) });
        assert.match(await answer.text(), new RegExp(event));
        const begin = performance.now();
        await result(client, "svc_group");
        await fetch(address, { method: "POST", headers: session, body: notification(id) });
        // A machine that stood still for so long proves nothing.
        if (performance.now() - begin > settles) return false;
        assert.deepEqual(await read(), [[event, true]]);
        return true;
      };
      for (let round = 0; round < 5; round += 1) if (await overtaken(round)) return;
      assert.fail("the machine stood still");
    });

    it("and takes a later call for an acknowledgement once no cancellation came", async () => {
      const event = await send("read and gone on");
      assert.deepEqual(await read(), [[event, false]]);
      await result(client, "svc_group");
      await until("it counts as accepted", async () => {
        const { statuses } = await daemon
          .client()
          .result("ledger_statuses", { group_id: groupId, event_ids: [event] });
        return statuses[event]?.delivery_status["eve"]?.state === "accepted";
      });
    });

    it("and takes one message at a time: batches are refused", async () => {
      const event = await send("not in a batch");
      const batch = `[${body("b1", 0)},${body("b2", 0)}]`;
      const refused = await fetch(address, { method: "POST", headers: session, body: batch });
      assert.equal(refused.status, 400);
      const { error } = (await refused.json()) as { error: { code: number; message: string } };
      assert.deepEqual([error.code, error.message], [-32600, "A message must be one JSON object"]);
      const broken = await fetch(address, { method: "POST", headers: session, body: "{" });
      assert.equal(broken.status, 400);
      assert.equal(((await broken.json()) as { error: { code: number } }).error.code, -32700);
      assert.deepEqual(await read(), [[event, false]]);
    });
  });

  it("slows down guessing, and never a token that is right", async () => {
    const wrong = () => post({ authorization: "Bearer wrong" });
    const statuses: number[] = [];
    for (let tried = 0; tried <= LIMITS.http.authFailuresPerMinute; tried += 1)
      statuses.push((await wrong()).status);
    assert.equal(statuses.at(-1), 429);
    assert.ok(Number((await wrong()).headers.get("retry-after")) > 0);
    await connected(token);
  });

  it("ends the sessions of a token that was renewed", async () => {
    const { client } = await connected(token);
    await result(client, "svc_bootstrap");
    await daemon.client().result("actor_restart", { group_id: groupId, actor_id: "ada" });
    await assert.rejects(result(client, "svc_bootstrap"));
    // Guesses came from this address before.
    assert.ok([401, 429].includes((await post({ authorization: `Bearer ${token}` })).status));
  });
});
