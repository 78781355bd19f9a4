/** The directory: what it says of an account's instances and their names, and to whom. */
import assert from "node:assert/strict";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Socket } from "node:net";
import { freePort } from "../../demo/free-port.ts";
import { LIMITS } from "../../shared/limits.ts";
import { verifies } from "../requirements.ts";
import { type Registrant, useRegistrant } from "./registrant.ts";
import { KINDS, TestInstance, TestService } from "./service.ts";

const ENTRY_FIELDS = [
  "instance_id",
  "device_id",
  "public_key",
  "client_version",
  "public_origin",
  "display_name",
  "registered_at",
];

for (const kind of KINDS) {
  describe(`the directory on ${kind}`, () => {
    let registrant: Registrant;

    useRegistrant(kind, (made) => {
      registrant = made;
    });

    it("has exactly the fields of the contract", async () => {
      verifies("DIR-034", "DIR-035", "DIR-036", "DIR-037", "DIR-038", "DIR-039", "DIR-042", "DIR-044");
      const { device, instance } = registrant;
      const registered = await device.register(instance, { public_origin: "https://one.example" });
      const read = await device.directory();
      for (const { headers, body } of [registered, read]) {
        assert.equal(headers["cache-control"], "no-store");
        assert.equal(body.protocol_version, 1);
        assert.equal(typeof body.account_id, "string");
        assert.equal(body.device_id, device.id);
        assert.match(body.issued_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/u);
        assert.equal(Date.parse(body.expires_at) - Date.parse(body.issued_at), 120_000);
        assert.ok(Array.isArray(body.instances));
        for (const entry of body.instances) {
          assert.deepEqual(Object.keys(entry), ENTRY_FIELDS);
          for (const [name, value] of Object.entries(entry))
            assert.ok(typeof value === "string" || (name === "public_origin" && value === null), name);
        }
      }
    });

    it("shows a route as it was registered, and none as null", async () => {
      verifies("DIR-018", "ID-014");
      const { service, device, instance } = registrant;
      const listed = async (changes: { public_origin: string | null }): Promise<unknown> => {
        service.clock.advance(1);
        const { body } = await device.register(instance, changes);
        return body.instances.find((entry: { device_id: string }) => entry.device_id === device.id)
          .public_origin;
      };
      for (const origin of [null, "https://one.example:8443", null])
        assert.equal(await listed({ public_origin: origin }), origin);
    });

    it("shows nothing of another account", async () => {
      verifies("DIR-040");
      const { service, device, instance } = registrant;
      assert.equal((await device.register(instance)).status, 200);
      const stranger = await service.device(await service.member("Mallory"));
      assert.deepEqual((await stranger.register(new TestInstance())).body.instances.length, 1);
    });

    it("reads without writing", async () => {
      verifies("DIR-059");
      const { device, bindings } = registrant;
      const before = await bindings();
      assert.equal((await device.directory()).status, 200);
      assert.deepEqual(await bindings(), before);
    });

    it("asks nobody whether an instance can be reached", async () => {
      verifies("DIR-060");
      const { service, device, instance } = registrant;
      const origin = { public_origin: `http://localhost:${await freePort()}` };
      assert.equal((await device.register(instance, origin)).status, 200);
      const [ports, hosts] = [new Set<number>(), new Set<string>()];
      const watch = (message: unknown): void => {
        const { socket } = message as { socket: Socket };
        socket.on("connectionAttempt", (_address, port) => ports.add(port));
        socket.on("lookup", (_error, _address, _family, host) => hosts.add(host));
      };
      subscribe("net.client.socket", watch);
      const { body } = await device.directory();
      unsubscribe("net.client.socket", watch);
      assert.equal(body.instances.length, 1);
      // What the test itself asked. PostgreSQL has a socket without a port.
      assert.deepEqual([[...ports], [...hosts]], [[service.settings.port], ["localhost"]]);
    });

    it("needs the version of the API and a device's credential, and takes no session for one", async () => {
      verifies("DIR-065", "DIR-067", "DIR-068", "VER-001");
      const { ada, device, instance, refused } = registrant;
      for (const version of ["", "2"]) {
        const answer = await device.get("/v1/connect/instances", { "svc-membership-version": version });
        assert.equal(answer.status, 426);
        await refused(device.registration(instance), 426, { "svc-membership-version": version });
      }
      const wrong = ["", `Bearer ${"A".repeat(43)}`, `Basic ${device.token}`, `Bearer ${device.token} x`];
      for (const authorization of wrong)
        assert.equal((await device.get("/v1/connect/instances", { authorization })).status, 401);
      const cookie = [...ada.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
      const { status } = await device.get("/v1/connect/instances", { authorization: "", cookie });
      assert.equal(status, 401);
    });

    it("names devices as their members do, and never by the whole label", async () => {
      verifies("DIR-045", "DIR-046", "DIR-047", "DIR-062", "DIR-063", "DIR-064");
      const { service, ada, device, instance } = registrant;
      const second = await service.device(ada);
      await second.register(new TestInstance());
      const name = async (): Promise<string> => {
        const { body } = await device.register(instance);
        service.clock.advance(1);
        return body.instances.find((entry: { device_id: string }) => entry.device_id === device.id)
          .display_name;
      };
      assert.equal(await name(), `Svc · ${device.hostname.slice(-6)}`);
      const renamed = await device.post("/v1/device/name", { display_name: "  Ada's desk " });
      assert.deepEqual(renamed.body, { display_name: "Ada's desk" });
      assert.equal(await name(), "Ada's desk");
      assert.equal((await second.get("/v1/device")).body.display_name, `Svc · ${second.hostname.slice(-6)}`);
      const anonymous = { authorization: "" };
      assert.equal((await device.post("/v1/device/name", { display_name: "x" }, anonymous)).status, 401);
    });

    it("lists text and times exactly as they are stored", async () => {
      const { service, device, instance } = registrant;
      const listed = async () =>
        (await device.directory()).body.instances.find(
          (entry: { device_id: string }) => entry.device_id === device.id,
        );
      // A host may have such characters.
      const origin = `https://"a'.example`;
      await device.register(instance, { public_origin: origin });
      const name = `"Zoë"\\ 's <\u{1f600}>, {} %s`;
      await device.post("/v1/device/name", { display_name: name });
      for (const at of [0, 1, 999, 1_700_000_000_001, 1_799_999_999_999, 4_102_444_800_123]) {
        await service.store.db
          .updateTable("connect_instances")
          .set({ registered_at: at })
          .where("device_id", "=", device.id)
          .execute();
        const { public_origin: route, display_name: shown, registered_at: registered } = await listed();
        assert.deepEqual([route, shown, registered], [origin, name, new Date(at).toISOString()]);
      }
    });

    it("takes names of 1 to 60 UTF-16 units that can be seen", async () => {
      verifies("DIR-054", "DIR-055", "DIR-056", "DIR-057");
      const { service, ada, device } = registrant;
      const named = async (name: unknown) =>
        (await device.post("/v1/device/name", { display_name: name })).status;
      assert.equal(await named("n".repeat(60)), 200);
      for (const name of [
        "n".repeat(61),
        "\u{1f600}".repeat(31),
        "",
        "  ",
        "a\u0007",
        "a\u202eb",
        "a\u2066",
        7,
      ])
        assert.equal(await named(name), 400);
      const second = await service.device(ada);
      const bidi = [0x061c, 0x200e, 0x200f, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e];
      for (const code of [...bidi, 0x2066, 0x2067, 0x2068, 0x2069, 0x7f, 0x9f]) {
        const character = String.fromCodePoint(code);
        const asked = { display_name: `a${character}b` };
        assert.equal((await second.post("/v1/device/name", asked)).status, 400, code.toString(16));
      }
    });
  });
}

describe("the limits of the directory", () => {
  it("are 30 requests of one device in a minute", async () => {
    verifies("LIM-001", "LIM-003");
    const service = await TestService.started();
    try {
      const ada = await service.member("Ada");
      const [device, other] = [await service.device(ada), await service.device(ada)];
      for (let request = 1; request <= LIMITS.account.devicePerMinute; request += 1)
        assert.equal((await device.directory()).status, 200);
      const refused = await device.directory();
      assert.equal(refused.status, 429);
      assert.equal(refused.body.error.code, "rate_limited");
      assert.match(refused.headers["retry-after"]!, /^[1-9][0-9]?$/u);
      assert.equal((await other.directory()).status, 200);
      // Connections of Groups are counted by themselves.
      const groups = () => device.get("/v1/connect/groups");
      for (let request = 1; request <= LIMITS.account.devicePerMinute; request += 1)
        assert.equal((await groups()).status, 200);
      const tooMany = await groups();
      assert.equal(tooMany.status, 429);
      assert.equal(tooMany.body.error.code, "rate_limited");
      assert.equal((await other.get("/v1/connect/groups")).status, 200);
    } finally {
      await service.dispose();
    }
  });

  it("take an instance on loopback over HTTP only for a development issuer", async () => {
    verifies("DIR-019");
    const service = await TestService.started();
    try {
      const device = await service.device(await service.member("Ada"));
      const instance = new TestInstance();
      const local = { public_origin: "http://127.0.0.1:8848" };
      assert.equal((await device.register(instance, local)).status, 200);
      await service.stop();
      Object.assign(service.settings, { developmentLogin: false });
      await service.start();
      service.clock.advance(1);
      assert.equal((await device.register(instance, local)).status, 400);
    } finally {
      await service.dispose();
    }
  });
});
