/** Registration and directory: what holds, what is refused, and what is written. */
import assert from "node:assert/strict";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Socket } from "node:net";
import { sql } from "kysely";
import { LIMITS } from "../../shared/limits.ts";
import type { Registration } from "../../shared/wire/v1/proofs.ts";
import { verifies } from "../requirements.ts";
import {
  freePort,
  KINDS,
  type TestBrowser,
  TestDevice,
  TestInstance,
  TestService,
  VERSION,
} from "./service.ts";

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
    let service: TestService;
    let ada: TestBrowser;
    let device: TestDevice;
    let instance: TestInstance;

    before(async () => {
      service = await TestService.started({ kind });
    });
    let members = 0;
    beforeEach(async () => {
      members += 1;
      ada = await service.member(`Ada ${members}`);
      device = await service.device(ada);
      instance = new TestInstance();
    });
    after(async () => service.dispose());

    const bindings = async () => service.store.db.selectFrom("connect_instances").selectAll().execute();
    const bindingOf = async (id: string) => (await bindings()).find((row) => row.device_id === id);

    async function refused(body: unknown, status = 400, headers: Record<string, string> = {}): Promise<void> {
      const answer = await device.post("/v1/connect/instances", body, headers);
      assert.equal(answer.status, status, JSON.stringify(answer.body));
      assert.deepEqual(Object.keys(answer.body), ["error"]);
      assert.deepEqual(Object.keys(answer.body.error), ["code", "message"]);
      assert.equal(await bindingOf(device.id), undefined);
    }

    it("has exactly the fields of the contract", async () => {
      verifies("DIR-034", "DIR-035", "DIR-036", "DIR-037", "DIR-038", "DIR-039", "DIR-042", "DIR-044");
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
      verifies("DIR-015", "DIR-018", "ID-014");
      assert.equal((await device.register(instance)).status, 200);
      assert.equal((await bindingOf(device.id))?.public_origin, null);
      service.clock.advance(1);
      const { body } = await device.register(instance, { public_origin: "https://one.example:8443" });
      const own = body.instances.find((entry: { device_id: string }) => entry.device_id === device.id);
      assert.equal(own.public_origin, "https://one.example:8443");
    });

    it("takes exactly the six fields of a registration", async () => {
      verifies("DIR-008");
      const whole = device.registration(instance);
      await refused({ ...whole, extra: 1 });
      for (const field of Object.keys(whole)) {
        const { [field as keyof Registration]: _left, ...rest } = whole;
        await refused(rest);
      }
    });

    it("takes 4096 bytes of UTF-8 JSON and no byte more, announced or not", async () => {
      verifies("DIR-009", "DIR-010");
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
      verifies("DIR-016", "DIR-017");
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
      for (const origin of [1, true, {}] as unknown as string[])
        await refused({ ...device.registration(instance), public_origin: origin });
    });

    it("verifies exactly the bytes of the contract", async () => {
      verifies("DIR-023", "DIR-024", "DIR-025", "DIR-026");
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
      const at = (seconds: number) => new Date(service.clock.now() + seconds * 1000).toISOString();
      await refused(device.registration(instance, { issued_at: at(-121) }));
      await refused(device.registration(instance, { issued_at: at(121) }));
      assert.equal((await device.register(instance, { issued_at: at(-119) })).status, 200);
      assert.equal((await device.register(instance, { issued_at: at(119) })).status, 200);
    });

    it("never lets another device, even of the same account, take an active binding", async () => {
      verifies("DIR-006", "DIR-029", "ID-024");
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
      assert.equal((await device.register(instance)).status, 200);
      service.clock.advance(1);
      const answer = await device.register(new TestInstance());
      assert.equal(answer.status, 409);
      assert.equal(answer.body.error.code, "instance_conflict");
      assert.equal((await bindingOf(device.id))?.instance_id, instance.instance_id);
    });

    it("accepts both of two processes with the same secrets, as one binding", async () => {
      verifies("DIR-007");
      const [one, two] = await Promise.all([device.register(instance), device.register(instance)]);
      assert.deepEqual([one.status, two.status], [200, 200]);
      assert.equal((await bindings()).filter((row) => row.device_id === device.id).length, 1);
    });

    it("keeps a newer proof when an older one comes late", async () => {
      verifies("DIR-031");
      const older = device.registration(instance, { public_origin: "https://old.example" });
      service.clock.advance(10);
      await device.register(instance, { public_origin: "https://new.example" });
      const late = await device.post("/v1/connect/instances", older);
      assert.equal(late.status, 409);
      assert.equal((await bindingOf(device.id))?.public_origin, "https://new.example");
    });

    it("lets another device bind an instance whose device was retired", async () => {
      verifies("DIR-028", "DIR-030", "DIR-032", "DIR-040");
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

    it("shows nothing of another account", async () => {
      verifies("DIR-040");
      assert.equal((await device.register(instance)).status, 200);
      const stranger = await service.device(await service.member("Mallory"));
      assert.deepEqual((await stranger.register(new TestInstance())).body.instances.length, 1);
    });

    it("reads without writing", async () => {
      verifies("DIR-059");
      const before = await bindings();
      assert.equal((await device.directory()).status, 200);
      assert.deepEqual(await bindings(), before);
    });

    it("asks nobody whether an instance can be reached", async () => {
      verifies("DIR-060");
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
      const listed = async () =>
        (await device.directory()).body.instances.find(
          (entry: { device_id: string }) => entry.device_id === device.id,
        );
      await device.register(instance);
      const name = `"Zoë"\\ 's <\u{1f600}>, {}`;
      await device.post("/v1/device/name", { display_name: name });
      for (const at of [0, 1, 999, 1_700_000_000_001, 1_799_999_999_999, 4_102_444_800_123]) {
        await service.store.db
          .updateTable("connect_instances")
          .set({ registered_at: at })
          .where("device_id", "=", device.id)
          .execute();
        const { display_name: shown, registered_at: registered } = await listed();
        assert.deepEqual([shown, registered], [name, new Date(at).toISOString()]);
      }
    });

    it("takes names of 1 to 60 UTF-16 units that can be seen", async () => {
      verifies("DIR-054", "DIR-055", "DIR-056", "DIR-057");
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

describe("the versions that the service lets in", () => {
  const services: TestService[] = [];
  const started = async (minimumVersion: string | null): Promise<TestService> => {
    const service = await TestService.started({ minimumVersion });
    services.push(service);
    return service;
  };
  after(async () => {
    for (const service of services) await service.dispose();
  });

  it("are 0.4.40 and later for Connect, whatever lower minimum is set", async () => {
    verifies("ERR-006", "ERR-007", "VER-004", "VER-007", "VER-008", "DIR-041", "DIR-066");
    for (const minimum of [null, "0.4.0"]) {
      const service = await started(minimum);
      const ada = await service.member("Ada");
      const device = await service.device(ada);
      const instance = new TestInstance();
      for (const version of ["0.4.39", "", "0.4.40-rc.1", "nonsense"]) {
        const { status, body } = await device.get("/v1/connect/instances", { "svc-client-version": version });
        assert.equal(status, 426, version);
        assert.equal(body.error.code, "unsupported_version");
        assert.equal(typeof body.error.message, "string");
      }
      for (const version of ["0.4.40", "0.5.0", "1.0.0-rc.1", "0.10.0"]) {
        service.clock.advance(1);
        const registration = device.registration(instance, { client_version: version });
        const headers = { "svc-client-version": version };
        const { status } = await device.post("/v1/connect/instances", registration, headers);
        assert.equal(status, 200, version);
      }
      await service.store.db.updateTable("connect_instances").set({ client_version: "0.4.39" }).execute();
      assert.deepEqual((await device.directory()).body.instances, []);
    }
  });

  it("are the deployment's minimum for everything but pages and retirement", async () => {
    verifies("ERR-005", "VER-006", "VER-009", "VER-010", "VER-011", "VER-012", "VER-013");
    const service = await started(null);
    const old = { "svc-client-version": "0.3.0" };
    const ada = await service.member("Ada");
    const device = await service.device(ada);
    assert.equal((await device.register(new TestInstance())).status, 200);
    // Not set: devices of any version and of none keep their routes.
    assert.equal((await device.get("/v1/device", old)).status, 200);
    assert.equal((await device.post("/v1/device/code", {}, { "svc-client-version": "" })).status, 200);

    await service.stop();
    Object.assign(service.settings, { minimumVersion: "0.6.0" });
    const rows = async () => [
      await service.store.db.selectFrom("connect_instances").selectAll().execute(),
      await service.store.db.selectFrom("devices").selectAll().execute(),
    ];
    await service.start();
    const before = await rows();
    assert.deepEqual(
      before.map(({ length }) => length),
      [1, 1],
    );
    for (const version of ["0.5.0", ""]) {
      const headers = { "svc-client-version": version };
      for (const answer of [
        await device.post("/v1/device/code", {}, headers),
        await device.post("/v1/device/token", {}, headers),
        await device.get("/v1/device", headers),
        await device.post("/v1/device/name", { display_name: "x" }, headers),
        await device.get("/v1/connect/instances", headers),
        await device.post("/v1/connect/instances", {}, headers),
      ])
        assert.equal(answer.status, 426);
    }
    assert.deepEqual(await rows(), before);
    assert.equal((await device.get("/v1/connect/instances", { "svc-client-version": "0.6.0" })).status, 200);
    assert.equal((await ada.get("/")).status, 200);
    assert.equal((await device.post("/v1/device/disable", {}, old)).status, 200);
  });
});

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

describe("the store's migrations", () => {
  it("only add, and a newer store is refused", async () => {
    verifies("VER-015");
    const service = await TestService.started();
    try {
      const { db } = service.store;
      const { rows } = await sql<{ name: string }>`select name from migrations`.execute(db);
      assert.ok(rows.some(({ name }) => name === "0010_connect_instances"));
      await sql`insert into migrations (name, timestamp) values ('9999_later', '2030')`.execute(db);
      await service.stop();
      await assert.rejects(service.start(), /newer version/u);
    } finally {
      await service.dispose();
    }
  });
});
