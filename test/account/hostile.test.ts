/** What a service on the Internet gets: wrong credentials, foreign forms, codes of SQL, guesses. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { sql } from "kysely";
import { ISSUER_ANSWER_PATH } from "../../account/members/issuer.ts";
import { Operator } from "../../account/operator.ts";
import { RealRandom } from "../../platform/real-random.ts";
import { LIMITS } from "../../shared/limits.ts";
import { trusting } from "./issuers.ts";
import { ask, csrfOf, KINDS, TestDevice, TestInstance, TestService } from "./service.ts";

type Who = "anybody" | "device" | "member";

/** Every route, and who may use it. */
const API: readonly (readonly [method: string, path: string, who: Who])[] = [
  ["POST", "/v1/device/code", "anybody"],
  ["POST", "/v1/device/token", "anybody"],
  ["GET", "/v1/device", "device"],
  ["POST", "/v1/device/name", "device"],
  ["POST", "/v1/device/disable", "device"],
  ["GET", "/v1/connect/instances", "device"],
  ["POST", "/v1/connect/instances", "device"],
  ["GET", "/v1/connect/groups", "device"],
  ["POST", "/v1/connect/groups", "device"],
];
const PAGES: readonly (readonly [path: string, who: Who])[] = [
  ["/login", "anybody"],
  ["/join", "anybody"],
  ["/login/issuer", "anybody"],
  [ISSUER_ANSWER_PATH, "anybody"],
  ["/", "member"],
  ["/device", "member"],
  ["/devices/retire", "member"],
  ["/security", "member"],
  ["/connect", "member"],
  ["/connect/select", "member"],
  ["/connect/:id/disconnect", "member"],
];
const FORMS: readonly (readonly [path: string, who: Who])[] = [
  ["/join", "anybody"],
  ["/login/passkey", "anybody"],
  ["/login/recovery", "anybody"],
  ["/login/development", "anybody"],
  ["/logout", "anybody"],
  ["/device", "member"],
  ["/device/decide", "member"],
  ["/devices/retire", "member"],
  ["/devices/rename", "member"],
  ["/devices/remove", "member"],
  ["/security/passkeys", "member"],
  ["/security/passkeys/remove", "member"],
  ["/security/recovery", "member"],
  ["/security/invitations", "member"],
  ["/security/issuer", "member"],
  ["/security/issuer/remove", "member"],
  ["/connect/select", "member"],
  ["/connect/invitations/:id/cancel", "member"],
  ["/connect/invitations/:id/reject", "member"],
  ["/connect/:id/disconnect", "member"],
  ["/connect/:id/revoke", "member"],
];
const TABLES = [
  "members",
  "devices",
  "connect_instances",
  "sessions",
  "passkeys",
  "invitations",
  "group_invitations",
  "group_connections",
] as const;

