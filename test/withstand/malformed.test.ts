/**
 * Every member of every operation with every kind of wrong value, at a real daemon: each is refused
 * in words, changes nothing and loses nothing.
 */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { basename, dirname, join, relative } from "node:path";
import { findEndpoint } from "../../client/connection.ts";
import { launchToken } from "../../client/identity.ts";
import { homePaths } from "../../client/paths.ts";
import { freePort } from "../../demo/free-port.ts";
import { ERRORS, type ErrorCode } from "../../shared/errors.ts";
import { INVISIBLE } from "../../shared/invisible.ts";
import { API_PREFIX, ENVIRONMENT, HEADERS, SOCKET_OPERATION_PREFIX } from "../../shared/names.ts";
import type { OperationContract } from "../../shared/operations/contract.ts";
import { HTTP_ROUTES } from "../../shared/operations/http-routes.ts";
import { OPERATIONS } from "../../shared/operations/registry.ts";
import { DaemonProcess } from "../support/daemon-process.ts";
import { MARK, type Malformed, malformed, odd, PROTOTYPE_NAMES } from "./malformed.ts";
import { McpProcess } from "./mcp-process.ts";
import { rightArguments } from "./right-arguments.ts";

interface Answer {
  status: number;
  text: string;
}

interface Refused {
  code: ErrorCode;
  message: string;
  details: { field?: unknown };
}

/** The code of refusals whose field has one of its own. */
const OWN_CODES: Readonly<Record<string, ErrorCode>> = {
  message_mode: "invalid_message_mode",
  insight: "invalid_insight",
  attachments: "invalid_attachments",
};
const AT_ONCE = 16;
/** Nobody's arguments should keep the others waiting for longer, on a slow machine either. */
const ANSWER_MS = 5000;

