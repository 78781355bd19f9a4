/** What the service does besides answering: it counts without its database, and sweeps. */
import assert from "node:assert/strict";
import { sql } from "kysely";
import { Pool } from "pg";
import { Limits } from "../../account/limits.ts";
import { freePort } from "../../demo/free-port.ts";
import { Refusal } from "../../shared/errors.ts";
import { LIMITS } from "../../shared/limits.ts";
import { until } from "../support/until.ts";
import { KINDS, TestDevice, TestInstance, TestService } from "./service.ts";

describe("the limits of the account service", () => {
  it("end in their time after a clock that was an hour ahead is set right, postgres", async () => {
    const service = await TestService.started({ kind: "postgres" });
    const most = LIMITS.account.devicePerMinute;
    const refused = (limits: Limits) =>
      assert.rejects(
        limits.count("directory", "one"),
        (error) => error instanceof Refusal && error.code === "rate_limited",
      );
    try {
      const limits = new Limits(service.store);
      for (let request = 0; request < most; request += 1) await limits.count("directory", "one");
      await refused(limits);
      // Processes of which one's clock is a few seconds ahead still count together.
      await sql`update rate_limits set expire = expire + 5000`.execute(service.store.db);
      await refused(new Limits(service.store));
      await sql`update rate_limits set expire = expire + 3600000`.execute(service.store.db);
      const later = new Limits(service.store);
      for (let request = 0; request < most; request += 1) await later.count("directory", "one");
      await refused(later);
    } finally {
      await service.dispose();
    }
  });

  it("hold in each process while the database is down", async () => {
    const port = await freePort();
    const pool = new Pool({ connectionString: `postgres://nobody@127.0.0.1:${port}/none`, max: 1 });
    try {
      const limits = new Limits({ pool });
      for (let request = 0; request < LIMITS.account.devicePerMinute; request += 1)
        await limits.count("directory", "one");
      await assert.rejects(
        limits.count("directory", "one"),
        (error) => error instanceof Refusal && error.code === "rate_limited",
      );
      await limits.count("directory", "another");
    } finally {
      await pool.end();
    }
  });
});

it("the account service refuses for the moment while its PostgreSQL takes no writes", async () => {
  const service = await TestService.started({ kind: "postgres" });
  try {
    const device = await service.device(await service.member("Ada"));
    const isReadOnly = async (value: "on" | "off"): Promise<void> => {
      const { db } = service.store;
      await db.transaction().execute(async (transaction) => {
        await sql`set transaction read write`.execute(transaction);
        const { rows } = await sql<{ name: string }>`select current_database() as name`.execute(transaction);
        await sql`alter database ${sql.id(rows[0]!.name)} set default_transaction_read_only = ${sql.lit(value)}`.execute(
          transaction,
        );
      });
      await sql`select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()`.execute(db);
      await sql`select pg_terminate_backend(pg_backend_pid())`.execute(db).catch(() => null);
    };
    await isReadOnly("on");
    const refused = await until("a refusal on a new connection", async () => {
      const answer = await device.register(new TestInstance());
      const unavailable = service.log.lines.filter((line) => line.includes("database unavailable"));
      return unavailable.some((line) => line.includes('"25006"')) ? answer : null;
    });
    assert.equal(refused.status, 503);
    assert.equal((await device.get("/v1/device")).status, 200);
    await isReadOnly("off");
    await until("writes", async () => (await device.register(new TestInstance())).status === 200);
  } finally {
    await service.dispose();
  }
});

for (const kind of KINDS) {
  it(`the account service sweeps what has no more use, and nothing else, ${kind}`, async () => {
    const service = await TestService.started({ kind });
    try {
      const ada = await service.member("Ada");
      const device = await service.device(ada);
      await device.register(new TestInstance());
      await new TestDevice(service).ask();
      const count = async (table: "audit" | "device_grants" | "devices" | "sessions"): Promise<number> => {
        const { rows } = await service.store.db
          .selectFrom(table)
          .select((eb) => eb.fn.countAll<number>().as("rows"))
          .executeTakeFirstOrThrow();
        return rows;
      };
      const swept = async (table: "audit" | "device_grants" | "sessions"): Promise<void> => {
        await until(`the sweep of ${table}`, async () => {
          service.clock.advance(LIMITS.account.sweepSeconds * 1000);
          return (await count(table)) === 0;
        });
      };
      assert.equal(await count("device_grants"), 1);
      const entries = await count("audit");
      service.clock.advance(LIMITS.account.grantSeconds * 1000);
      await swept("device_grants");
      assert.deepEqual([await count("sessions"), await count("audit")], [1, entries]);
      service.clock.advance(LIMITS.account.sessionDays * 24 * 3600 * 1000);
      await swept("sessions");
      assert.equal(await count("audit"), entries);
      service.clock.advance(LIMITS.account.auditDays * 24 * 3600 * 1000);
      await swept("audit");
      assert.equal(await count("devices"), 1);
      assert.equal((await device.directory()).body.instances.length, 1);
    } finally {
      await service.dispose();
    }
  });
}
