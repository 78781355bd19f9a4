/** Registration: which proofs the service takes, and which instance is bound to which device. */
import assert from "node:assert/strict";
import type { Registration } from "../../shared/wire/v1/proofs.ts";
import { verifies } from "../requirements.ts";
import { type Registrant, useRegistrant } from "./registrant.ts";
import { KINDS, TestInstance, VERSION } from "./service.ts";

for (const kind of KINDS) {
  describe(`the registration on ${kind}`, () => {
    let registrant: Registrant;

    useRegistrant(kind, (made) => {
      registrant = made;
    });

    it("takes exactly the six fields of a registration", async () => {
      verifies("DIR-008");
      const { device, instance, refused } = registrant;
      const whole = device.registration(instance);
      await refused({ ...whole, extra: 1 });
      for (const field of Object.keys(whole)) {
        const { [field as keyof Registration]: _left, ...rest } = whole;
        await refused(rest);
      }
    });

    it("takes 4096 bytes of UTF-8 JSON and no byte more, announced or not", async () => {
      verifies("DIR-009", "DIR-010");
      const { service, device, instance, refused } = registrant;
      const text = JSON.stringify(device.registration(instance));
      const broken = Buffer.from(text.replace(VERSION, "\u{ff}\u{ff}\u{ff}\u{ff}\u{ff}"), "latin1");
      await refused(broken);
      await refused(`${text}${" ".repeat(4097 - text.length)}`, 413);
      const chunks = new ReadableStream({
        start(controller) {
          controller.enqueue(Buffer.from(`${text}${" ".repeat(4097 - text.length)}`));
          controller.close();
        },
      });
      const unannounced = await fetch(`${service.origin}/v1/connect/instances`, {
        method: "POST",
        headers: { "content-type": "application/json", ...device.headers() },
        body: chunks,
        duplex: "half",
      } as RequestInit);
      assert.equal(unannounced.status, 413);
      const full = `${text}${" ".repeat(4096 - text.length)}`;
      assert.equal((await device.post("/v1/connect/instances", full)).status, 200);
    });

    it("refuses wrong forms of instance, key, version, time and signature", async () => {
      verifies("DIR-011", "DIR-012", "DIR-013", "DIR-014", "DIR-020", "DIR-022");
      const { service, device, instance, refused } = registrant;
      const other = new TestInstance();
      const url = Buffer.from(instance.public_key, "base64").toString("base64url");
      const now = new Date(service.clock.now()).toISOString();
      const whole = device.registration(instance);
      const wrong: Partial<Registration>[] = [
        { instance_id: "not base58 0OIl" },
        { instance_id: `1${instance.instance_id}` },
        { instance_id: other.instance_id },
        { public_key: url },
        { public_key: whole.public_key.replace("=", "") },
        { public_key: `${whole.public_key.slice(0, -2)}B=` },
        { public_key: Buffer.alloc(31, 7).toString("base64") },
        { public_key: Buffer.alloc(33, 7).toString("base64") },
        { public_key: Buffer.alloc(32).toString("base64") },
        { client_version: "0.5.1" },
        { issued_at: now.replace(/\.\d{3}Z$/u, "Z") },
        { issued_at: now.replace("Z", "000Z") },
        { issued_at: now.replace("Z", "+00:00") },
        { signature: Buffer.from(whole.signature, "base64").toString("base64url") },
        { signature: Buffer.alloc(63, 1).toString("base64") },
        { signature: `${whole.signature.slice(0, -3)}B==` },
      ];
      for (const changes of wrong) await refused(device.registration(instance, changes));
    });

    it("refuses origins that aren't canonical HTTPS origins", async () => {
      verifies("DIR-015", "DIR-016", "DIR-017");
      const { device, instance, refused } = registrant;
      const wrong = [
        "http://x.example",
        "HTTPS://X.example",
        "https://x.example:443",
        "https://x.example/",
        "https://me:pw@x.example",
        "https://x.example/path",
        "https://x.example?q",
        "https://x.example#f",
        "",
      ];
      for (const origin of wrong) await refused(device.registration(instance, { public_origin: origin }));
      for (const origin of [1, true, {}, undefined] as unknown as string[])
        await refused({ ...device.registration(instance), public_origin: origin });
      assert.equal((await device.register(instance, { public_origin: null })).status, 200);
    });

    it("verifies exactly the bytes of the contract", async () => {
      verifies("DIR-023", "DIR-024", "DIR-025", "DIR-026");
      const { service, ada, device, instance, refused } = registrant;
      const fields = device.registration(instance);
      const array = [
        "svc.connect.register.v1",
        service.origin,
        device.id,
        fields.instance_id,
        fields.public_key,
        fields.client_version,
        null,
        fields.issued_at,
      ];
      const signed = (changed: readonly unknown[]) => ({ ...fields, signature: instance.sign(changed) });
      const replaced = (index: number, value: unknown) =>
        array.map((old, at) => (at === index ? value : old));
      await refused(signed(replaced(0, "svc.connect.identity.v1")));
      await refused(signed(replaced(1, "https://other.example")));
      await refused(signed(replaced(2, (await service.device(ada)).id)));
      await refused(signed(replaced(6, "https://one.example")));
      await refused(signed([...array].reverse()));
      await refused(signed([array[0], array[2], array[1], ...array.slice(3)]));
      await refused({ ...fields, signature: new TestInstance().sign(array) });
      const spaced = instance.signText(JSON.stringify(array).replaceAll(",", ", "));
      await refused({ ...fields, signature: spaced });
      await refused(fields, 401, { authorization: "" });
      assert.equal((await device.post("/v1/connect/instances", signed(array))).status, 200);
    });

    it("takes proofs within 120 seconds of its clock", async () => {
      verifies("DIR-021");
      const { service, device, instance, refused } = registrant;
      const at = (seconds: number) => new Date(service.clock.now() + seconds * 1000).toISOString();
      await refused(device.registration(instance, { issued_at: at(-121) }));
      await refused(device.registration(instance, { issued_at: at(121) }));
      assert.equal((await device.register(instance, { issued_at: at(-119) })).status, 200);
      assert.equal((await device.register(instance, { issued_at: at(119) })).status, 200);
    });

    it("never lets another device, even of the same account, take an active binding", async () => {
      verifies("DIR-006", "DIR-029", "ID-024");
      const { service, ada, device, instance, bindings, bindingOf } = registrant;
      const second = await service.device(ada);
      const stranger = await service.device(await service.member("Mallory"));
      assert.equal((await device.register(instance, { public_origin: "https://one.example" })).status, 200);
      for (const other of [second, stranger]) {
        service.clock.advance(1);
        const answer = await other.register(instance, { public_origin: "https://two.example" });
        assert.equal(answer.status, 409);
        assert.equal(answer.body.error.code, "instance_conflict");
      }
      const row = await bindingOf(device.id);
      assert.equal(row?.public_origin, "https://one.example");
      assert.equal((await bindings()).filter((each) => each.instance_id === instance.instance_id).length, 1);
    });

    it("binds one instance to a device", async () => {
      verifies("ID-023");
      const { service, device, instance, bindingOf } = registrant;
      assert.equal((await device.register(instance)).status, 200);
      service.clock.advance(1);
      const answer = await device.register(new TestInstance());
      assert.equal(answer.status, 409);
      assert.equal(answer.body.error.code, "instance_conflict");
      assert.equal((await bindingOf(device.id))?.instance_id, instance.instance_id);
    });

    it("accepts both of two processes with the same secrets, as one binding", async () => {
      verifies("DIR-007");
      const { device, instance, bindings } = registrant;
      const [one, two] = await Promise.all([device.register(instance), device.register(instance)]);
      assert.deepEqual([one.status, two.status], [200, 200]);
      assert.equal((await bindings()).filter((row) => row.device_id === device.id).length, 1);
    });

    it("keeps a newer proof when an older one comes late", async () => {
      verifies("DIR-031");
      const { service, device, instance, bindingOf } = registrant;
      const older = device.registration(instance, { public_origin: "https://old.example" });
      service.clock.advance(10);
      await device.register(instance, { public_origin: "https://new.example" });
      const late = await device.post("/v1/connect/instances", older);
      assert.equal(late.status, 409);
      assert.equal((await bindingOf(device.id))?.public_origin, "https://new.example");

      const old = device.registration(instance, { public_origin: "https://old.example" });
      service.clock.advance(10);
      await device.register(instance, { public_origin: "https://newest.example" });
      assert.equal((await device.post("/v1/connect/instances", old)).status, 409);
      assert.equal((await bindingOf(device.id))?.public_origin, "https://newest.example");
    });

    it("says when an instance was last in contact, at its first registration and at each refresh", async () => {
      const { service, device, instance, bindingOf } = registrant;
      for (let contact = 0; contact < 3; contact += 1) {
        service.clock.advance(60_000);
        const { body } = await device.register(instance);
        const [entry] = body.instances;
        assert.equal(entry.registered_at, new Date(service.clock.now()).toISOString());
        assert.deepEqual(body.instances, (await device.directory()).body.instances);
        assert.equal((await bindingOf(device.id))?.registered_at, service.clock.now());
      }
    });

    it("lets another device bind an instance whose device was retired", async () => {
      verifies("DIR-028", "DIR-030", "DIR-032", "DIR-040");
      const { service, ada, device, instance, bindingOf } = registrant;
      const proof = device.registration(instance);
      assert.equal((await device.post("/v1/connect/instances", proof)).status, 200);
      assert.deepEqual((await device.post("/v1/device/disable", {})).body, { disabled: true });
      for (const answer of [
        await device.directory(),
        await device.register(instance),
        await device.post("/v1/device/name", { display_name: "Still here" }),
      ]) {
        assert.equal(answer.status, 403);
        assert.equal(answer.body.error.code, "device_disabled");
      }
      assert.equal((await device.get("/v1/device")).body.disabled, true);
      const second = await service.device(ada);
      const { status, body } = await second.register(instance);
      assert.equal(status, 200);
      const ids = body.instances.map((entry: { device_id: string }) => entry.device_id);
      assert.ok(ids.includes(second.id) && !ids.includes(device.id));
      await ada.submit("/", "/devices/remove", { device: device.id });
      assert.equal(await bindingOf(device.id), undefined);
      assert.equal((await device.directory()).status, 401);
    });
  });
}
