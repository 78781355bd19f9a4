import assert from "node:assert/strict";
import { chmodSync, copyFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { request as secureRequest } from "node:https";
import { connect, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DaemonClient } from "../../client/client.ts";
import { findEndpoint } from "../../client/connection.ts";
import type { RunningDaemon } from "../../daemon/assembly/daemon.ts";
import { type Route, specialRoutes } from "../../daemon/http/exchange/routes.ts";
import { API_PREFIX, HEADERS } from "../../shared/names.ts";
import { HTTP_ROUTES } from "../../shared/operations/http-routes.ts";
import { OPERATIONS } from "../../shared/operations/registry.ts";
import { verifies } from "../requirements.ts";

interface Reply {
  status: number;
  headers: NodeJS.Dict<string | string[]>;
  text: string;
  code: string | undefined;
}

const TLS = join(import.meta.dirname, "../fixtures/tls");
const VALUES: Readonly<Record<string, string>> = {
  actor_id: "a1",
  event_id: "0".repeat(32),
  source_event_id: "0".repeat(32),
  sha256: "0".repeat(64),
  token_id: "t_none",
};

/** What the exhibit's listener serves, and nothing else (docs/core-model.md#ports). */
const EXHIBIT_PATHS: ReadonlySet<string> = new Set([
  `${API_PREFIX}/groups`,
  `${API_PREFIX}/groups/{group_id}`,
  `${API_PREFIX}/groups/{group_id}/actors`,
  `${API_PREFIX}/groups/{group_id}/ledger/tail`,
  `${API_PREFIX}/groups/{group_id}/ledger/window`,
  `${API_PREFIX}/groups/{group_id}/ledger/search`,
  `${API_PREFIX}/groups/{group_id}/ledger/thread`,
  `${API_PREFIX}/groups/{group_id}/ledger/stream`,
  `${API_PREFIX}/groups/{group_id}/blobs/{sha256}`,
  `${API_PREFIX}/web-access`,
  "/health",
]);

function fill(path: string, groupId: string): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => (name === "group_id" ? groupId : VALUES[name]!));
}

/** Every address of the Web listener as one table. */
function allRoutes(): (Pick<Route, "method" | "path" | "open"> & { operation?: string; action?: string })[] {
  const nothing = new Proxy({}, { get: () => () => {} }) as Parameters<typeof specialRoutes>[0];
  const operations = [...HTTP_ROUTES].map(([operation, route]) => ({
    ...route,
    path: API_PREFIX + route.path,
    operation,
  }));
  return [...operations, ...specialRoutes(nothing)];
}

