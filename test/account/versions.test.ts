/** Versions of clients that the service lets in, and of its own store. */
import assert from "node:assert/strict";
import { sql } from "kysely";
import { verifies } from "../requirements.ts";
import { TestInstance, TestService } from "./service.ts";

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
    verifies("ERR-005", "VER-006", "VER-009", "VER-010", "VER-011", "VER-012", "VER-013", "DIR-041");
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
    const updated = await device.get("/v1/connect/instances", { "svc-client-version": "0.6.0" });
    assert.equal(updated.status, 200);
    // What is registered is still the earlier version.
    assert.deepEqual(updated.body.instances, []);
    assert.equal((await ada.get("/")).status, 200);
    assert.equal((await device.post("/v1/device/disable", {}, old)).status, 200);
  });
});

describe("the store's migrations", () => {
  it("only add to a store that knew nothing of Connect, and its rows stay", async () => {
    verifies("VER-015");
    const service = await TestService.started();
    try {
      await service.device(await service.member("Ada"));
      const later = ["group_connections", "group_invitations", "connect_instances"];
      for (const table of later) await service.store.db.schema.dropTable(table).execute();
      for (const column of ["made_by", "is_first"])
        await sql`alter table invitations drop column ${sql.id(column)}`.execute(service.store.db);
      await sql`delete from migrations where name >= '0010'`.execute(service.store.db);
      const names = async () => {
        const { rows } = await sql<{ name: string }>`select name from migrations`.execute(service.store.db);
        return rows.map(({ name }) => name);
      };
      const tables = async () => {
        const found = await service.store.db.introspection.getTables();
        return new Map(found.map(({ name, columns }) => [name, columns]));
      };
      const rows = async () => {
        const { db } = service.store;
        return Promise.all(
          (["members", "devices", "sessions", "audit"] as const).map((table) =>
            db.selectFrom(table).selectAll().execute(),
          ),
        );
      };
      const [before, kept] = [await tables(), await rows()];
      assert.ok(kept.every(({ length }) => length > 0));
      await service.stop();
      await service.start();
      assert.ok((await names()).includes("0010_connect_instances"));
      const after = await tables();
      assert.ok(later.every((table) => after.has(table)));
      for (const [table, columns] of before)
        assert.deepEqual(after.get(table)?.slice(0, columns.length), columns, table);
      assert.deepEqual(await rows(), kept);
    } finally {
      await service.dispose();
    }
  });

  it("are refused for a newer store", async () => {
    const service = await TestService.started();
    try {
      const { db } = service.store;
      await sql`insert into migrations (name, timestamp) values ('9999_later', '2030')`.execute(db);
      await service.stop();
      await assert.rejects(service.start(), /newer version/u);
    } finally {
      await service.dispose();
    }
  });
});
