/**
 * Two services on one store: what they do at the same time adds up to what one of them could do.
 */
import assert from "node:assert/strict";
import { verifies } from "../requirements.ts";
import { insertDevices, insertMembers } from "./inserted.ts";
import { KINDS, TestDevice, TestInstance, TestService } from "./service.ts";

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
  });
}
