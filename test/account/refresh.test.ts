/** A refresh on PostgreSQL and the retirement of its device, in an order that is made sure of. */
import assert from "node:assert/strict";
import { sql } from "kysely";
import type { Queries } from "../../account/store/store.ts";
import { verifies } from "../requirements.ts";
import { type Registrant, useRegistrant } from "./registrant.ts";

describe("a refresh on postgres", () => {
  let registrant: Registrant;

  useRegistrant("postgres", (made) => {
    registrant = made;
  });

  /** Resolves when a statement waits for what a transaction has locked. */
  async function waiting(db: Queries): Promise<void> {
    for (;;) {
      const { rows } = await sql`select 1 from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`.execute(db);
      if (rows.length > 0) return;
    }
  }

  it("that waits for the retirement of its device is refused, and changes nothing", async () => {
    verifies("DIR-027", "DIR-028");
    const { service, device, instance, bindingOf } = registrant;
    await device.register(instance, { public_origin: "https://before.example" });
    let refresh: ReturnType<typeof device.register>;
    await service.store.db.transaction().execute(async (db) => {
      const retired_at = service.clock.now();
      await db.updateTable("devices").set({ retired_at }).where("id", "=", device.id).execute();
      await db
        .updateTable("connect_instances")
        .set({ retired_at })
        .where("device_id", "=", device.id)
        .execute();
      // Its credential is still good for what isn't committed.
      refresh = device.register(instance, { public_origin: "https://after.example" });
      await waiting(service.store.db);
    });
    const { status, body } = await refresh!;
    assert.deepEqual([status, body.error.code], [403, "device_disabled"]);
    assert.equal((await bindingOf(device.id))?.public_origin, "https://before.example");
  });

  it("isn't written after a service without Connect has retired the device alone", async () => {
    verifies("DIR-028");
    const { service, device, instance, bindingOf } = registrant;
    await device.register(instance, { public_origin: "https://before.example" });
    let refresh: ReturnType<typeof device.register>;
    await service.store.db.transaction().execute(async (db) => {
      // Its count comes after its credential and before the registration.
      await sql`select 1 from rate_limits where key = ${`directory:${device.id}`} for update`.execute(db);
      refresh = device.register(instance, { public_origin: "https://after.example" });
      await waiting(service.store.db);
      await service.store.db
        .updateTable("devices")
        .set({ retired_at: service.clock.now() })
        .where("id", "=", device.id)
        .execute();
    });
    const { status, body } = await refresh!;
    assert.deepEqual([status, body.error.code], [403, "device_disabled"]);
    assert.equal((await bindingOf(device.id))?.public_origin, "https://before.example");
  });
});
