/**
 * A credential that ends while a request's body is on its way: the request does nothing, whichever
 * way it came.
 */
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { type RequestOptions, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DaemonClient } from "../../client/client.ts";
import { findEndpoint } from "../../client/connection.ts";
import type { RunningDaemon } from "../../daemon/assembly/daemon.ts";
import { API_PREFIX, HEADERS } from "../../shared/names.ts";
import { textOf } from "../support/events.ts";

type Sent = Omit<RequestOptions, "headers"> & { headers: Record<string, string> };

interface Reply {
  status: number;
  code: string | undefined;
}

describe("a credential that ends before the body of its request", () => {
  let home: string;
  let daemon: RunningDaemon;
  let client: DaemonClient;
  let groupId: string;
  let runDaemon: typeof import("../../daemon/assembly/daemon.ts").runDaemon;

  before(async () => {
    ({ runDaemon } = await import("../../daemon/assembly/daemon.ts"));
  });
  beforeEach(async () => {
    home = mkdtempSync(join(tmpdir(), "svc-late-"));
    daemon = await runDaemon({ home, host: "127.0.0.1", port: 0 });
    client = new DaemonClient(home, null);
    groupId = (await client.result("group_create", { title: "one" })).group_id;
  });
  afterEach(async () => {
    client.close();
    await daemon.stop();
    rmSync(home, { recursive: true, force: true });
  });

  /** Sends the head, waits until the daemon has it, does `meanwhile`, then sends the body. */
  async function late(options: Sent, body: string, meanwhile: () => Promise<unknown>): Promise<Reply> {
    const sent = request({
      agent: false,
      method: "POST",
      ...options,
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...options.headers,
        "content-length": Buffer.byteLength(body),
        expect: "100-continue",
      },
    });
    const reply = new Promise<Reply>((resolve, reject) => {
      sent.on("error", reject);
      sent.on("response", (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
        response.on("end", () => {
          const { error } = JSON.parse(text) as { error?: { code: string } };
          resolve({ status: response.statusCode!, code: error?.code });
        });
      });
    });
    const continued = new Promise((resolve) => sent.once("continue", resolve));
    sent.flushHeaders();
    await Promise.race([continued, reply]);
    await meanwhile();
    sent.end(body);
    return reply;
  }

  const web = (path: string, headers: Record<string, string>): Sent => {
    const { hostname, port } = new URL(daemon.webOrigin!);
    return {
      hostname,
      port,
      path: `${API_PREFIX}${path}`,
      headers: { origin: daemon.webOrigin!, ...headers },
    };
  };
  const texts = async (): Promise<unknown[]> => {
    const { events } = await client.result("ledger_tail", {
      group_id: groupId,
      limit: 200,
      kinds: ["chat.message"],
    });
    return events.map(textOf);
  };
  const message = JSON.stringify({ text: "late", to: ["user"] });

  it("over the Web listener: operations, Direct's address, uploads", async () => {
    const { token, id } = await client.result("access_token_create", {});
    const bearer = { authorization: `Bearer ${token}` };
    const sent = await late(web(`/groups/${groupId}/send`, bearer), message, async () => undefined);
    assert.deepEqual([sent.status, await texts()], [200, ["late"]], "it does while the token lives");
    const before = (await client.result("group_list", {})).groups.length;
    const ways: [string, Record<string, string>, string][] = [
      [`/groups/${groupId}/send`, {}, message],
      ["/groups", {}, JSON.stringify({ title: "two" })],
      ["/connect/direct", {}, JSON.stringify({ action: "invite", group_id: groupId })],
      [`/groups/${groupId}/uploads?name=x`, { "content-type": "text/plain" }, "content"],
    ];
    const replies = [];
    for (const [path, headers, body] of ways) {
      const own = await client.result("access_token_create", {});
      const options = web(path, { authorization: `Bearer ${own.token}`, ...headers });
      replies.push(
        await late(options, body, () => client.result("access_token_revoke", { token_id: own.id })),
      );
    }
    assert.deepEqual(
      replies,
      Array.from(ways, () => ({ status: 401, code: "unauthenticated" })),
    );
    assert.deepEqual(await texts(), ["late"]);
    assert.equal((await client.result("group_list", {})).groups.length, before);
    const blobs = join(home, "groups", groupId, "blobs");
    assert.deepEqual(filesBelow(blobs), []);
    await client.result("access_token_revoke", { token_id: id });
  });

  it("in a browser's session that signs out meanwhile, though its token lives on", async () => {
    const { token } = await client.result("access_token_create", {});
    const { origin } = new URL(daemon.webOrigin!);
    const signIn = await fetch(`${origin}${API_PREFIX}/web-access/session`, {
      method: "POST",
      headers: { "content-type": "application/json", origin },
      body: JSON.stringify({ token }),
    });
    const cookie = signIn.headers.get("set-cookie")!.split(";")[0]!;
    const { result } = (await signIn.json()) as { result: { csrf_token: string } };
    const headers = { cookie, [HEADERS.csrf]: result.csrf_token };
    const reply = await late(web(`/groups/${groupId}/send`, headers), message, async () => {
      const out = await fetch(`${origin}${API_PREFIX}/web-access/logout`, {
        method: "POST",
        headers: { ...headers, origin },
      });
      assert.equal(out.status, 200);
    });
    assert.deepEqual(reply, { status: 401, code: "unauthenticated" });
    assert.deepEqual(await texts(), []);
  });

  it("of an Actor, over the local socket and MCP", async () => {
    const { token_file: tokenFile } = await client.result("actor_add", {
      group_id: groupId,
      actor_id: "dev",
    });
    const endpoint = findEndpoint(home);
    const launchToken = (): string =>
      (JSON.parse(readFileSync(tokenFile, "utf8")) as { token: string }).token;
    const renew = () => client.result("actor_restart", { group_id: groupId, actor_id: "dev" });
    const input = JSON.stringify({ group_id: groupId, text: "late", to: ["user"] });
    const local = (path: string): Sent => ({
      socketPath: endpoint.socketPath,
      path,
      headers: { [HEADERS.socketKey]: endpoint.key, [HEADERS.launchToken]: launchToken() },
    });
    for (const path of ["/op/send", `${API_PREFIX}/groups/${groupId}/send`]) {
      const body = path === "/op/send" ? input : message;
      assert.equal((await late(local(path), body, async () => undefined)).status, 200, path);
      const reply = await late(local(path), body, renew);
      assert.deepEqual(reply, { status: 401, code: "invalid_launch_token" }, path);
    }
    const { hostname, port } = new URL(daemon.webOrigin!);
    const initialize = {
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } },
    };
    const options = {
      hostname,
      port,
      path: "/mcp",
      headers: { authorization: `Bearer ${launchToken()}`, origin: daemon.webOrigin! },
    };
    const reply = await late(options, JSON.stringify(initialize), renew);
    assert.deepEqual(reply, { status: 401, code: "invalid_launch_token" });
    assert.deepEqual(await texts(), ["late", "late"]);
  });
});

function filesBelow(directory: string): string[] {
  try {
    return readdirSync(directory, { recursive: true, encoding: "utf8" }).filter((name) => name !== "uploads");
  } catch {
    return [];
  }
}