describe("the daemon as a whole", () => {
  let home: string;
  let daemon: RunningDaemon;
  let client: DaemonClient;
  let runDaemon: typeof import("../../daemon/assembly/daemon.ts").runDaemon;

  // Imported, not required: the daemon imports parts of itself later, and they must find the same
  // modules.
  before(async () => {
    ({ runDaemon } = await import("../../daemon/assembly/daemon.ts"));
  });

  beforeEach(async () => {
    home = mkdtempSync(join(tmpdir(), "svc-daemon-"));
    daemon = await runDaemon({ home, host: "127.0.0.1", port: 0, checkOutputs: true });
    client = new DaemonClient(home, null);
  });
  afterEach(async () => {
    client.close();
    await daemon.stop();
    rmSync(home, { recursive: true, force: true });
  });

  function ask(
    origin: string,
    method: string,
    path: string,
    { token, headers, body }: { token?: string; headers?: Record<string, string>; body?: unknown } = {},
  ): Promise<Reply> {
    const bytes = body === undefined ? undefined : JSON.stringify(body);
    const url = new URL(origin);
    const sender = url.protocol === "https:" ? secureRequest : request;
    return new Promise((resolve, reject) => {
      const sent = sender(
        {
          host: url.hostname,
          port: url.port,
          method,
          path,
          agent: false,
          rejectUnauthorized: false,
          headers: {
            ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
            ...(bytes === undefined
              ? {}
              : { "content-type": "application/json", "content-length": Buffer.byteLength(bytes) }),
            ...headers,
          },
        },
        (response) => {
          const chunks: Buffer[] = [];
          const done = (): void => {
            const text = Buffer.concat(chunks).toString("utf8");
            let code: string | undefined;
            try {
              code = (JSON.parse(text) as { error?: { code: string } }).error?.code;
            } catch {
              // Not an envelope.
            }
            resolve({ status: response.statusCode ?? 0, headers: response.headers, text, code });
          };
          response.on("data", (chunk: Buffer) => {
            chunks.push(chunk);
            // A stream has no end: what came first is enough.
            if (response.headers["content-type"]?.startsWith("text/event-stream") === true) {
              done();
              response.destroy();
            }
          });
          response.on("end", done);
          response.on("error", () => {});
        },
      );
      sent.on("error", reject);
      sent.end(bytes);
    });
  }

  it("reaches every operation over the socket and its HTTP address, and refuses unknown fields there", async () => {
    const { token } = await client.result("access_token_create", {});
    const group = await client.result("group_create", { title: "one" });
    const onlyActors: string[] = [];
    for (const { name, callers } of OPERATIONS.values()) {
      const overSocket = await client.callByName(name, { surely_unknown: 1 });
      assert.ok(!overSocket.ok);
      if (!callers.includes("user")) {
        onlyActors.push(name);
        assert.equal(overSocket.error.code, "permission_denied");
        continue;
      }
      assert.equal(overSocket.error.code, "invalid_args", name);
      const http = HTTP_ROUTES.get(name);
      if (http === undefined) continue;
      const path = API_PREFIX + fill(http.path, group.group_id);
      const takesQuery = http.method === "GET" || http.method === "DELETE";
      const reply = takesQuery
        ? await ask(daemon.webOrigin!, http.method, `${path}?surely_unknown=1`, { token })
        : await ask(daemon.webOrigin!, http.method, path, {
            token,
            body: { action: http.action, surely_unknown: 1 },
          });
      assert.deepEqual([reply.status, reply.code], [400, "invalid_args"], name);
      assert.ok(reply.text.includes("surely_unknown"), name);
    }
    assert.deepEqual(onlyActors, ["tools_listed", "hook_submit", "hook_decide", "bootstrap"]);
  });

  it("gives a restricted token nothing of another Group over any address, and no administration", async () => {
    verifies("WEB-023");
    const mine = await client.result("group_create", { title: "mine" });
    const other = await client.result("group_create", { title: "not theirs" });
    const { token } = await client.result("access_token_create", { groups: [mine.group_id] });
    for (const { method, path, operation, action, open } of allRoutes()) {
      const body = method === "GET" || method === "DELETE" ? {} : { body: { action } };
      const address = fill(path, other.group_id);
      const reply = await ask(daemon.webOrigin!, method, address, { token, ...body });
      const where = `${method} ${path}: ${reply.status} ${reply.text.slice(0, 200)}`;
      assert.ok(!reply.text.includes(other.title) && !reply.text.includes(other.generation), where);
      const contract = operation === undefined ? undefined : OPERATIONS.get(operation);
      if (contract !== undefined && !contract.callers.includes("member")) {
        assert.deepEqual([reply.status, reply.code], [403, "permission_denied"], where);
      } else if (path.includes("{group_id}"))
        assert.ok(reply.status === 404 || reply.code === "invalid_args", where);
      else if (path === "/metrics") assert.equal(reply.status, 403);
      if (open !== true) {
        const nobody = await ask(daemon.webOrigin!, method, address, body);
        assert.deepEqual([nobody.status, nobody.code], [401, "unauthenticated"], where);
      }
    }
  });

  it("shows an exhibit by its own token on its own listener: named Groups, GET, and nothing else", async () => {
    const shown = await client.result("group_create", { title: "shown" });
    const hidden = await client.result("group_create", { title: "hidden" });
    const { token: administrator } = await client.result("access_token_create", {});
    const exhibit = { host: "127.0.0.1", port: 0, groups: [shown.group_id] };
    const { origin, token } = await client.result("exhibit_set", { exhibit });
    assert.ok(origin !== null && token !== null);
    const routes = [
      ...allRoutes(),
      { method: "POST", path: `${API_PREFIX}/web-access/session` },
      { method: "POST", path: "/mcp" },
    ];
    for (const { method, path } of routes) {
      const body = method === "GET" || method === "DELETE" ? {} : { body: {} };
      const reply = await ask(origin, method, fill(path, shown.group_id), { token, ...body });
      const where = `${method} ${path}: ${reply.status} ${reply.code}`;
      if (!EXHIBIT_PATHS.has(path)) assert.equal(reply.status, 404, where);
      else if (method !== "GET") assert.equal(reply.status, 405, where);
      else assert.ok([200, 400, 404].includes(reply.status), where);
      if (method === "GET" && path.includes("{group_id}") && EXHIBIT_PATHS.has(path)) {
        assert.ok(
          [400, 404].includes((await ask(origin, method, fill(path, hidden.group_id), { token })).status),
          where,
        );
        assert.equal(
          (await ask(origin, method, fill(path, shown.group_id), { token: administrator })).status,
          401,
          where,
        );
        assert.equal((await ask(origin, method, fill(path, shown.group_id))).status, 401, where);
      }
    }
    const list = await ask(origin, "GET", `${API_PREFIX}/groups`, { token });
    assert.ok(list.text.includes(shown.group_id) && !list.text.includes(hidden.group_id));
    assert.equal((await ask(daemon.webOrigin!, "GET", `${API_PREFIX}/groups`, { token })).status, 401);
    // What can't be shown leaves what is on show alone.
    const elsewhere = { ...exhibit, host: "203.0.113.1" };
    assert.equal((await client.call("exhibit_set", { exhibit: elsewhere })).ok, false);
    assert.equal((await ask(origin, "GET", `${API_PREFIX}/groups`, { token })).status, 200);
    const { exhibit: now } = await client.result("exhibit_show", {});
    assert.equal(now?.origin, origin);
    const again = await client.result("exhibit_set", { exhibit: { ...exhibit, port: now.port } });
    assert.equal(again.origin, origin);
    assert.equal((await ask(origin, "GET", `${API_PREFIX}/groups`, { token })).status, 401);
    assert.equal((await ask(origin, "GET", `${API_PREFIX}/groups`, { token: again.token! })).status, 200);
    await client.result("exhibit_set", { exhibit: null });
    await assert.rejects(ask(origin, "GET", "/health"));
    const { tokens } = await client.result("access_token_list", {});
    assert.ok(!tokens.some(({ kind }) => kind === "exhibit"));
  });

  it("takes nothing from a launch token that was replaced while its call waited for the Group", async () => {
    const { group_id: groupId } = await client.result("group_create", { title: "alone" });
    const { token_file: tokenFile } = await client.result("actor_add", {
      group_id: groupId,
      actor_id: "alice",
    });
    const { token } = JSON.parse(readFileSync(tokenFile, "utf8")) as { token: string };
    const { key } = findEndpoint(home);
    const frame = (operation: string, input: unknown, more = ""): string => {
      const body = JSON.stringify(input);
      const fields = `Content-Type: application/json\r\n${HEADERS.socketKey}: ${key}\r\n${more}`;
      return `POST /op/${operation} HTTP/1.1\r\nHost: svc\r\n${fields}Content-Length: ${body.length}\r\n\r\n${body}`;
    };
    const socket = connect(daemon.socket);
    // In one piece: the second is read before the first has done anything.
    socket.write(
      frame("actor_restart", { group_id: groupId, actor_id: "alice" }) +
        frame(
          "send",
          { group_id: groupId, text: "late", to: ["user"] },
          `${HEADERS.launchToken}: ${token}\r\n`,
        ),
    );
    let text = "";
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      text += chunk.toString();
      if (text.split("HTTP/1.1 ").length === 3 && text.endsWith("}")) break;
    }
    const [, restarted, sent] = text.split("HTTP/1.1 ");
    assert.match(restarted!, /^200 /);
    assert.match(sent!, /^401 .*"invalid_launch_token"/s);
    const { events } = await client.result("ledger_tail", { group_id: groupId, kinds: ["chat.message"] });
    assert.deepEqual(events, []);
  });

  it("holds a conversation with nothing but its Home: it connects to nobody", async () => {
    verifies("ID-003");
    const asked: unknown[] = [];
    const connect = Reflect.get(Socket.prototype, "connect") as (this: Socket, ...args: unknown[]) => Socket;
    Socket.prototype.connect = function watched(this: Socket, ...args: unknown[]) {
      const [target] = (Array.isArray(args[0]) ? args[0] : args) as unknown as [{ path?: string }];
      if (target.path !== daemon.socket) asked.push(target);
      return connect.apply(this, args);
    };
    try {
      const group = await client.result("group_create", { title: "alone" });
      const { group_id: groupId } = group;
      await client.result("actor_add", { group_id: groupId, actor_id: "alice" });
      const { event } = await client.result("send", { group_id: groupId, text: "hello", to: ["alice"] });
      const { events } = await client.result("ledger_tail", { group_id: groupId, kinds: ["chat.message"] });
      assert.deepEqual(
        events.map(({ id }) => id),
        [event.id],
      );
    } finally {
      Socket.prototype.connect = connect;
    }
    assert.deepEqual(asked, []);
  });

  it("gives what an older version's bridge granted no meaning, and leaves the file as it is", async () => {
    verifies("RET-007");
    await daemon.stop();
    const old = join(home, "group_bridge_grants.json");
    const grants = `${JSON.stringify({ grants: [{ peer: "12D3KooW", group_id: "g_000000000001", access: "full" }] })}\n`;
    writeFileSync(old, grants, { mode: 0o600 });
    daemon = await runDaemon({ home, host: "127.0.0.1", port: 0, checkOutputs: true });
    assert.deepEqual((await client.result("group_list", {})).groups, []);
    assert.deepEqual((await client.result("access_token_list", {})).tokens, []);
    assert.equal(readFileSync(old, "utf8"), grants);
  });

  it("takes only a canonical HTTPS origin for Remote Access", async () => {
    verifies("WEB-002");
    for (const origin of [
      "http://svc.example.org",
      "https://svc.example.org/path",
      "https://user@svc.example.org",
      "https://localhost",
      "https://127.0.0.1:8848",
      "https://[::1]",
      "svc.example.org",
      "",
    ]) {
      const refused = await client.call("remote_access_set", { origin });
      assert.equal(refused.ok ? "" : refused.error.code, "invalid_args", origin);
    }
    const set = await client.result("remote_access_set", { origin: "https://SVC.example.org:443" });
    assert.deepEqual(set.remote_access, {
      provider: "manual",
      enabled: true,
      origin: "https://svc.example.org",
    });
    const off = await client.result("remote_access_set", { origin: null });
    assert.deepEqual(off.remote_access, { provider: "off", enabled: false, origin: null });
  });

  it("keeps what belongs to this machine's owner from Web administrators", async () => {
    const { token } = await client.result("access_token_create", {});
    const { url } = await client.result("login_link_create", {});
    assert.match(url, new RegExp(`^${daemon.webOrigin}/#login=[A-Za-z0-9_-]{43}$`));
    for (const name of ["login_link_create", "daemon_stop"]) {
      assert.equal(HTTP_ROUTES.get(name), undefined);
      assert.equal((await ask(daemon.webOrigin!, "POST", `/op/${name}`, { token, body: {} })).status, 404);
    }
    const metrics = await ask(daemon.webOrigin!, "GET", "/metrics", { token });
    assert.match(metrics.text, /svc_operations\{operation="login_link_create",outcome="done"\} 1/);
  });

  it("checks itself, and finds what is wrong", async () => {
    const { checks } = await client.result("health", {});
    assert.deepEqual(
      checks.filter(({ severity }) => severity === "error"),
      [],
    );
    chmodSync(join(home, "settings.json"), 0o644);
    rmSync(join(home, "daemon/lock"));
    const after = (await client.result("health", {})).checks.filter(({ severity }) => severity === "error");
    assert.deepEqual(
      after.map(({ code }) => code),
      ["home_modes", "lock"],
    );
    for (const check of after) assert.notEqual(check.remedy, "");
    writeFileSync(join(home, "daemon/lock"), "", { mode: 0o600 });
  });

  it("refuses a second daemon, names the first, and gives the Home back when it stops", async () => {
    await assert.rejects(runDaemon({ home, host: "127.0.0.1", port: 0 }), (error: Error) => {
      assert.equal(error.name, "HomeLocked");
      assert.match(error.message, new RegExp(`process ${process.pid}, socket `));
      return true;
    });
    await client.result("daemon_stop", {});
    await daemon.ended;
    daemon = await runDaemon({ home, host: "127.0.0.1", port: 0 });
    assert.equal((await client.result("daemon_status", {})).home, home);
  });

  it("writes down an error that nobody caught, without its text, and ends in order", async () => {
    daemon.fail(new TypeError("secret-text"));
    await daemon.ended;
    const log = readFileSync(join(home, "daemon/log"), "utf8");
    assert.match(log, /"error":"TypeError".*"msg":"uncaught"/);
    assert.match(log, /"msg":"stopped"/);
    assert.ok(!log.includes("secret-text"));
    daemon = await runDaemon({ home, host: "127.0.0.1", port: 0 });
  });

  it("works without its Web listener when the port is taken, and says so", async () => {
    const port = Number(new URL(daemon.webOrigin!).port);
    const second = mkdtempSync(join(tmpdir(), "svc-daemon-"));
    const other = await runDaemon({ home: second, host: "127.0.0.1", port });
    const owner = new DaemonClient(second, null);
    assert.equal(other.webOrigin, null);
    const { checks } = await owner.result("health", {});
    assert.match(checks.find(({ code }) => code === "web_listener")!.text, /EADDRINUSE/);
    const link = await owner.call("login_link_create", {});
    assert.equal(link.ok ? "" : link.error.code, "conflict");
    owner.close();
    await other.stop();
    rmSync(second, { recursive: true });
  });

  it("keeps its Web listener's port when Direct was told to use the same one", async () => {
    const { group_id: groupId } = await client.result("group_create", { title: "One port" });
    const { host, port } = new URL(daemon.webOrigin!);
    const listener = { bind: host, address: host };
    await client.result("connect_direct_configure", { group_id: groupId, listener });
    await daemon.stop();
    daemon = await runDaemon({ home, host: "127.0.0.1", port: Number(port) });
    assert.equal(daemon.webOrigin, `http://${host}`);
    const { checks } = await client.result("health", {});
    assert.equal(checks.find(({ code }) => code === "direct")!.severity, "warning");
  });

  it("writes an owner-only log without credentials and texts", async () => {
    const { token } = await client.result("access_token_create", {});
    const group = await client.result("group_create", { title: "secret-title" });
    await client.result("send", { group_id: group.group_id, to: ["user"], text: "secret-text" });
    const { url } = await client.result("login_link_create", {});
    await ask(daemon.webOrigin!, "GET", `${API_PREFIX}/groups`, { token });
    await daemon.stop();
    const path = join(home, "daemon/log");
    assert.equal(statSync(path).mode & 0o777, 0o600);
    const log = readFileSync(path, "utf8");
    for (const secret of [token, url.split("=")[1]!, "secret-title", "secret-text"])
      assert.ok(!log.includes(secret));
    for (const line of log.trim().split("\n")) assert.equal(typeof JSON.parse(line), "object");
  });

  it("serves HTTPS with a certificate, a Secure cookie, and only with a key that is closed", async () => {
    verifies("WB-050", "WB-052");
    const own = mkdtempSync(join(tmpdir(), "svc-tls-"));
    const key = join(own, "key.pem");
    copyFileSync(join(TLS, "key.pem"), key);
    chmodSync(key, 0o644);
    const options = {
      home: join(own, "home"),
      host: "127.0.0.1",
      port: 0,
      tls: { cert: join(TLS, "cert.pem"), key },
    };
    await assert.rejects(runDaemon(options), /Others can read/);
    chmodSync(key, 0o600);
    const secure = await runDaemon(options);
    const owner = new DaemonClient(options.home, null);
    assert.match(secure.webOrigin!, /^https:\/\/127\.0\.0\.1:\d+$/);
    const { url } = await owner.result("login_link_create", {});
    const reply = await ask(secure.webOrigin!, "POST", `${API_PREFIX}/web-access/session`, {
      headers: { origin: secure.webOrigin! },
      body: { login_link_code: url.split("=")[1] },
    });
    assert.equal(reply.status, 200);
    const { port } = new URL(secure.webOrigin!);
    assert.match(
      reply.headers["set-cookie"]![0]!,
      new RegExp(
        `^__Host-svc_access_${port}=[A-Za-z0-9_-]{43}; Max-Age=2592000; Path=/; HttpOnly; Secure; SameSite=None; Partitioned$`,
      ),
    );
    await assert.rejects(ask(secure.webOrigin!.replace("https", "http"), "GET", "/health"));
    owner.close();
    await secure.stop();
    rmSync(own, { recursive: true });
  });
});
