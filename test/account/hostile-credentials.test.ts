/** Every route of the service with every credential that isn't its own. */
import assert from "node:assert/strict";
import { Operator } from "../../account/operator.ts";
import { RealRandom } from "../../platform/real-random.ts";
import { LIMITS } from "../../shared/limits.ts";
import { GroupInstance } from "./group-instance.ts";
import { API, dumpOf, FORMS, hostileService, PAGES } from "./hostile-setting.ts";
import {
  type Answer,
  ask,
  csrfOf,
  KINDS,
  type TestBrowser,
  type TestDevice,
  type TestService,
} from "./service.ts";

type Headers = Record<string, string>;

const VERSIONS = { "svc-membership-version": "1", "svc-client-version": "0.5.0" };
const NEEDS_DEVICE = API.filter(([, , who]) => who === "device");
const PAGES_OF_MEMBERS = PAGES.filter(([, who]) => who === "member").map(([path]) => path);
const FORMS_OF_MEMBERS = FORMS.filter(([, who]) => who === "member").map(([path]) => path);
/** What a retired device may still ask. */
const FOR_RETIRED = new Set(["GET /v1/device", "POST /v1/device/disable"]);

function cookieOf(browser: TestBrowser): string {
  return [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
}

for (const kind of KINDS) {
  describe(`hostile credentials, ${kind}`, () => {
    let service: TestService;
    let ada: GroupInstance;
    let ben: GroupInstance;
    /** Path variables and fields that name something of Ada's. */
    let path: (pattern: string) => string;
    let fields: Headers;

    before(async () => {
      service = await hostileService(kind);
      ada = await GroupInstance.of(service, await service.member("Ada"));
      ben = await GroupInstance.of(service, await service.member("Ben"));
      const connection = await ada.connect("g1", ben, "g2");
      await ada.invite(ada.select("g3"), ben);
      const [invitation] = await ben.invitations();
      path = (pattern) => pattern.replace(":id", pattern.includes("invitations") ? invitation! : connection);
      fields = { device: ada.device.id, id: connection };
    });
    after(async () => {
      await ada?.close();
      await ben?.close();
      await service?.dispose();
    });

    const disable = async (member: TestBrowser): Promise<void> => {
      const { store, settings, clock } = service;
      const operator = new Operator({ store, settings, clock, random: new RealRandom() });
      const id = /Member id: ([0-9a-f-]{36})/u.exec((await member.get("/")).body as string)![1]!;
      await operator.disableMember(id);
    };

    const call = (method: string, at: string, headers: Headers): Promise<Answer> =>
      ask(service.origin, at, {
        method,
        headers: { "content-type": "application/json", ...VERSIONS, ...headers },
        ...(method === "POST" && { body: "{}" }),
      });

    it("reach nothing of a device", async () => {
      const cookie = cookieOf(ada.member);
      const session = cookie.slice(cookie.indexOf("=") + 1);
      const { token } = ada.device;
      const removed = await service.device(ada.member);
      await removed.post("/v1/device/disable", {});
      await ada.member.submit("/", "/devices/remove", { device: removed.id });
      const credentials: Record<string, Headers> = {
        none: {},
        "unknown token": { authorization: `Bearer ${"x".repeat(43)}` },
        "session as token": { authorization: `Bearer ${session}` },
        "digest as token": { authorization: `Bearer ${ada.device.id}` },
        "token as basic": { authorization: `Basic ${token}` },
        session: { cookie },
        "token as cookie": { cookie: cookie.replace(session, token) },
        "token of a removed device": { authorization: `Bearer ${removed.token}` },
      };
      const before = await dumpOf(service);
      for (const [name, headers] of Object.entries(credentials))
        for (const [method, at] of NEEDS_DEVICE)
          assert.equal((await call(method, at, headers)).status, 401, `${name} ${method} ${at}`);
      assert.equal(await dumpOf(service), before);
    });

    it("are told so only so often from one address, which stops nobody whose credential is right", async () => {
      const at = { "x-forwarded-for": "192.0.2.55" };
      const wrong = { ...at, authorization: `Bearer ${"y".repeat(43)}` };
      for (let time = 0; time < LIMITS.account.failuresPerMinute; time += 1)
        assert.equal((await call("GET", "/v1/device", wrong)).status, 401);
      assert.equal((await call("GET", "/v1/device", wrong)).status, 429);
      assert.equal((await ben.device.get("/v1/device", at)).status, 200);
    });

    it("of a device that is retired, or of a disabled member, say so and change nothing", async () => {
      const retired = await service.device(ada.member);
      await retired.post("/v1/device/disable", {});
      const member = await service.member("Formerly");
      const orphan = await service.device(member);
      await disable(member);
      const before = await dumpOf(service);
      for (const [name, device] of Object.entries({ retired, orphan } satisfies Record<string, TestDevice>)) {
        for (const [method, at] of NEEDS_DEVICE) {
          const { status, body } = await call(method, at, { authorization: `Bearer ${device.token}` });
          const isOpen = FOR_RETIRED.has(`${method} ${at}`);
          assert.equal(status, isOpen ? 200 : 403, `${name} ${method} ${at}`);
          assert.equal(isOpen ? body.disabled : body.error.code, isOpen ? true : "device_disabled");
        }
      }
      assert.equal(await dumpOf(service), before);
    });

    it("reach nothing of a member, with a form's own token either", async () => {
      const signedOut = await service.member("Signed out");
      const old = new Map(signedOut.cookies);
      await signedOut.submit("/", "/logout", {});
      for (const [name, value] of old) signedOut.cookies.set(name, value);
      const disabled = await service.member("Disabled");
      await disable(disabled);
      const expired = await service.member("Expired");
      const { db } = service.store;
      await db
        .updateTable("sessions")
        .set({ expires_at: service.clock.now() })
        .where("member_id", "in", (eb) => eb.selectFrom("members").select("id").where("name", "=", "Expired"))
        .execute();
      // A session that isn't swept, of a member who isn't there any more.
      const kept = await service.member("Kept");
      await db.updateTable("members").set({ disabled_at: 1 }).where("name", "=", "Kept").execute();
      const token = service.browser();
      for (const name of ada.member.cookies.keys()) token.cookies.set(name, ada.device.token);
      const browsers = { anonymous: service.browser(), signedOut, disabled, expired, kept, token };
      const bearer = { authorization: `Bearer ${ada.device.token}` };
      const before = await dumpOf(service);
      for (const [name, browser] of Object.entries(browsers)) {
        const csrf = csrfOf((await browser.get("/login")).body as string);
        for (const at of PAGES_OF_MEMBERS.map(path)) {
          const { status, headers } = await browser.get(at);
          assert.equal(status, 303, `${name} GET ${at}`);
          assert.match(headers.location!, /^\/login/u);
        }
        for (const pattern of FORMS_OF_MEMBERS) {
          const { status, headers } = await browser.post(path(pattern), { csrf });
          assert.equal(status, 303, `${name} POST ${pattern}`);
          assert.equal(headers.location, "/login");
        }
      }
      for (const at of PAGES_OF_MEMBERS.map(path))
        assert.equal((await ask(service.origin, at, { headers: bearer })).status, 303, at);
      for (const [pattern] of FORMS)
        assert.equal((await service.browser().post(path(pattern), {}, bearer)).status, 403, pattern);
      assert.equal(await dumpOf(service), before);
    });

    it("of another member reach nothing of Ada's", async () => {
      const mallory = await service.member("Mallory");
      const csrf = csrfOf((await mallory.get("/")).body as string);
      const before = await dumpOf(service);
      for (const at of PAGES_OF_MEMBERS.filter((pattern) => pattern.includes(":id")))
        assert.equal((await mallory.get(path(at))).status, 404, at);
      const asked = await mallory.get(`/devices/retire?device=${fields["device"]}`);
      assert.deepEqual([asked.status, asked.headers.location], [303, "/"]);
      const selection = `/connect/select?ticket=${ada.select("g4")}`;
      assert.equal((await mallory.get(selection)).status, 403);
      for (const [pattern, names, status] of [
        ["/devices/retire", ["device"], 404],
        ["/devices/remove", ["device"], 404],
        ["/devices/rename", ["device"], 403],
        ["/security/passkeys/remove", ["id"], 409],
        ["/connect/invitations/:id/cancel", [], 404],
        ["/connect/invitations/:id/reject", [], 404],
        ["/connect/:id/disconnect", [], 404],
        ["/connect/:id/revoke", [], 404],
      ] as const) {
        const named = Object.fromEntries(names.map((name) => [name, fields[name]!]));
        const more: Headers = pattern === "/devices/rename" ? { name: "Mine" } : {};
        assert.equal(
          (await mallory.post(path(pattern), { csrf, ...named, ...more })).status,
          status,
          pattern,
        );
      }
      // The recipient of an invitation may not withdraw it, and its inviter may not reject it.
      const other = csrfOf((await ben.member.get("/connect")).body as string);
      const cancelled = await ben.member.post(path("/connect/invitations/:id/cancel"), { csrf: other });
      assert.equal(cancelled.status, 404);
      const own = csrfOf((await ada.member.get("/connect")).body as string);
      const rejected = await ada.member.post(path("/connect/invitations/:id/reject"), { csrf: own });
      assert.equal(rejected.status, 404);
      assert.equal(await dumpOf(service), before);
    });

    it("of a member who isn't the administrator invite nobody", async () => {
      const invited = await ada.member.submit("/security", "/security/invitations", {}).catch(() => null);
      assert.equal(invited?.status ?? 403, 403);
      const rows = await service.store.db.selectFrom("invitations").select("digest").execute();
      assert.deepEqual(rows, []);
    });
  });
}
