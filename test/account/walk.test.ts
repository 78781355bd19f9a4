/** From nothing to two instances that list each other, as RFC 8628 has it. */
import assert from "node:assert/strict";
import { LIMITS } from "../../shared/limits.ts";
import { verifies } from "../requirements.ts";
import { insertDevices } from "./inserted.ts";
import { KINDS, TestDevice, TestInstance, TestService } from "./service.ts";

for (const kind of KINDS) {
  describe(`the account service on ${kind}`, () => {
    let service: TestService;
    before(async () => {
      service = await TestService.started({ kind });
    });
    after(async () => service.dispose());

    it("lets two devices in, which register and list each other", async () => {
      verifies("DIR-001", "DIR-005", "DIR-033", "DIR-058", "DIR-061");
      const ada = await service.member("Ada");
      const [first, second] = [await service.device(ada), await service.device(ada)];
      const [one, two] = [new TestInstance(), new TestInstance()];
      const registered = await first.register(one, { public_origin: "https://one.example" });
      assert.equal(registered.status, 200, JSON.stringify(registered.body));
      assert.equal((await second.register(two)).status, 200);
      const { body } = await first.directory();
      assert.deepEqual(
        new Set(body.instances.map((entry: { instance_id: string }) => entry.instance_id)),
        new Set([one.instance_id, two.instance_id]),
      );
      assert.deepEqual(Object.keys(body), Object.keys(registered.body));
      assert.equal(body.device_id, first.id);
      assert.equal(body.account_label, "Ada");
    });

    it("doesn't give the token before the approval, and gives it once", async () => {
      const ada = await service.member("Ada");
      const device = new TestDevice(service);
      const grant = await device.ask();
      assert.deepEqual((await device.poll(grant.device_code)).body, { error: "authorization_pending" });
      assert.deepEqual((await device.poll(grant.device_code)).body, { error: "slow_down" });
      await ada.approve(grant.user_code);
      await device.fetchToken(grant.device_code);
      assert.deepEqual((await device.poll(grant.device_code)).body, { error: "expired_token" });
    });

    it("tells a member whose page is older than the removal of a device", async () => {
      const ada = await service.member("Ada");
      const { id: device } = await service.device(ada);
      await ada.submit("/", "/devices/retire", { device });
      assert.equal((await ada.submit("/", "/devices/remove", { device })).status, 303);
      const late = await ada.submit("/", "/devices/remove", { device });
      assert.equal(late.status, 404);
      assert.match(late.body as string, /There is no such machine in your account any more\./u);
    });

    it("tells a member who can't have another device, and lets it in once there is room", async () => {
      const ada = await service.member("Ada of many machines");
      const { store, settings } = service;
      const { id } = await store.db
        .selectFrom("members")
        .select("id")
        .where("name", "=", "Ada of many machines")
        .executeTakeFirstOrThrow();
      const ports = [settings.port];
      const [spare] = await insertDevices(store.db, { service, ports }, [id], LIMITS.account.devices);
      const device = new TestDevice(service);
      const grant = await device.ask();
      const refused = await ada.approve(grant.user_code);
      assert.equal(refused.status, 409);
      assert.match(refused.body as string, /Your account has 128 machines.* Retire one/u);
      assert.deepEqual((await device.poll(grant.device_code)).body, { error: "authorization_pending" });
      await spare!.post("/v1/device/disable", {});
      await ada.approve(grant.user_code);
      await device.fetchToken(grant.device_code);
    });
  });
}
