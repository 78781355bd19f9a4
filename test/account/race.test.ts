/**
 * Two services on one store: what they do at the same time adds up to what one of them could do.
 */
import assert from "node:assert/strict";
import { invite } from "../../account/members/invitations.ts";
import { RealRandom } from "../../platform/real-random.ts";
import { verifies } from "../requirements.ts";
import { Authenticator } from "./authenticator.ts";
import { insertDevices, insertMembers } from "./inserted.ts";
import { ask, csrfOf, KINDS, TestBrowser, TestDevice, TestInstance, TestService } from "./service.ts";

const CLIENTS = 64;
const ROUNDS = 3;

for (const kind of KINDS) {
  describe(`two services on one store, ${kind}`, () => {
    let first: TestService;
    let second: TestService;
    const members: string[] = [];

    before(async () => {
      first = await TestService.started({ kind });
      const { folder, database, origin } = first.settings;
      second = await TestService.started({ folder, database, origin });
      members.push(...(await insertMembers(first.store.db, 4)));
    });
    after(async () => {
      await second.dispose();
      await first.dispose();
    });

    const devices = (count: number): Promise<TestDevice[]> =>
      insertDevices(
        first.store.db,
        { service: first, ports: [first.settings.port, second.settings.port] },
        members,
        count,
      );

    const active = async (instance: TestInstance) =>
      first.store.db
        .selectFrom("connect_instances")
        .innerJoin("devices", "devices.id", "connect_instances.device_id")
        .select(["connect_instances.device_id", "devices.retired_at"])
        .where("connect_instances.instance_id", "=", instance.instance_id)
        .where("connect_instances.retired_at", "is", null)
        .execute();

    it(`bind one key that ${CLIENTS} devices register at once to exactly one of them`, async () => {
      verifies("DIR-027", "DIR-029", "ID-024");
      for (let round = 0; round < ROUNDS; round += 1) {
        const instance = new TestInstance();
        const clients = await devices(CLIENTS);
        const answers = await Promise.all(clients.map(async (device) => device.register(instance)));
        const won = answers.filter(({ status }) => status === 200);
        const lost = answers.filter(({ status }) => status === 409);
        assert.deepEqual(
          [won.length, lost.length],
          [1, CLIENTS - 1],
          JSON.stringify(answers.map((a) => a.body)),
        );
        for (const { body } of lost) assert.equal(body.error.code, "instance_conflict");
        assert.equal((await active(instance)).length, 1);
      }
    });

    it("never leave an active binding of a device that is retired while it registers", async () => {
      verifies("DIR-027", "DIR-028");
      for (let round = 0; round < ROUNDS; round += 1) {
        const pairs = (await devices(16)).map((device) => ({ device, instance: new TestInstance() }));
        // Half of them refresh what is there.
        for (const { device, instance } of pairs.slice(8)) await device.register(instance);
        await Promise.all(
          pairs.flatMap(({ device, instance }, index) => {
            const register = async () => device.register(instance);
            const retire = async () => device.post("/v1/device/disable", {});
            return (index % 2 === 0 ? [register, retire] : [retire, register]).map(async (act) => act());
          }),
        );
        for (const { instance } of pairs) assert.deepEqual(await active(instance), []);
      }
    });

    it("keep the newest of many registrations of one binding, whatever their order", async () => {
      verifies("DIR-031");
      const [device] = await devices(1);
      const instance = new TestInstance();
      const newest = 15;
      await Promise.all(
        Array.from({ length: newest + 1 }, async (_, index) => {
          const at = newest - index;
          return device!.register(instance, {
            public_origin: `https://at${at}.example`,
            issued_at: new Date(first.clock.now() + at).toISOString(),
          });
        }),
      );
      const { public_origin: kept } = await first.store.db
        .selectFrom("connect_instances")
        .select("public_origin")
        .where("device_id", "=", device!.id)
        .executeTakeFirstOrThrow();
      assert.equal(kept, `https://at${newest}.example`);
    });

    it("give the token of an approved grant once, however often it is asked for", async () => {
      const ada = await first.member("Ada");
      const device = new TestDevice(first);
      const grant = await device.ask();
      await ada.approve(grant.user_code);
      const polls = await Promise.all(Array.from({ length: 8 }, async () => device.poll(grant.device_code)));
      assert.equal(polls.filter(({ status }) => status === 200).length, 1);
      assert.equal(polls.filter(({ body }) => body.error === "expired_token").length, 7);
    });

    /** Browsers that ask the two services in turn. */
    const browsers = (count: number): TestBrowser[] =>
      Array.from({ length: count }, (_, index) => {
        const { port } = (index % 2 === 0 ? first : second).settings;
        return new TestBrowser(first.origin, (origin, path, question) =>
          ask(origin, path, { ...question, port }),
        );
      });

    it("leave ten recovery codes, however often new ones are made, and take each once", async () => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const ada = await first.member(`Ada ${round}`);
        const csrf = csrfOf((await ada.get("/security")).body as string);
        const made = await Promise.all(
          browsers(4).map(async (browser) => {
            for (const [name, value] of ada.cookies) browser.cookies.set(name, value);
            return browser.post("/security/recovery", { csrf });
          }),
        );
        const codes = made.flatMap(({ body }) => [...(body as string).matchAll(/<li>([a-z2-7-]+)<\/li>/gu)]);
        assert.equal(codes.length, 40);
        assert.match((await ada.get("/security")).body as string, /<p>10 left\./u);

        const uses = codes.flatMap(([, code]) =>
          browsers(2).map((browser) => browser.submit("/login", "/login/recovery", { code: code! })),
        );
        const used = (await Promise.all(uses)).filter(({ status }) => status === 303);
        assert.equal(used.length, 10);
      }
    });

    it("let one person in by an invitation that many send at once", async () => {
      const { store, clock } = first;
      for (let round = 0; round < ROUNDS; round += 1) {
        const invited = { clock, random: new RealRandom(), isAdmin: false, by: null };
        const invitation = await invite(store.db, invited);
        const person = { invitation, name: `Invited ${round}` };
        const forms = await Promise.all(
          browsers(6).map(async (browser) => {
            const page = (await browser.submit("/join", "/join", person)).body as string;
            const passkey = new Authenticator(first.origin).make(page, "/join/passkey");
            return { browser, form: { csrf: csrfOf(page), ...person, passkey } };
          }),
        );
        const answers = await Promise.all(
          forms.map(({ browser, form }) => browser.post("/join/passkey", form)),
        );
        assert.deepEqual(
          answers.map(({ status }) => status).toSorted((a, b) => a - b),
          [200, 403, 403, 403, 403, 403],
        );
        const members = await store.db
          .selectFrom("members")
          .select("id")
          .where("name", "=", `Invited ${round}`)
          .execute();
        assert.equal(members.length, 1);
      }
    });
  });
}
