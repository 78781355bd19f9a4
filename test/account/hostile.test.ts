/** What a service on the Internet gets: wrong credentials, foreign forms, codes of SQL, guesses. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { sql } from "kysely";
import { invite, useInvitation } from "../../account/members/invitations.ts";
import { ISSUER_ANSWER_PATH } from "../../account/members/issuer.ts";
import { Operator } from "../../account/operator.ts";
import { RealRandom } from "../../platform/real-random.ts";
import { LIMITS } from "../../shared/limits.ts";
import { Registration } from "../../shared/wire/v1/proofs.ts";
import { until } from "../support/until.ts";
import { insertDevices, insertMembers } from "./inserted.ts";
import { trusting } from "./issuers.ts";
import { ask, csrfOf, KINDS, TestDevice, TestInstance, TestService } from "./service.ts";

/** What the service answers to these bytes until it ends the connection. */
function spoken(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => socket.write(text));
    let answer = "";
    socket.setEncoding("latin1").on("data", (piece: string) => {
      answer += piece;
    });
    socket.once("error", reject).once("close", () => resolve(answer));
  });
}

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
      const csrf = csrfOf((await victim.get("/")).body as string);
      await victim.submit("/", "/logout", {});
      // Nor does a page that is still open elsewhere, which says why.
      const stale = await victim.post("/device", { csrf, user_code: "BCDF-GHJK" });
      assert.equal(stale.status, 403);
      assert.match(stale.body as string, /You signed in or out after this page was opened/u);
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

    it("let no machine look like another one by a name of which a part can't be seen", async () => {
      const ada = await service.member("Ada of two desks");
      for (const name of ["Desk", "De\u200bsk"]) {
        const device = await service.device(ada);
        assert.equal((await device.post("/v1/device/name", { display_name: name })).status, 200);
      }
      const { body } = await ada.get("/");
      const shown = [...(body as string).matchAll(/<h2><bdi>([^<]*)</gu)].map(([, name]) => name);
      assert.deepEqual(new Set(shown), new Set(["Desk", "De\ufffdsk"]));
      assert.ok(!(body as string).replaceAll(/value="[^"]*"/gu, "").includes("\u200b"));
    });

    it("push nothing out of the list of events by renaming a device again and again", async () => {
      const ada = await service.member("Ada of many names");
      const device = await service.device(ada);
      for (let round = 1; round < LIMITS.account.devicePerMinute; round += 1)
        await device.post("/v1/device/name", { display_name: `Name ${round}` });
      const { body } = await ada.get("/");
      const table = /<tbody>[^]*<\/tbody>/u.exec(body as string)![0];
      assert.equal(table.split("Device renamed").length, 2);
      assert.ok(table.includes("Device joined"));
    });

    it("name nothing that a database can't even look for", async () => {
      const ada = await service.member("Nil");
      const [nul, id] = ["a\0b", "a%00b"];
      for (const [path] of PAGES) {
        const pathOnly = path.replace(":id", id);
        for (const asked of pathOnly === path ? [`${path}?next=${id}`] : [pathOnly])
          assert.equal((await ada.get(asked)).status, 400, asked);
      }
      const csrf = csrfOf((await ada.get("/")).body as string);
      for (const [path, names] of Object.entries({
        "/connect/select": ["ticket", "invitation", "recipient"],
        "/connect/:id/disconnect": [],
        "/connect/:id/revoke": [],
        "/connect/invitations/:id/cancel": [],
        "/connect/invitations/:id/reject": [],
        "/device": ["user_code"],
        "/device/decide": ["user_code", "decision", "passkey"],
        "/devices/retire": ["device"],
        "/devices/rename": ["device", "name"],
        "/devices/remove": ["device"],
        "/security/passkeys/remove": ["id"],
        "/login/recovery": ["code"],
        "/login/development": ["name"],
      })) {
        const fields = { csrf, ...Object.fromEntries(names.map((name) => [name, nul])) };
        const { status } = await ada.post(path.replace(":id", id), fields);
        assert.equal(status, 400, path);
      }
      const device = await service.device(ada);
      for (const [path, body] of [
        ["/v1/device/code", { hostname: nul }],
        ["/v1/device/code", { client_version: nul }],
        [
          "/v1/device/token",
          { grant_type: "urn:ietf:params:oauth:grant-type:device_code", device_code: nul },
        ],
        ["/v1/device/name", { display_name: nul }],
        ["/v1/connect/groups", { invalidated: [nul] }],
      ] as const)
        assert.equal((await device.post(path, body)).status, 400, JSON.stringify(body));
    });

    it("register nothing with one field wrong, whoever signed it", async () => {
      const wrong = [undefined, null, 7, true, [], {}, "", " ", "x", "a\0b", "\u{1f600}", "x".repeat(2000)];
      const [member] = await insertMembers(service.store.db, 1);
      const fields = Object.keys(Registration.shape) as (keyof Registration)[];
      const ports = [Number(new URL(service.origin).port)];
      const devices = await insertDevices(service.store.db, { service, ports }, [member!], fields.length);
      const instance = new TestInstance();
      for (const [index, field] of fields.entries()) {
        for (const value of wrong) {
          // That is how an instance without a route registers.
          if (field === "public_origin" && value === null) continue;
          const body = devices[index]!.registration(instance, { [field]: value });
          const { status } = await devices[index]!.post("/v1/connect/instances", body);
          assert.equal(status, 400, field);
        }
      }
      const written = await service.store.db
        .selectFrom("connect_instances")
        .select("device_id")
        .where("member_id", "=", member!)
        .execute();
      assert.deepEqual(written, []);
    });

    it("confuse nobody with a header or a cookie twice", async () => {
      const ada = await service.member("Ada");
      const device = await service.device(ada);
      const mallory = await service.device(await service.member("Mallory"));
      const { host } = new URL(service.origin);
      const own = `authorization: Bearer ${device.token}`;
      const versions = ["svc-membership-version: 1", "svc-client-version: 0.5.0"];
      const status = async (method: string, path: string, lines: string[]): Promise<number> => {
        const head = [`${method} ${path} HTTP/1.1`, ...lines, "connection: close", "", ""].join("\r\n");
        return Number(/^HTTP\/1\.1 ([0-9]{3})/u.exec(await spoken(service.settings.port, head))?.[1]);
      };
      const instances = (lines: string[]) => status("GET", "/v1/connect/instances", lines);
      assert.equal(await instances([`host: ${host}`, own, ...versions]), 200);
      for (const [lines, expected] of [
        [[`host: ${host}`, own, `authorization: Bearer ${mallory.token}`, ...versions], 401],
        [
          [`host: ${host}`, `authorization: Bearer ${mallory.token}, Bearer ${device.token}`, ...versions],
          401,
        ],
        [[`host: ${host}`, own, ...versions, "svc-client-version: 0.5.0"], 426],
        [[`host: ${host}`, own, ...versions, "svc-membership-version: 1"], 426],
        [[`host: ${host}`, "host: evil.example", own, ...versions], 421],
        [["host: evil.example", `x-forwarded-host: ${host}`, own, ...versions], 421],
        [[`host: ${host}`, own, ...versions, "content-length: 1", "transfer-encoding: chunked"], 400],
        [[`host: ${host}`, own, ...versions, "content-length: 1", "content-length: 2"], 400],
      ] as const)
        assert.equal(
          await instances([...lines]),
          expected,
          lines.join(" | ").replaceAll(/Bearer \S+/gu, "…"),
        );

      // A person who came by another name of the machine is led to the right one.
      const elsewhere = await ask(service.origin, "/", { headers: { host: "evil.example" } });
      assert.match(elsewhere.body as string, /The account service has another address\. Use http/u);
      assert.ok((elsewhere.body as string).includes(`<p><a href="${service.origin}/">`));

      const [[name, token]] = [...ada.cookies] as [[string, string]];
      const home = (cookie: string) => status("GET", "/", [`host: ${host}`, `cookie: ${cookie}`]);
      assert.equal(await home(`${name}=${token}`), 200);
      for (const cookie of [
        `${name}=${token}; ${name}=${token}`,
        `${name}=${"x".repeat(43)}; ${name}=${token}`,
        `${name.toUpperCase()}=${token}`,
        `__Host-${name}=${token}`,
        `${name}="${token}"`,
        `${name}=${token}=`,
      ])
        assert.equal(await home(cookie), 303, cookie.replaceAll(token, "…"));
    });

    it("are counted by the proxy's address if it forwards none", async () => {
      const statuses: number[] = [];
      for (let tries = 0; tries <= LIMITS.account.grantsPerMinute; tries += 1) {
        const headers = { "x-forwarded-for": `nowhere-${tries}` };
        statuses.push((await new TestDevice(service).post("/v1/device/code", {}, headers)).status);
      }
      assert.equal(statuses.at(-1), 429);
    });

    it("have their own address when the proxy forwards a port with it", async () => {
      for (const [forwarded, address] of [
        ["192.0.2.7:51234", "192.0.2.7"],
        ["[2001:db8::7]:51234", "2001:db8::7"],
        ["[2001:db8::8]", "2001:db8::8"],
        ["::ffff:192.0.2.8", "192.0.2.8"],
      ] as const) {
        const headers = { "x-forwarded-for": forwarded };
        assert.equal((await new TestDevice(service).post("/v1/device/code", {}, headers)).status, 200);
        const { db } = service.store;
        const grants = await db.selectFrom("device_grants").select("address").execute();
        assert.ok(
          grants.some((grant) => grant.address === address),
          forwarded,
        );
      }
    });

    it("let nobody in by the link of an administrator who was disabled", async () => {
      const { store, settings, clock } = service;
      const random = new RealRandom();
      const operator = new Operator({ store, settings, clock, random });
      const [admin] = (await insertMembers(store.db, 1)) as [string];
      const invited = (by: string | null) => invite(store.db, { clock, random, isAdmin: false, by });
      const [first, second, other] = [await invited(admin), await invited(admin), await invited(null)];
      assert.deepEqual(await useInvitation(store.db, first, clock.now()), { isAdmin: false });
      await operator.disableMember(admin);
      assert.equal(await useInvitation(store.db, second, clock.now()), null);
      assert.deepEqual(await useInvitation(store.db, other, clock.now()), { isAdmin: false });
    });

    it("take a sign-in for fresh no longer because a clock was set back", async () => {
      const ada = await service.member("Ada");
      assert.equal((await ada.get("/security")).status, 200);
      await service.store.db
        .updateTable("sessions")
        .set({ created_at: service.clock.now() + 3_600_000 })
        .execute();
      assert.equal((await ada.get("/security")).headers.location, "/login?again=1&next=%2Fsecurity");
    });

    it("hold no request open with a slow body", async () => {
      const ada = await service.member("Ada");
      const device = await service.device(ada);
      const { host } = new URL(service.origin);
      const cookie = [...ada.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
      const json = [
        "content-type: application/json",
        ...Object.entries(device.headers()).map((pair) => pair.join(": ")),
      ];
      const form = [
        "content-type: application/x-www-form-urlencoded",
        `origin: ${service.origin}`,
        `cookie: ${cookie}`,
      ];
      for (const [path, headers] of [
        ["/v1/connect/instances", json],
        ["/v1/device/name", json],
        ["/devices/rename", form],
      ] as const) {
        const head = [`POST ${path} HTTP/1.1`, `host: ${host}`, ...headers, "content-length: 100", "", "{"];
        let answer: string | null = null;
        const slow = spoken(service.settings.port, head.join("\r\n")).then((text) => {
          answer = text;
        });
        await until("the end of the wait", async () => {
          service.clock.advance(LIMITS.http.requestSeconds * 1000);
          // Others are answered meanwhile.
          assert.equal((await ada.get("/login")).status < 400, true);
          return answer;
        });
        await slow;
        assert.match(answer ?? "", /^HTTP\/1\.1 408 [\s\S]*\r\nConnection: close\r\n/u, path);
      }
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
      const stopped = await guesser.post("/device", { csrf, user_code: grant.user_code });
      assert.equal(stopped.status, 429);
      assert.match(stopped.body as string, /Too many requests\. Try again in 15 minutes\./u);
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
