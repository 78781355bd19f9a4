/**
 * How Connect reaches a deployment that had members and devices before it: first the tables, then
 * the service, then the daemons, and at last the minimum version.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { sql } from "kysely";
import { digestOf } from "../../account/secrets.ts";
import { openStore } from "../../account/store/store.ts";
import { verifies } from "../requirements.ts";
import { Authenticator } from "./authenticator.ts";
import { GroupInstance } from "./group-instance.ts";
import { csrfOf, KINDS, TestDevice, TestInstance, TestService } from "./service.ts";

const OLD = { "svc-client-version": "0.4.39" };

/**
 * The statements of a service that knew nothing of Connect. They stay as they were, whatever
 * becomes of today's.
 */
class PreviousService {
  readonly #service: TestService;

  constructor(service: TestService) {
    this.#service = service;
  }

  /** Lets a new member's device in. */
  async device(name: string): Promise<TestDevice> {
    const { db } = this.#service.store;
    const device = new TestDevice(this.#service);
    Object.assign(device, { id: `device-of-${name}`, token: name.repeat(43).slice(0, 43) });
    await sql`insert into members (id, name, is_admin, created_at) values (${name}, ${name}, 0, 1)`.execute(
      db,
    );
    await sql`insert into device_grants (device_code_digest, user_code_digest, claimed_hostname,
      claimed_version, address, created_at, expires_at, poll_interval, polled_at, opened, decision, member_id)
      values (${name}, ${name}, null, null, '10.0.0.1', 1, 2, 5000, null, 0, 'approved', ${name})`.execute(
      db,
    );
    await sql`delete from device_grants where device_code_digest = ${name}`.execute(db);
    await sql`insert into devices (id, member_id, token_digest, hostname, display_name, created_at, retired_at)
      values (${device.id}, ${name}, ${digestOf(device.token)}, ${name}, null, 1, null)`.execute(db);
    await sql`insert into audit (id, member_id, at, event, device_id, address)
      values (${name}, ${name}, 1, 'device_joined', ${device.id}, null)`.execute(db);
    return device;
  }

  async rename(device: TestDevice, name: string): Promise<void> {
    await sql`update devices set display_name = ${name} where id = ${device.id} and retired_at is null`.execute(
      this.#service.store.db,
    );
  }

  async retire(device: TestDevice): Promise<void> {
    await sql`update devices set retired_at = 5 where id = ${device.id} and retired_at is null`.execute(
      this.#service.store.db,
    );
  }

  async remove(device: TestDevice): Promise<void> {
    await sql`delete from devices where id = ${device.id} and retired_at is not null`.execute(
      this.#service.store.db,
    );
  }
}

for (const kind of KINDS) {
  describe(`the rollout of Connect on ${kind}`, () => {
    let service: TestService;
    before(async () => {
      service = await TestService.started({ kind });
    });
    after(async () => service.dispose());

    it("leaves a previous service at work on the migrated store", async () => {
      verifies("VER-017");
      const previous = new PreviousService(service);
      const [one, two] = [await previous.device("a"), await previous.device("b")];
      await previous.rename(one, "Named before");
      const instance = new TestInstance();
      const { status, body } = await one.register(instance);
      assert.equal(status, 200, JSON.stringify(body));
      assert.equal(body.instances[0].display_name, "Named before");
      // It retires the device alone. The binding is of no use then, and in nobody's way.
      await previous.retire(one);
      assert.equal((await one.directory()).status, 403);
      service.clock.advance(1);
      const bound = await two.register(instance);
      assert.equal(bound.status, 200, JSON.stringify(bound.body));
      await previous.remove(one);
      assert.equal((await one.directory()).status, 401);
      assert.deepEqual(
        (await two.directory()).body.instances.map((entry: { device_id: string }) => entry.device_id),
        [two.id],
      );
    });

    it("goes on while a newer service adds columns to its tables", async () => {
      const people: GroupInstance[] = [];
      try {
        for (const name of ["Ann", "Ben"])
          people.push(await GroupInstance.of(service, await service.member(name)));
        const [ann, ben] = people as [GroupInstance, GroupInstance];
        const key = new Authenticator(service.origin);
        const page = (await ann.member.get("/security")).body as string;
        const passkey = key.make(page, "/security/passkeys");
        await ann.member.post("/security/passkeys", { csrf: csrfOf(page), passkey });
        const everything = async (): Promise<void> => {
          const id = await ann.connect("g1", ben, "g2");
          await ann.invite(ann.select("g3"), ben);
          for (const { member, device } of people) {
            for (const path of ["/", "/security", "/connect"])
              assert.equal((await member.get(path)).status, 200, path);
            for (const path of ["/v1/device", "/v1/connect/instances", "/v1/connect/groups"])
              assert.equal((await device.get(path)).status, 200, path);
          }
          const end = `/connect/${id}/disconnect`;
          assert.equal((await ann.member.submit(end, end, {})).status, 303);
          const browser = service.browser();
          const login = (await browser.get("/login")).body as string;
          const used = { csrf: csrfOf(login), passkey: key.use(login, "/login/passkey") };
          assert.equal((await browser.post("/login/passkey", used)).status, 303);
        };
        await everything();
        const { db } = service.store;
        for (const { name } of await db.introspection.getTables())
          await db.schema.alterTable(name).addColumn("later", "text").execute();
        await everything();
      } finally {
        await Promise.all(people.map((one) => one.close()));
      }
    });

    it("starts and works on a store to which a newer service only added, and on no other", async () => {
      verifies("VER-020");
      const ann = await GroupInstance.of(service, await service.member("Ahead"));
      const note = (name: string) =>
        sql`insert into migrations (name, timestamp) values (${name}, ${new Date().toISOString()})`.execute(
          service.store.db,
        );
      const { db } = service.store;
      await db.schema.createTable("labels").addColumn("id", "text").execute();
      await db.schema.alterTable("devices").addColumn("label", "text").execute();
      await note("0098_labels_additive");
      await note("0099_labels_of_devices_additive");
      await service.stop();
      await service.start();
      const device = await new PreviousService(service).device("d");
      assert.equal((await device.register(new TestInstance())).status, 200);
      assert.equal((await device.directory()).body.instances.length, 1);
      assert.equal((await ann.device.get("/v1/connect/instances")).status, 200);
      await ann.close();
      for (const name of ["0100_devices_split_breaking", "0100_devices_split"]) {
        const { folder, database } = service.settings;
        await note(name);
        const opening = openStore({ folder, database, log: service.log });
        await assert.rejects(opening, /newer version of the account service.*Update this one/u);
        await sql`delete from migrations where name = ${name}`.execute(service.store.db);
      }
      // Those that come say what they are.
      const { rows } = await sql<{ name: string }>`select name from migrations`.execute(service.store.db);
      for (const { name } of rows) if (name > "0016") assert.match(name, /_(?:additive|breaking)$/u);
    });

    it("admits old daemons to what they had until the minimum is raised on purpose", async () => {
      verifies("VER-016");
      const restarted = async (minimumVersion: string | null): Promise<void> => {
        await service.stop();
        Object.assign(service.settings, { minimumVersion });
        await service.start();
      };
      const device = await new PreviousService(service).device("c");
      const instance = new TestInstance();
      // The service is new, the daemon isn't yet.
      assert.equal((await device.get("/v1/device", OLD)).status, 200);
      assert.equal((await device.post("/v1/device/name", { display_name: "Old" }, OLD)).status, 200);
      assert.equal((await device.get("/v1/connect/instances", OLD)).status, 426);
      // The daemon reports its version.
      assert.equal((await device.register(instance)).status, 200);
      assert.equal((await device.get("/v1/device", OLD)).status, 200);
      // The minimum comes last, and takes nothing from those that report.
      await restarted("0.4.40");
      assert.equal((await device.get("/v1/device", OLD)).status, 426);
      assert.equal((await device.directory()).body.instances.length, 1);
      const words = readFileSync(join(import.meta.dirname, "../../docs/account-service.md"), "utf8");
      assert.match(
        words,
        /start the new version of the service, which brings the database up to date .*; update the daemons; then raise the minimum on purpose/u,
      );
    });
  });
}
