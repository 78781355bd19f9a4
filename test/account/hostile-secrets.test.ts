/** Where nothing secret may be: stores, logs, addresses, and what is said of errors. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { sql } from "kysely";
import { useInvitation } from "../../account/members/invitations.ts";
import { Operator } from "../../account/operator.ts";
import { RealRandom } from "../../platform/real-random.ts";
import { hostileService } from "./hostile-setting.ts";
import {
  type Answer,
  ask,
  csrfOf,
  KINDS,
  type TestBrowser,
  TestDevice,
  TestInstance,
  type TestService,
} from "./service.ts";

for (const kind of KINDS) {
  describe(`the secrets of a member and a device, ${kind}`, () => {
    let service: TestService;
    let ada: TestBrowser;
    let device: TestDevice;
    let grant: { device_code: string; user_code: string };
    let invitation: string;
    let recovery: string[];
    let secrets: string[];

    before(async () => {
      service = await hostileService(kind);
      const { store, settings, clock } = service;
      const link = await new Operator({ store, settings, clock, random: new RealRandom() }).invite(false);
      invitation = new URL(link).hash.slice(1);
      ada = await service.member("Careful");
      device = new TestDevice(service);
      grant = await device.ask();
      await ada.approve(grant.user_code);
      await device.fetchToken(grant.device_code);
      await device.register(new TestInstance());
      const codes = await ada.submit("/security", "/security/recovery", {});
      recovery = [...(codes.body as string).matchAll(/<li>([a-z2-7-]+)<\/li>/gu)].map(([, code]) => code!);
      assert.equal(recovery.length, 10);
      secrets = [
        ...recovery,
        ...recovery.map((code) => code.replaceAll("-", "")),
        grant.device_code,
        grant.user_code,
        grant.user_code.replace("-", ""),
        device.token,
        invitation,
        ...ada.cookies.values(),
        csrfOf((await ada.get("/")).body as string),
      ];
    });
    after(async () => service.dispose());

    function hasNone(text: string, where: string): void {
      for (const secret of secrets) assert.ok(!text.includes(secret), `${where}: ${text}`);
    }

    /** The signed-out browser of somebody who has come by one of them. */
    const stranger = (): TestBrowser => service.browser();

    it("aren't repeated to whoever sends them in vain, nor put into an address", async () => {
      const { store, clock } = service;
      await useInvitation(store.db, invitation, clock.now());
      const inVain: Record<string, Answer> = {
        "a used device code": await device.poll(grant.device_code),
        "a used user code": await ada.submit("/device", "/device", { user_code: grant.user_code }),
        "a used invitation": await stranger().submit("/join", "/join", { invitation, name: "Bob" }),
        "a cookie as a form's own token": await ada.post("/security/recovery", {
          csrf: [...ada.cookies.values()][0]!,
        }),
        "a token as another one's cookie": await ask(service.origin, "/nothing", {
          headers: { cookie: `${[...ada.cookies.keys()][0]}=${device.token}` },
        }),
        "a token in a query": await ask(service.origin, `/v1/device?access_token=${device.token}`),
        "a token in a path": await ask(service.origin, `/nothing/${device.token}`),
        "a token in a path of the API": await device.get(`/v1/${device.token}`),
        "a token as a password": await ask(service.origin, "/v1/device", {
          headers: { authorization: `Basic ${device.token}` },
        }),
        "a token as a field": await device.post("/v1/connect/instances", { [device.token]: 1 }),
        "a token as a value": await device.post("/v1/connect/instances", { signature: device.token }),
        "a token as a name": await device.post("/v1/device/name", { display_name: `${device.token}\u0000` }),
        "a token as a kind of grant": await device.post("/v1/device/token", {
          grant_type: device.token,
          device_code: grant.device_code,
        }),
        "a token as a version": await device.get("/v1/connect/instances", {
          "svc-client-version": device.token,
        }),
        "a token as a host": await device.get("/v1/device", { host: `${device.token}.example` }),
      };
      const code = { code: recovery[0]! };
      const signedIn = await stranger().submit("/login", "/login/recovery", code);
      assert.equal(signedIn.status, 303);
      inVain["a used recovery code"] = await stranger().submit("/login", "/login/recovery", code);
      for (const [what, { status, headers, body }] of Object.entries(inVain)) {
        assert.ok(status >= 400, `${what}: ${status}`);
        // A page's forms have their own token, and what the person has just typed.
        const said =
          typeof body === "string" ? body.replaceAll(/ value="[^"]*"/gu, "") : JSON.stringify(body);
        hasNone(said, what);
        hasNone(JSON.stringify({ ...headers, "set-cookie": [] }), what);
      }
      const led = [
        signedIn,
        await stranger().get(`/device?user_code=${grant.user_code}`),
        await stranger().get(`/login?next=/${device.token}`),
        await ada.get("/"),
      ];
      for (const { headers } of led)
        hasNone((headers.location ?? "").replace(/user_code%3D.*$/u, ""), "Location");
    });

    it("are neither in the store nor in the log", async () => {
      const { store, settings } = service;
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
