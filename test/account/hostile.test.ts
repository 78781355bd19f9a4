/** What a service on the Internet gets: wrong credentials, foreign forms, codes of SQL. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { ISSUER_ANSWER_PATH } from "../../account/members/issuer.ts";
import { LIMITS } from "../../shared/limits.ts";
import { Registration } from "../../shared/wire/v1/proofs.ts";
import { API, dumpOf, FORMS, hostileService, PAGES } from "./hostile-setting.ts";
import { insertDevices, insertMembers } from "./inserted.ts";
import { ask, csrfOf, KINDS, TestDevice, TestInstance, type TestService } from "./service.ts";

for (const kind of KINDS) {
  describe(`hostile requests, ${kind}`, () => {
    let service: TestService;
    before(async () => {
      service = await hostileService(kind);
    });
    after(async () => service.dispose());

    it("bring no form from another page, whatever they know", async () => {
      const ada = await service.member("Ada");
      const csrf = csrfOf((await ada.get("/")).body as string);
      const foreign = csrfOf((await service.browser().get("/login")).body as string);
      const before = await dumpOf(service);
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
      assert.equal(await dumpOf(service), before);
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