describe("malformed values of every member of every operation", function () {
  this.timeout(240_000);
  let daemon: DaemonProcess;
  let folder: string;
  let port: number;
  let right: (contract: OperationContract) => Record<string, unknown>;
  let secrets: string[];
  let tokenFile: string;
  let group: string;
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "svc-malformed-"));
    mkdirSync(join(folder, ".git"));
    writeFileSync(join(folder, "file.txt"), "a file");
    daemon = await DaemonProcess.started();
    port = await freePort();
    const client = daemon.client();
    const { group_id: groupId } = await client.result("group_create", { title: "target" });
    group = groupId;
    const { scope_key: scopeKey } = await client.result("attach", { path: folder, group_id: groupId });
    const { token_file } = await client.result("actor_add", {
      group_id: groupId,
      actor_id: "lead",
      env: { A: "b" },
    });
    tokenFile = token_file;
    const secret = `private-${MARK}`;
    await client.result("actor_secrets", { group_id: groupId, actor_id: "lead", set: { SECRET: secret } });
    const { event } = await client.result("send", {
      group_id: groupId,
      to: ["lead"],
      message_mode: "request_reply",
      text: "first",
      paths: [join(folder, "file.txt")],
    });
    const { token } = await client.result("access_token_create", { name: "page" });
    const listener = { bind: `127.0.0.1:${port}`, address: `127.0.0.1:${port}` };
    await client.result("connect_direct_configure", { listener, display_name: "here" });
    const { invitation } = await client.result("connect_direct_invite", { group_id: groupId });
    const { relations } = await client.result("connect_direct_status", { group_id: groupId });
    const { url } = await client.result("login_link_create", {});
    secrets = [
      secret,
      token,
      invitation,
      url.slice(url.indexOf("=") + 1),
      findEndpoint(daemon.home).key,
      launchToken({ [ENVIRONMENT.actorFile]: tokenFile })!,
    ];

    const { sha256 } = (event.data["attachments"] as { sha256: string }[])[0]!;
    right = rightArguments({
      group_id: groupId,
      event_id: event.id,
      scope_key: scopeKey,
      path: join(folder, "file.txt"),
      sha256,
      relation_id: relations[0]!.id,
      listener,
    });
  });
  after(async () => {
    agent.destroy();
    await daemon.dispose();
    rmSync(folder, { recursive: true, force: true });
  });

  /** One request over the local socket, by the person unless the operation is an Actor's alone. */
  function send(
    method: string,
    path: string,
    body: string | null,
    { asActor = false } = {},
  ): Promise<Answer> {
    const { key, socketPath } = findEndpoint(daemon.home);
    const token = asActor ? launchToken({ [ENVIRONMENT.actorFile]: tokenFile }) : null;
    const headers = {
      host: "localhost",
      [HEADERS.socketKey]: key,
      ...(token === null ? {} : { [HEADERS.launchToken]: token }),
      ...(body === null
        ? {}
        : { "content-type": "application/json", "content-length": String(Buffer.byteLength(body)) }),
    };
    return new Promise((resolve, reject) => {
      const sent = request({ socketPath, agent, method, path, headers }, (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.once("end", () =>
          resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString("utf8") }),
        );
        response.once("error", reject);
      });
      sent.once("error", reject);
      sent.end(body ?? undefined);
    });
  }

  /**
   * The refusal. It blames the caller, or the account service, which isn't there. It is in the
   * catalogue, says what is wrong and what to do, and tells no secret.
   */
  function told(what: string, { status, text }: Answer): Refused {
    const envelope = JSON.parse(text) as { ok: boolean; error: Refused };
    assert.equal(envelope.ok, false, `${what}: done`);
    const { code, message, details } = envelope.error;
    assert.ok(Object.hasOwn(ERRORS, code), `${what}: ${code}`);
    assert.equal(status, ERRORS[code].status, what);
    if (code !== "account_unavailable")
      assert.ok(status >= 400 && status < 500, `${what}: ${status} ${message}`);
    assert.match(message, /^\S.{5,}[.!?] \S.{5,}\.$/su, `${what}: no sentence with a remedy: ${message}`);
    assert.doesNotMatch(message, INVISIBLE, `${what}: hides something`);
    assert.ok(message.length <= 600, `${what}: ${message.length} characters`);
    assert.doesNotMatch(text, /undefined|\[object|NaN|\bzod\b|Invalid input/i, what);
    assert.equal(typeof details, "object", what);
    tellsNoSecret(what, text);
    return envelope.error;
  }

  /** The same of a value that no sentence may quote. */
  function refusal(what: string, answer: Answer): Refused {
    tellsNothing(what, answer.text);
    return told(what, answer);
  }

  function tellsNoSecret(what: string, text: string): void {
    for (const secret of secrets) assert.ok(!text.includes(secret), `${what}: tells a secret`);
  }

  function tellsNothing(what: string, text: string): void {
    tellsNoSecret(what, text);
    assert.ok(!text.includes(MARK), `${what}: quotes the value: ${text}`);
  }

  /**
   * Every file of the Home, with the time of its last change. The log, the lock and the status of
   * the daemon aren't part of it.
   */
  function picture(): string[] {
    const paths = homePaths(daemon.home);
    const passing = new Set([paths.daemon.log, paths.daemon.lock, paths.directStatus]);
    passing.add(join(dirname(paths.directStatus), `.${basename(paths.directStatus)}.tmp`));
    return readdirSync(daemon.home, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((path) => !passing.has(path))
      .map((path) => {
        const { ino, size, mtimeNs } = statSync(path, { bigint: true });
        return `${relative(daemon.home, path)} ${ino} ${size} ${mtimeNs}`;
      })
      .sort();
  }

  /** What people would see of the Home: the same before and after a `kill -9`. */
  async function seen(): Promise<unknown> {
    const client = daemon.client();
    const { events } = await client.result("ledger_tail", { group_id: group, limit: 200 });
    const { groups } = await client.result("group_list", {});
    const { actors } = await client.result("actor_list", { group_id: group });
    const { tokens } = await client.result("access_token_list", {});
    const { relations, listener } = await client.result("connect_direct_status", { group_id: group });
    const { remote_access: remoteAccess } = await client.result("remote_access_show", {});
    const { exhibit } = await client.result("exhibit_show", {});
    const draft = await client.result("draft_get", { group_id: group });
    const kept = actors.map((actor) => ({ ...actor, presence: null }));
    return {
      events,
      groups,
      actors: kept,
      tokens,
      relations,
      listener,
      remote_access: remoteAccess,
      exhibit,
      draft,
    };
  }

  /**
   * Runs `check` on all, some at once. Afterwards nothing has changed, and the daemon is the same.
   */
  async function changesNothing<Case>(
    cases: readonly Case[],
    check: (one: Case) => Promise<void>,
  ): Promise<void> {
    const before = picture();
    const { pid } = daemon;
    const rest = cases.values();
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        for (const one of rest) await check(one);
      }),
    );
    assert.deepEqual(picture(), before);
    assert.equal((await daemon.client().result("daemon_status", {})).pid, pid);
  }

  function isNamed(what: string, { path }: Malformed, { code, details }: Refused): void {
    const field = String(details.field);
    const [member] = path;
    assert.equal(code, OWN_CODES[String(member)] ?? "invalid_args", what);
    if (member === undefined) assert.notEqual(field, "undefined", what);
    else
      assert.ok(
        field === member || field.startsWith(`${member}.`) || field.startsWith(`${member}[`),
        `${what}: names ${field}`,
      );
  }

  for (const [name, contract] of OPERATIONS) {
    it(`${name} refuses them, at the socket's own address and by HTTP`, async () => {
      const cases = malformed(contract.input, right(contract));
      const asActor = !contract.callers.includes("user");
      await changesNothing(cases, async (one) => {
        const what = `${name}: ${one.what.slice(0, 200)}`;
        const begun = performance.now();
        const found = refusal(
          what,
          await send("POST", SOCKET_OPERATION_PREFIX + name, one.body, { asActor }),
        );
        assert.ok(performance.now() - begun < ANSWER_MS, `${what}: took ${performance.now() - begun} ms`);
        if (one.isBadJson) assert.equal(found.code, "invalid_request", what);
        else isNamed(what, one, found);
      });
      const route = HTTP_ROUTES.get(name);
      if (route === undefined) return;
      const { method, path: pattern, action, ignores = [] } = route;
      const base = right(contract);
      const inPath = new Set([...pattern.matchAll(/\{(\w+)\}/g)].map((match) => match[1]!));
      const address = (values: Record<string, unknown>): string =>
        API_PREFIX +
        pattern.replace(/\{(\w+)\}/g, (_, field: string) => encodeURIComponent(String(values[field])));
      const places = cases.filter(
        ({ path: [member], isBadJson }) => !isBadJson && inPath.has(String(member)),
      );
      await changesNothing(places, async (one) => {
        const value = (JSON.parse(one.body) as Record<string, unknown>)[String(one.path[0])];
        if (typeof value !== "string" || value === "" || value.length > 1000) return;
        const answer = await send(method, address({ ...base, [String(one.path[0])]: value }), null, {
          asActor,
        });
        refusal(`${method} ${pattern}: ${one.what}`, answer);
      });
      if (method === "GET" || method === "DELETE") {
        const { shape } = contract.input._zod.def as unknown as { shape: Record<string, unknown> };
        const fields = Object.keys(shape).filter((field) => !inPath.has(field) && !ignores.includes(field));
        const wrong = [...fields, "unknown", ...PROTOTYPE_NAMES].flatMap((field) => {
          const queries = [
            `${field}=a&${field}=b`,
            `${field}=${MARK.repeat(40)}%00`,
            `${field}=%ff%fe&${field}`,
          ];
          return Array.isArray(base[field])
            ? queries.map((query) => `${query}${`&${field}=a`.repeat(32)}`)
            : queries;
        });
        await changesNothing(wrong, async (query) => {
          const what = `${method} ${pattern}?${query.slice(0, 100)}`;
          refusal(what, await send(method, `${address(base)}?${query}`, null, { asActor }));
        });
        return;
      }
      const inBody = cases.filter(
        ({ path: [member] }) => member !== undefined && !inPath.has(String(member)),
      );
      await changesNothing(inBody, async (one) => {
        const what = `${method} ${pattern}: ${one.what.slice(0, 200)}`;
        const rest = [...inPath].reduce((body, field) => withoutMember(body, field, base[field]), one.body);
        const body = action === undefined ? rest : `{"action":"${action}",${rest.slice(1)}`;
        const found = refusal(what, await send(method, address(base), body, { asActor }));
        if (one.isBadJson) assert.equal(found.code, "invalid_request", what);
        else isNamed(what, one, found);
      });
    });
  }

  it("what fits and is odd is done, or refused without a trace", async () => {
    let refused = 0;
    for (const [name, contract] of OPERATIONS) {
      if (name === "daemon_stop") continue;
      const asActor = !contract.callers.includes("user");
      let before = picture();
      // Short times bring notices at any moment.
      const cases = odd(contract.input, right(contract)).filter(
        ({ what }) => !what.includes("_notice_after"),
      );
      for (const one of cases) {
        const what = `${name}: ${one.what.slice(0, 200)}`;
        const answer = await send("POST", SOCKET_OPERATION_PREFIX + name, one.body, { asActor });
        if (answer.status === 200) {
          if (contract.effect !== "read") before = picture();
        } else {
          refused += 1;
          told(what, answer);
          assert.deepEqual(picture(), before, what);
        }
      }
    }
    assert.ok(refused > 500, String(refused));
  });

  it("connect/direct refuses every action but its own", async () => {
    await changesNothing([null, 1, "", ...PROTOTYPE_NAMES, ["invite"], { invite: 1 }], async (action) => {
      const body = JSON.stringify({ action, group_id: group });
      const { details } = refusal("action", await send("POST", `${API_PREFIX}/connect/direct`, body));
      assert.equal(details.field, "action");
    });
  });

  it("the tools of an Actor refuse them over MCP", async () => {
    const mcp = new McpProcess(daemon.home, { [ENVIRONMENT.actorFile]: tokenFile });
    try {
      await mcp.initialize();
      assert.equal((await mcp.tool("svc_bootstrap", {})).ok, true);
      const { result } = await mcp.request("tools/list", {});
      const tools = result!["tools"] as {
        name: string;
        inputSchema: { properties?: Record<string, { type?: string; enum?: string[] }> };
      }[];
      const calls = tools.flatMap(({ name, inputSchema: { properties = {} } }) => [
        { name, args: { nothing: MARK } },
        { name, args: { by: "user" } },
        { name, args: { constructor: MARK } },
        ...Object.entries(properties).flatMap(([argument, { type, enum: words }]) =>
          [
            null,
            { a: MARK },
            [[MARK]],
            ...(type === "string" ? [7, true] : [MARK]),
            ...(words ? [MARK, "toString"] : []),
          ].map((value) => ({ name, args: { [argument]: value } })),
        ),
      ]);
      assert.ok(calls.length > 100);
      await changesNothing(calls, async ({ name, args }) => {
        const answered = await mcp.request("tools/call", { name, arguments: args });
        const what = `${name} ${JSON.stringify(args)}`;
        const text = JSON.stringify(answered);
        tellsNothing(what, text);
        assert.equal(answered.result?.["isError"], true, `${what}: ${text}`);
        const { error } = answered.result["structuredContent"] as { error: Refused };
        assert.ok(Object.hasOwn(ERRORS, error.code) && ERRORS[error.code].status < 500, `${what}: ${text}`);
      });
    } finally {
      await mcp.kill();
    }
  });

  it("after them everything is as it was, also for the next daemon", async () => {
    const before = await seen();
    await daemon.kill();
    await daemon.start();
    assert.deepEqual(await seen(), before);
    const { problems } = await daemon.client().result("ledger_verify", { group_id: group });
    assert.deepEqual(problems, []);
    const log = readFileSync(homePaths(daemon.home).daemon.log, "utf8");
    assert.deepEqual(
      log.split("\n").filter((line) => /"unexpected"|Unhandled|uncaught/.test(line)),
      [],
    );
  });
});

/** The JSON object without this member, whose value is known. */
function withoutMember(body: string, name: string, value: unknown): string {
  const member = `${JSON.stringify(name)}:${JSON.stringify(value)}`;
  return body.replace(`${member},`, "").replace(`,${member}`, "").replace(member, "");
}
