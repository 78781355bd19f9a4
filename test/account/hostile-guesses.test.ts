/** What a service on the Internet keeps to itself: guessed codes, old ways in. */
import assert from "node:assert/strict";
import { invite, useInvitation } from "../../account/members/invitations.ts";
import { ISSUER_ANSWER_PATH } from "../../account/members/issuer.ts";
import { Operator } from "../../account/operator.ts";
import { RealRandom } from "../../platform/real-random.ts";
import { LIMITS } from "../../shared/limits.ts";
import { hostileService } from "./hostile-setting.ts";
import { insertMembers } from "./inserted.ts";
import { ask, csrfOf, KINDS, TestBrowser, TestDevice, TestService } from "./service.ts";

for (const kind of KINDS) {
  describe(`hostile requests, ${kind}`, () => {
    let service: TestService;
    before(async () => {
      service = await hostileService(kind);
    });
    after(async () => service.dispose());

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

    it("pass for the member's own address only where addresses are known", async () => {
      const host = "account.example";
      for (const [proxies, isShown] of [
        [0, false],
        [1, true],
      ] as const) {
        const hidden = await TestService.started({ kind, proxies, origin: `https://${host}` });
        const here = `http://localhost:${hidden.settings.port}`;
        const ada = new TestBrowser(hidden.origin, (_origin, path, question) =>
          ask(here, path, { ...question, headers: { ...question?.headers, host } }),
        );
        await ada.submit("/login", "/login/development", { name: "Ada" });
        const device = new TestDevice({ origin: here, clock: hidden.clock });
        const { body } = await device.post("/v1/device/code", {}, { host, "x-forwarded-for": ada.address });
        const question = await ada.submit("/device", "/device", { user_code: body.user_code });
        assert.match(question.body as string, /Did you just start this yourself/u);
        assert.equal((question.body as string).includes("the same address as yours"), isShown);
        await hidden.dispose();
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

    it("guess none from many addresses, without looking at what it lets in, or as many members", async () => {
      const { perMember, perAddress } = LIMITS.account.userCodes;
      const guesser = await service.member("Guesser on the move");
      const guessed = async (
        member: TestBrowser,
        tries: number,
        address: () => string,
      ): Promise<number[]> => {
        const csrf = csrfOf((await member.get("/device")).body as string);
        const guess = { csrf, user_code: "BCDF-GHJK", decision: "denied" };
        const answers = Array.from({ length: tries }, async () =>
          member.post("/device/decide", guess, { "x-forwarded-for": address() }),
        );
        return (await Promise.all(answers)).map(({ status }) => status);
      };
      let hosts = 0;
      const anywhere = () => `198.51.100.${(hosts += 1)}`;
      assert.ok((await guessed(guesser, perMember, anywhere)).every((status) => status === 400));
      assert.deepEqual(await guessed(guesser, 1, anywhere), [429]);

      const office = () => "192.0.2.99";
      for (let member = 0; member < perAddress / perMember; member += 1) {
        const one = await service.member(`One of many ${member}`);
        assert.ok((await guessed(one, perMember, office)).every((status) => status === 400));
      }
      const last = await service.member("The last of many");
      assert.deepEqual(await guessed(last, 1, office), [429]);
      assert.deepEqual(await guessed(last, 1, anywhere), [400]);
    });

    it("guess no recovery code, and sign in or up only so often, from one address", async () => {
      const { recoveryTriesPerHour: tries, signInsPerMinute } = LIMITS.account;
      const guesser = service.browser();
      const csrf = csrfOf((await guesser.get("/login")).body as string);
      const post = async (path: string, fields: Record<string, string>) =>
        (await guesser.post(path, { csrf, ...fields })).status;
      const recovery = { code: "aaaa-bbbb-cccc-dddd" };
      for (let time = 0; time < tries; time += 1) assert.equal(await post("/login/recovery", recovery), 403);
      assert.equal(await post("/login/recovery", recovery), 429);
      for (let time = 0; time < signInsPerMinute; time += 1)
        assert.equal(await post("/login/passkey", { passkey: "{}" }), 403);
      assert.equal(await post("/login/passkey", { passkey: "{}" }), 429);
      assert.equal(await post("/join/passkey", { name: "Ada", passkey: "{}" }), 429);
      assert.equal(await post("/login/development", { name: "Ada" }), 429);
      const elsewhere = await service.browser().submit("/login", "/login/recovery", recovery);
      assert.equal(elsewhere.status, 403);
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

    it("begin as many grants as there may be, and keep out nobody who polls", async () => {
      const { db } = service.store;
      const waiting = new TestDevice(service);
      const grant = await waiting.ask();
      const now = service.clock.now();
      const begun = Array.from({ length: LIMITS.account.openGrants }, (_, index) => ({
        device_code_digest: `flood ${index}`,
        user_code_digest: `flood ${index}`,
        address: "192.0.2.1",
        created_at: now,
        expires_at: now + LIMITS.account.grantSeconds * 1000,
        poll_interval: LIMITS.account.pollSeconds * 1000,
        opened: 0,
      }));
      for (let at = 0; at < begun.length; at += 1000)
        await db
          .insertInto("device_grants")
          .values(begun.slice(at, at + 1000))
          .execute();
      const late = new TestDevice(service);
      assert.equal((await late.post("/v1/device/code", {})).status, 503);
      for (let poll = 0; poll < 7; poll += 1) {
        service.clock.advance(LIMITS.account.pollSeconds * 1000);
        assert.deepEqual((await waiting.poll(grant.device_code)).body, { error: "authorization_pending" });
      }
      await late.ask();
      const ada = await service.member("Ada with a device");
      await ada.approve(grant.user_code);
      await waiting.fetchToken(grant.device_code);
    });

    it("of a page that a colleague reads lock nobody else in the office out", async () => {
      const ada = service.browser();
      const device = new TestDevice(service);
      Object.assign(device, { address: ada.address });
      const more = LIMITS.account.signInsPerMinute + LIMITS.account.grantsPerMinute;
      const statuses = new Set<number>();
      for (let request = 0; request < more; request += 1) {
        const headers = { "x-forwarded-for": ada.address, "sec-fetch-site": "cross-site" };
        for (const path of ["/login/issuer", `${ISSUER_ANSWER_PATH}?state=x&code=x`])
          await ask(service.origin, path, { headers });
        // A form of any page, and a script of one.
        for (const origin of ["https://evil.example", "null"]) {
          const form = { "content-type": "application/x-www-form-urlencoded" };
          const sent = { method: "POST", headers: { ...headers, ...form, origin } };
          statuses.add((await ask(service.origin, "/v1/device/code", sent)).status);
        }
      }
      assert.deepEqual([...statuses], [403]);
      assert.equal((await ada.submit("/login", "/login/development", { name: "Late" })).status, 303);
      await device.ask();
    });
  });
}