for (const kind of KINDS) {
  describe(`hostile requests, ${kind}`, () => {
    let service: TestService;
    before(async () => {
      // Nothing listens there.
      service = await TestService.started({ kind, issuer: trusting("http://localhost:1", false) });
    });
    after(async () => service.dispose());

    async function dump(): Promise<string> {
      const rows = await Promise.all(
        TABLES.map(async (table) => (await sql.raw(`select * from ${table}`).execute(service.store.db)).rows),
      );
      return JSON.stringify(rows.map((table) => table.map((row) => JSON.stringify(row)).sort()));
    }

    it("reach no route with another credential than its own, and change nothing", async () => {
      const ada = await service.member("Ada");
      const device = await service.device(ada);
      await device.register(new TestInstance());
      const session = [...ada.cookies.values()][0]!;
      const cookie = [...ada.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
      const credentials: Record<string, Record<string, string>> = {
        none: {},
        "unknown token": { authorization: `Bearer ${"x".repeat(43)}` },
        "session as token": { authorization: `Bearer ${session}` },
        "token as basic": { authorization: `Basic ${device.token}` },
        session: { cookie },
        "token as cookie": { cookie: cookie.replace(session, device.token) },
      };
      const before = await dump();
      for (const [name, headers] of Object.entries(credentials)) {
        for (const [method, path, who] of API.filter((route) => route[2] === "device")) {
          const versions = { "svc-membership-version": "1", "svc-client-version": "0.5.0" };
          const json = { "content-type": "application/json", ...versions, ...headers };
          const body = method === "POST" ? "{}" : undefined;
          const asked = { method, headers: json, ...(body !== undefined && { body }) };
          assert.equal(
            (await ask(service.origin, path, asked)).status,
            401,
            `${name} ${method} ${path} ${who}`,
          );
        }
        if (name === "session") continue;
        for (const [path] of PAGES.filter(([, who]) => who === "member")) {
          const { status, headers: given } = await ask(service.origin, path, { headers });
          assert.equal(status, 303, `${name} GET ${path}`);
          assert.match(given.location!, /^\/login/u);
        }
      }
      const bearer = { authorization: `Bearer ${device.token}` };
      for (const [path] of PAGES.filter(([, who]) => who === "member"))
        assert.equal((await ask(service.origin, path, { headers: bearer })).status, 303, path);
      for (const [path] of FORMS)
        assert.equal((await ada.post(path, {}, { cookie: "", ...bearer })).status, 403, path);
      assert.equal(await dump(), before);
    });

    it("bring no form from another page, whatever they know", async () => {
      const ada = await service.member("Ada");
      const csrf = csrfOf((await ada.get("/")).body as string);
      const foreign = csrfOf((await service.browser().get("/login")).body as string);
      const before = await dump();
      for (const [path] of FORMS) {
        const wrong: [Record<string, string>, Record<string, string>][] = [
          [{ csrf }, { origin: "https://evil.example" }],
          [{ csrf }, { origin: "null" }],
          [{ csrf }, { origin: "" }],
          [{ csrf }, { origin: service.origin.replace(/\d+$/u, "1") }],
          [{ csrf }, { "sec-fetch-site": "same-site" }],
          [{ csrf }, { "sec-fetch-site": "cross-site" }],
          [{}, {}],
          [{ csrf: "" }, {}],
          [{ csrf: foreign }, {}],
        ];
        for (const [fields, headers] of wrong)
          assert.equal(
            (await ada.post(path, fields, headers)).status,
            403,
            `${path} ${JSON.stringify(headers)}`,
          );
        const doubled = await ask(service.origin, path, {
          method: "POST",
          headers: {
            "content-type": "application/x-www-form-urlencoded",
            origin: service.origin,
            cookie: [...ada.cookies].map(([name, value]) => `${name}=${value}`).join("; "),
          },
          body: `csrf=${csrf}&csrf=${csrf}`,
        });
        assert.equal(doubled.status, 400, path);
      }
      assert.equal(await dump(), before);
    });

    it("don't fix a session: a planted cookie opens nothing after the sign-in", async () => {
      const victim = service.browser();
      await victim.get("/login");
      const planted = new Map(victim.cookies);
      await victim.submit("/login", "/login/development", { name: "Victim" });
      assert.equal((await victim.get("/")).status, 200);
      const attacker = service.browser();
      for (const [name, value] of planted) attacker.cookies.set(name, value);
      assert.equal((await attacker.get("/")).status, 303);
      // After the sign-out, the victim's last cookie opens nothing either.
      const signedIn = new Map(victim.cookies);
      await victim.submit("/", "/logout", {});
      for (const [name, value] of signedIn) attacker.cookies.set(name, value);
      assert.equal((await attacker.get("/")).status, 303);
    });

    it("can't write SQL or HTML into anything", async () => {
      const nasty = "x'); drop table members; --<script>\"&";
      const ada = await service.member(nasty);
      const device = await service.device(ada);
      await device.post("/v1/device/name", { display_name: nasty });
      await device.post("/v1/device/token", { grant_type: nasty, device_code: nasty });
      await ada.submit("/device", "/device", { user_code: nasty });
      await ada.submit("/", "/devices/rename", { device: nasty, name: nasty });
      await service.browser().submit("/login", "/login/recovery", { code: nasty });
      const other = new TestDevice(service);
      const grant = await other.ask({ hostname: nasty, client_version: nasty });
      const question = await ada.submit("/device", "/device", { user_code: grant.user_code });
      const { body } = await ada.get("/");
      for (const page of [body, question.body] as string[]) {
        assert.ok(page.includes("x&#39;); drop table members; --&lt;script&gt;&quot;&amp;"));
        assert.ok(!page.includes('<script>"'));
      }
      const { body: shown } = await device.get("/v1/device");
      assert.deepEqual([shown.account_label, shown.display_name], [nasty, nasty]);
    });

    it("guess no user code: a member is stopped, the others in the office aren't", async () => {
      const guesser = await service.member("Guesser");
      const colleague = await service.member("Colleague");
      Object.assign(colleague, { address: guesser.address });
      const { perMember } = LIMITS.account.userCodes;
      const csrf = csrfOf((await guesser.get("/device")).body as string);
      const statuses: number[] = [];
      for (let guess = 0; guess <= perMember; guess += 1)
        statuses.push((await guesser.post("/device", { csrf, user_code: "BCDF-GHJK" })).status);
      assert.deepEqual([...new Set(statuses)], [400, 429]);
      const device = new TestDevice(service);
      const grant = await device.ask();
      assert.equal((await guesser.post("/device", { csrf, user_code: grant.user_code })).status, 429);
      await colleague.approve(grant.user_code);
      await device.fetchToken(grant.device_code);
    });

    it("open one code a few times only, and never after 15 minutes", async () => {
      const ada = await service.member("Ada");
      const device = new TestDevice(service);
      const grant = await device.ask();
      for (let time = 1; time <= LIMITS.account.userCodes.perCode; time += 1)
        assert.equal((await ada.submit("/device", "/device", { user_code: grant.user_code })).status, 200);
      assert.equal((await ada.submit("/device", "/device", { user_code: grant.user_code })).status, 400);
      const late = await device.ask();
      service.clock.advance(LIMITS.account.grantSeconds * 1000);
      assert.equal((await ada.submit("/device", "/device", { user_code: late.user_code })).status, 400);
      assert.deepEqual((await device.poll(late.device_code)).body, { error: "expired_token" });
    });

    it("leave no secret in the store or the log", async () => {
      const { store, settings, clock } = service;
      const operator = new Operator({ store, settings, clock, random: new RealRandom() });
      const link = await operator.invite(false);
      const ada = await service.member("Careful");
      const device = new TestDevice(service);
      const grant = await device.ask();
      await ada.approve(grant.user_code);
      await device.fetchToken(grant.device_code);
      await device.register(new TestInstance());
      const codes = await ada.submit("/security", "/security/recovery", {});
      const recovery = [...(codes.body as string).matchAll(/<li>([a-z2-7-]+)<\/li>/gu)].map(
        ([, code]) => code!,
      );
      assert.equal(recovery.length, 10);
      const secrets = [
        ...recovery,
        ...recovery.map((code) => code.replaceAll("-", "")),
        grant.device_code,
        grant.user_code,
        grant.user_code.replace("-", ""),
        device.token,
        new URL(link).hash.slice(1),
        ...ada.cookies.values(),
        csrfOf((await ada.get("/")).body as string),
      ];
      const { rows } =
        kind === "sqlite"
          ? await sql<{ name: string }>`select name from sqlite_master where type = 'table'`.execute(store.db)
          : await sql<{
              name: string;
            }>`select tablename as name from pg_tables where schemaname = 'public'`.execute(store.db);
      const tables = await Promise.all(
        rows.map(async ({ name }) => (await sql.raw(`select * from "${name}"`).execute(store.db)).rows),
      );
      const files = readdirSync(settings.folder)
        .filter((name) => name !== "account.key")
        .map((name) => readFileSync(join(settings.folder, name), "latin1"));
      const everything = [JSON.stringify(tables), ...service.log.lines, ...files].join("\n");
      for (const secret of secrets) assert.ok(!everything.includes(secret));
    });
  });
}

it("hostile requests know every route of the account service", () => {
  const paths = ["account/api.ts", "account/service.ts"].flatMap((file) =>
    [...readFileSync(file, "utf8").matchAll(/path: "(\/[^"]*)"/gu)].map(([, path]) => path!),
  );
  paths.push(ISSUER_ANSWER_PATH);
  const known: string[] = [
    ...API.map(([, path]) => path),
    ...PAGES.map(([path]) => path),
    ...FORMS.map(([path]) => path),
  ];
  assert.deepEqual([...new Set(paths)].sort(), [...new Set(known)].sort());
});
