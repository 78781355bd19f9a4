import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { browserName } from "../../daemon/http/web/browser-name.ts";
import { ERRORS } from "../../shared/errors.ts";
import { LIMITS } from "../../shared/limits.ts";
import { API_PREFIX } from "../../shared/names.ts";
import type { CallContext } from "../../shared/operations/caller.ts";
import { OPERATIONS } from "../../shared/operations/registry.ts";
import { verifies } from "../requirements.ts";
import { cookieOf, GROUP, OTHER, openSetting, type Setting } from "./setting.ts";

const ADMIN = "admin-token";
const MEMBER = "member-token";
const SESSION = `${API_PREFIX}/web-access/session`;

const who = {
  whoami: (_input: never, { caller }: CallContext) => ({
    kind: caller.kind,
    by: caller.by,
    groups: null,
    actor: null,
  }),
  group_create: (input: { title: string }) => ({ title: input.title }),
  ledger_tail: (input: Record<string, unknown>) => input,
} as never;

describe("access over the Web listener", () => {
  let setting: Setting;
  beforeEach(async () => {
    setting = await openSetting({ handlers: who });
    setting.tokens.add(ADMIN, "administrator");
    setting.tokens.add(MEMBER, "restricted", [GROUP]);
    setting.tokens.add("exhibit-token", "exhibit", [GROUP]);
  });
  afterEach(() => setting.close());

  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

  it("lets an administrator and a restricted token in, as what they are", async () => {
    verifies("WEB-001", "WEB-004", "WEB-022");
    const admin = await setting.send("GET", `${API_PREFIX}/web-access`, { headers: bearer(ADMIN) });
    assert.deepEqual([admin.status, (admin.result as { kind: string }).kind], [200, "user"]);
    assert.match(admin.headers["content-type"]!, /^application\/json/);
    assert.equal(admin.headers["cache-control"], "no-store");
    assert.ok(admin.headers["svc-request-id"]);
    const member = await setting.send("GET", `${API_PREFIX}/web-access`, { headers: bearer(MEMBER) });
    assert.equal((member.result as { kind: string }).kind, "member");
  });

  it("refuses no credential, unknown ones, other kinds of them, and launch tokens", async () => {
    verifies("WEB-003", "WEB-023");
    const headers: Record<string, string>[] = [
      {},
      bearer("unknown"),
      bearer("exhibit-token"),
      { authorization: "Basic dXNlcjp4" },
      { authorization: "Bearer" },
      { authorization: `Bearer ${ADMIN} ${ADMIN}` },
      { "svc-socket-key": "k" },
      { "svc-launch-token": "l".repeat(43) },
      { cookie: `svc_access_${setting.port}=${"x".repeat(43)}` },
    ];
    for (const given of headers) {
      const answer = await setting.send("GET", `${API_PREFIX}/groups`, { headers: given });
      assert.deepEqual([answer.status, answer.code], [401, "unauthenticated"], JSON.stringify(given));
      assert.equal(answer.headers["www-authenticate"], "Bearer");
    }
  });

  it("refuses a Host that isn't its own, so that DNS rebinding reaches nothing", async () => {
    for (const host of [
      "evil.example",
      `evil.example:${setting.port}`,
      "127.0.0.1",
      "localhost:1",
      `127.0.0.1.evil.example:${setting.port}`,
      `localhost.:${setting.port}`,
    ]) {
      for (const path of ["/health", "/", `${API_PREFIX}/groups`, "/mcp"]) {
        const answer = await setting.send("GET", path, { headers: { ...bearer(ADMIN), host } });
        assert.deepEqual([answer.status, answer.code], [421, "wrong_host"], `${host} ${path}`);
      }
    }
    for (const host of [`localhost:${setting.port}`, `LOCALHOST:${setting.port}`, `[::1]:${setting.port}`]) {
      assert.equal((await setting.send("GET", "/health", { headers: { host } })).status, 200);
    }
    const absolute = await setting.send("GET", "http://evil.example/health");
    assert.equal(absolute.status, 421);
  });

  it("answers to the manual origin of Remote Access while it is enabled", async () => {
    const headers = { ...bearer(ADMIN), host: "svc.example.org" };
    assert.equal((await setting.send("GET", "/health", { headers })).status, 421);
    setting.remote.origin = "https://svc.example.org";
    assert.equal((await setting.send("GET", "/health", { headers })).status, 200);
    const own = { ...headers, origin: "https://svc.example.org" };
    const created = await setting.send("POST", `${API_PREFIX}/groups`, {
      headers: own,
      body: { title: "t" },
    });
    assert.equal(created.status, 200);
    const downgraded = { ...headers, origin: "http://svc.example.org" };
    assert.equal(
      (await setting.send("POST", `${API_PREFIX}/groups`, { headers: downgraded, body: { title: "t" } }))
        .code,
      "origin_denied",
    );
  });

  it("refuses foreign origins on everything, and cross-site fetches", async () => {
    const path = `${API_PREFIX}/groups`;
    const denied: [string, Record<string, string>][] = [
      ["POST", { origin: "http://evil.example" }],
      ["GET", { origin: "http://evil.example" }],
      ["POST", { origin: "null" }],
      ["POST", { origin: "" }],
      ["OPTIONS", { origin: "http://evil.example", "access-control-request-method": "POST" }],
      ["GET", { origin: `http://localhost:${setting.port}` }],
      ["GET", { origin: `https://127.0.0.1:${setting.port}` }],
      ["GET", { "sec-fetch-site": "cross-site" }],
      ["GET", { "sec-fetch-site": "same-site" }],
      ["GET", { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" }],
    ];
    for (const [method, headers] of denied) {
      const answer = await setting.send(method, path, { headers: { ...bearer(ADMIN), ...headers } });
      assert.deepEqual([answer.status, answer.code], [403, "origin_denied"], JSON.stringify(headers));
      assert.equal(answer.headers["access-control-allow-origin"], undefined);
    }
    const link = {
      "sec-fetch-site": "cross-site",
      "sec-fetch-mode": "navigate",
      "sec-fetch-dest": "document",
    };
    assert.equal((await setting.send("GET", "/", { headers: link })).status, 404);
    const framed = { ...link, "sec-fetch-dest": "iframe" };
    assert.equal((await setting.send("GET", "/", { headers: framed })).status, 403);
  });

  it("names the cookie after the port of the origin that the browser uses, not the listener's", async () => {
    verifies("WB-051");
    for (const [manualOrigin, port] of [
      ["https://office.example", 443],
      ["https://office.example:8443", 8443],
    ] as const) {
      const behind = await openSetting({ handlers: who, manualOrigin });
      const { host } = new URL(manualOrigin);
      const headers = { host, origin: manualOrigin };
      const body = { login_link_code: behind.links.create() };
      const answer = await behind.send("POST", SESSION, { headers, body });
      assert.equal(answer.status, 200);
      const cookie = cookieOf(answer);
      assert.ok(cookie.startsWith(`__Host-svc_access_${port}=`), cookie);
      const own = { headers: { host, cookie } };
      assert.equal((await behind.send("GET", `${API_PREFIX}/web-access`, own)).status, 200);
      const other = { headers: { host, cookie: cookie.replace(`_${port}=`, `_${behind.port}=`) } };
      assert.equal((await behind.send("GET", `${API_PREFIX}/web-access`, other)).status, 401);
      await behind.close();
    }
  });

  it("makes a session of a login link, once, within five minutes", async () => {
    verifies("WB-053", "WB-054");
    const code = setting.links.create();
    const foreign = { origin: "http://evil.example" };
    assert.equal(
      (await setting.send("POST", SESSION, { headers: foreign, body: { login_link_code: code } })).status,
      403,
    );
    const first = await setting.send("POST", SESSION, { body: { login_link_code: code } });
    assert.equal(first.status, 200);
    const { csrf_token: csrfToken } = first.result as { csrf_token: string };
    assert.equal(
      first.headers["set-cookie"]?.[0],
      `svc_access_${setting.port}=${cookieOf(first).split("=")[1]}; Max-Age=2592000; Path=/; HttpOnly; SameSite=Lax`,
    );
    const again = await setting.send("POST", SESSION, { body: { login_link_code: code } });
    assert.deepEqual([again.status, again.code], [401, "login_link_invalid"]);
    const late = setting.links.create();
    setting.clock.advance(LIMITS.loginLink.minutes * 60_000);
    assert.equal((await setting.send("POST", SESSION, { body: { login_link_code: late } })).status, 401);

    const cookie = cookieOf(first);
    const read = await setting.send("GET", `${API_PREFIX}/web-access`, { headers: { cookie } });
    assert.equal((read.result as { kind: string }).kind, "user");
    const shown = await setting.send("GET", SESSION, { headers: { cookie } });
    const { token_id: tokenId } = shown.result as { token_id: string };
    assert.deepEqual(shown.result, { csrf_token: csrfToken, kind: "user", token_id: tokenId });
    // A page finds itself in the list of tokens.
    assert.notEqual(setting.tokens.find(tokenId), null);
  });

  it("calls a session's token by its browser, as people know it", () => {
    const names = [
      "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0.0.0 Safari/537.36 Edg/150.0.0.0",
      "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 Safari/605.1.15",
      "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/150.0 Mobile/15E148 Safari/604.1",
      "Mozilla/5.0 (Android 16; Mobile; rv:150.0) Gecko/150.0 Firefox/150.0",
      "curl/8.9",
      undefined,
    ].map(browserName);
    assert.deepEqual(names, [
      "Edge on Windows",
      "Safari on macOS",
      "Chrome on iPhone",
      "Firefox on Android",
      "Browser",
      "Browser",
    ]);
  });

  it("lets the owner in where tokens have reached their limit: the oldest session of a link makes room", async () => {
    const signIn = (body: object) => setting.send("POST", SESSION, { body });
    const byToken = cookieOf(await signIn({ token: ADMIN }));
    setting.tokens.most = setting.tokens.records.size + 2;
    const owners: string[] = [];
    for (let count = 0; count < 4; count += 1) {
      const answer = await signIn({ login_link_code: setting.links.create() });
      assert.equal(answer.status, 200, answer.text);
      owners.push(cookieOf(answer));
    }
    const read = async (cookie: string) =>
      (await setting.send("GET", `${API_PREFIX}/web-access`, { headers: { cookie } })).status;
    assert.deepEqual(await Promise.all([byToken, ...owners].map(read)), [200, 401, 401, 200, 200]);
    setting.tokens.most = 0;
    assert.equal((await signIn({ login_link_code: setting.links.create() })).code, "limit_reached");
    assert.equal(await read(byToken), 200);
  });

  it("lets in all who redeem their links at the same moment, for as long as a session lasts", async () => {
    const codes = Array.from({ length: LIMITS.loginLink.live }, () => setting.links.create());
    const answers = await Promise.all(
      codes.map((code) => setting.send("POST", SESSION, { body: { login_link_code: code } })),
    );
    assert.deepEqual(
      answers.map(({ status }) => status),
      codes.map(() => 200),
    );
    const kept = await setting.reopenSessions();
    for (const answer of answers) assert.ok(kept.find(cookieOf(answer).split("=")[1]!), "it is on disk");
  });

  it("keeps only the newest links, and no code in the log", async () => {
    const codes = Array.from({ length: LIMITS.loginLink.live + 1 }, () => setting.links.create());
    const statuses: number[] = [];
    for (const code of codes)
      statuses.push((await setting.send("POST", SESSION, { body: { login_link_code: code } })).status);
    assert.deepEqual(statuses, [401, ...codes.slice(1).map(() => 200)]);
    for (const code of codes) assert.ok(!JSON.stringify(setting.log.lines).includes(code));
  });

  it("asks a cookie session for its CSRF token and its origin with every change", async () => {
    const signedIn = await setting.send("POST", SESSION, { body: { token: ADMIN } });
    const cookie = cookieOf(signedIn);
    const { csrf_token: csrfToken } = signedIn.result as { csrf_token: string };
    const { origin } = setting;
    const post = (headers: Record<string, string>) =>
      setting.send("POST", `${API_PREFIX}/groups`, { headers, body: { title: "t" } });
    assert.equal((await post({ cookie, origin })).code, "csrf_denied");
    assert.equal((await post({ cookie, origin, "svc-csrf-token": "x" })).code, "csrf_denied");
    assert.equal((await post({ cookie, "svc-csrf-token": csrfToken })).code, "origin_denied");
    assert.equal((await post({ cookie, origin, "svc-csrf-token": csrfToken })).status, 200);
    const other = await setting.send("POST", SESSION, { body: { token: ADMIN } });
    const foreign = (other.result as { csrf_token: string }).csrf_token;
    assert.equal((await post({ cookie, origin, "svc-csrf-token": foreign })).code, "csrf_denied");
    const twice = `${cookie}; ${cookie.split("=")[0]}=other`;
    assert.equal((await post({ cookie: twice, origin, "svc-csrf-token": csrfToken })).status, 401);
  });

  it("ends a session with its token, its logout, and its thirty days", async () => {
    const signIn = async (token: string) =>
      cookieOf(await setting.send("POST", SESSION, { body: { token } }));
    const read = async (cookie: string) =>
      (await setting.send("GET", `${API_PREFIX}/web-access`, { headers: { cookie } })).status;
    const member = await signIn(MEMBER);
    assert.equal(await read(member), 200);
    await setting.tokens.revoke(setting.tokens.verify(MEMBER)!.id);
    assert.equal(await read(member), 401);

    const answer = await setting.send("POST", SESSION, { body: { login_link_code: setting.links.create() } });
    const owner = cookieOf(answer);
    const made = [...setting.tokens.records.values()].filter(({ name }) => name.includes("Browser"));
    assert.equal(made.length, 1, "the session is among the tokens, to be seen and revoked");
    const link = { login_link_code: setting.links.create() };
    const others = [
      cookieOf(await setting.send("POST", SESSION, { body: link })),
      await signIn(ADMIN),
      await signIn(ADMIN),
    ];
    const { csrf_token: csrfToken } = answer.result as { csrf_token: string };
    const out = await setting.send("POST", `${API_PREFIX}/web-access/logout`, {
      headers: { cookie: owner, origin: setting.origin, "svc-csrf-token": csrfToken },
      body: {},
    });
    assert.equal(out.status, 200);
    assert.match(out.headers["set-cookie"]![0]!, /Max-Age=0/);
    assert.equal(await read(owner), 401);
    assert.equal(setting.tokens.find(made[0]!.id), null);
    assert.deepEqual(await Promise.all(others.map(read)), [200, 200, 200], "no other browser is signed out");

    const admin = await signIn(ADMIN);
    setting.clock.advance(LIMITS.http.sessionDays * 24 * 3600 * 1000 - 1000);
    assert.equal(await read(admin), 200);
    setting.clock.advance(1000);
    assert.equal(await read(admin), 401);
  });

  it("keeps sessions over a restart, as digests, under the cookie's present name alone", async () => {
    verifies("VER-019", "WB-056");
    const cookie = cookieOf(await setting.send("POST", SESSION, { body: { token: ADMIN } }));
    const secret = cookie.split("=")[1]!;
    const shown = async (name: string) => {
      const headers = { cookie: `${name}=${secret}` };
      return (await setting.send("GET", `${API_PREFIX}/web-access`, { headers })).status;
    };
    // As it was called before ports were told apart: who comes with it signs in once more.
    assert.equal(await shown("svc_access"), 401);
    assert.equal(await shown(cookie.split("=")[0]!), 200);
    const reopened = await setting.reopenSessions();
    assert.equal(reopened.find(secret)?.kind, "administrator");
    assert.equal(reopened.find("y".repeat(43)), null);
    const { path } = setting as unknown as { path?: string };
    if (path !== undefined) assert.ok(!readFileSync(path, "utf8").includes(secret));
  });

  it("slows down guessing per address, and never a credential that is right", async () => {
    const wrong = () => setting.send("GET", `${API_PREFIX}/groups`, { headers: bearer("wrong") });
    for (let tried = 0; tried < LIMITS.http.authFailuresPerMinute; tried++)
      assert.equal((await wrong()).status, 401);
    const limited = await wrong();
    assert.deepEqual([limited.status, limited.code], [429, "rate_limited"]);
    assert.ok(Number(limited.headers["retry-after"]) >= 1);
    const link = await setting.send("POST", SESSION, { body: { login_link_code: "wrong" } });
    assert.equal(link.status, 429);
    const right = await setting.send("GET", `${API_PREFIX}/web-access`, { headers: bearer(ADMIN) });
    assert.equal(right.status, 200);
    setting.clock.advance(61_000);
    assert.equal((await wrong()).status, 401);
  });

  it("shows when a browser's session used its token", async () => {
    const signedIn = await setting.send("POST", SESSION, { body: { token: ADMIN } });
    const record = setting.tokens.records.get(ADMIN)!;
    assert.equal(record.last_used_at, null);
    await setting.send("GET", `${API_PREFIX}/web-access`, { headers: { cookie: cookieOf(signedIn) } });
    assert.notEqual(record.last_used_at, null);
  });

  it("takes strict JSON of the right type and size only", async () => {
    const path = `${API_PREFIX}/groups`;
    const headers = { ...bearer(ADMIN), "content-type": "application/json" };
    const refused: [string | Buffer, Record<string, string>, number, string][] = [
      ["{", headers, 400, "invalid_request"],
      ['{"title":"a","title":"b"}', headers, 400, "invalid_request"],
      ['{"title":"\\ud800"}', headers, 400, "invalid_request"],
      [Buffer.from('{"title":"\xff"}', "latin1"), headers, 400, "invalid_request"],
      ["[]", headers, 400, "invalid_request"],
      ['{"title":"a","unknown":1}', headers, 400, "invalid_args"],
      ['{"title":1}', headers, 400, "invalid_args"],
      [
        "title=a",
        { ...headers, "content-type": "application/x-www-form-urlencoded" },
        415,
        "unsupported_media_type",
      ],
      ['{"title":"a"}', { ...headers, "content-type": "text/plain" }, 415, "unsupported_media_type"],
      ['{"title":"a"}', { ...headers, "content-encoding": "gzip" }, 415, "unsupported_media_type"],
      [`{"title":"${"a".repeat(LIMITS.body.jsonBytes)}"}`, headers, 413, "too_large"],
    ];
    for (const [raw, given, status, code] of refused) {
      const answer = await setting.send("POST", path, { headers: given, raw });
      assert.deepEqual([answer.status, answer.code], [status, code], String(raw).slice(0, 40));
    }
    const named = await setting.send("POST", path, { headers: bearer(ADMIN), body: { title: 1 } });
    assert.match(named.text, /"field":"title"/);
    const twice = await setting.send("GET", `${path}?a=1&a=2`, { headers: bearer(ADMIN) });
    assert.deepEqual([twice.status, twice.code], [400, "invalid_args"]);
    assert.match(twice.text, /'a' may be given only once\./);
  });

  it("takes no flood of header fields", async () => {
    const headers = Object.fromEntries(
      Array.from({ length: LIMITS.body.headerFields + 1 }, (_, index) => [`x-${index}`, "y"]),
    );
    assert.equal((await setting.send("GET", "/health", { headers })).status, 431);
    const long = { "x-long": "y".repeat(LIMITS.body.headerBytes) };
    assert.equal((await setting.send("GET", "/health", { headers: long })).status, 431);
  });

  it("turns a query into arguments, and refuses what it doesn't know", async () => {
    const path = `${API_PREFIX}/groups/${GROUP}/ledger/tail`;
    const ask = (query: string) => setting.send("GET", `${path}${query}`, { headers: bearer(ADMIN) });
    const all = await ask("?limit=5&kinds=a,b&kinds=c&with_obligation_status=true");
    assert.deepEqual(all.result, {
      limit: 5,
      kinds: ["a", "b", "c"],
      with_obligation_status: true,
      group_id: GROUP,
    });
    for (const query of [
      "?limit=x",
      "?limit=5&limit=6",
      "?nothing=1",
      "?group_id=x",
      "?__proto__=1",
      "?limit=0",
    ]) {
      assert.equal((await ask(query)).status, 400, query);
    }
  });

  it("knows which methods an address takes", async () => {
    const answer = await setting.send("PUT", `${API_PREFIX}/groups`, { headers: bearer(ADMIN), body: {} });
    assert.deepEqual([answer.status, answer.code], [405, "method_not_allowed"]);
    assert.equal(answer.headers["allow"], "GET, HEAD, POST");
    const none = await setting.send("GET", `${API_PREFIX}/nothing`, { headers: bearer(ADMIN) });
    assert.deepEqual([none.status, none.code], [404, "not_found"]);
    // A person in a browser reads a page, below the API an envelope as anyone else.
    const browser = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };
    const page = await setting.send("GET", "/nothing/here", { headers: browser });
    assert.deepEqual(
      [page.status, page.code, page.headers["content-type"]],
      [404, undefined, "text/html; charset=utf-8"],
    );
    const below = await setting.send("GET", `${API_PREFIX}/nothing`, {
      headers: { ...bearer(ADMIN), ...browser },
    });
    assert.equal(below.code, "not_found");
    for (const path of ["/%", "/%ff", "/%00", "//etc/passwd", "/..%2f..%2fetc/passwd"]) {
      assert.ok([400, 404].includes((await setting.send("GET", path)).status), path);
    }
    assert.equal(setting.log.lines.filter(({ level }) => level === "error").length, 0);
  });

  it("has no address of what was retired: pairing, grants, session WebSockets, updates, a way from device to Web credentials", async () => {
    verifies("RET-003", "RET-004", "RET-005", "RET-009", "EVT-001");
    for (const path of [
      "/group-bridge",
      "/group_bridge/pair",
      "/group-bridge/session",
      "/grants",
      "/webhooks",
      "/update",
      "/connect/exchange",
    ]) {
      for (const method of ["GET", "POST"]) {
        const answer = await setting.send(method, API_PREFIX + path, { headers: bearer(ADMIN) });
        assert.equal(answer.status, 404, `${method} ${path}`);
      }
    }
    const names = [...OPERATIONS.keys()].join(" ");
    assert.doesNotMatch(names, /bridge|remote_(?!access)|webhook|update_web|network|pair|voice/);
  });

  it("sends no script from anywhere but itself", async () => {
    const { headers } = await setting.send("GET", "/health");
    const policy = String(headers["content-security-policy"]);
    for (const part of [
      "default-src 'none'",
      "script-src 'self';",
      "frame-ancestors 'none'",
      "base-uri 'none'",
      "object-src 'none'",
    ]) {
      assert.ok(policy.includes(part), part);
    }
    assert.doesNotMatch(policy, /unsafe/);
    assert.equal(headers["x-content-type-options"], "nosniff");
    assert.equal(headers["x-powered-by"], undefined);
  });

  it("answers every refusal in the one envelope, with a status of the catalogue", async () => {
    verifies("ERR-018", "ERR-019");
    const answer = await setting.send("GET", `${API_PREFIX}/groups/${OTHER}`, { headers: bearer(MEMBER) });
    const body = JSON.parse(answer.text) as {
      ok: boolean;
      error: { code: "group_not_found"; message: string; details: object };
    };
    assert.deepEqual(Object.keys(body), ["ok", "error"]);
    assert.deepEqual(Object.keys(body.error), ["code", "message", "details"]);
    assert.equal(answer.status, ERRORS[body.error.code].status);
    assert.equal(body.error.code, "group_not_found");
  });
});
