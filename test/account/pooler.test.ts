/** Debian's PgBouncer between the account service and PostgreSQL, in session mode. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "kysely";
import { freePort } from "../../demo/free-port.ts";
import { LIMITS } from "../../shared/limits.ts";
import { until } from "../support/until.ts";
import { freshDatabase, owner } from "./postgres.ts";
import { TestInstance, TestService } from "./service.ts";

describe("the account service behind PgBouncer", () => {
  const folder = mkdtempSync(join(tmpdir(), "svc-pooler-"));
  let pooler: ChildProcess;
  let said = "";
  let service: TestService;

  before(async () => {
    const { pathname, searchParams, username } = new URL(freshDatabase());
    const port = await freePort();
    const database = pathname.slice(1);
    const file = join(folder, "pgbouncer.ini");
    writeFileSync(
      file,
      `[databases]
${database} = host=${searchParams.get("host")} user=${username}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = session
`,
    );
    chmodSync(folder, 0o755);
    pooler = spawn("/usr/sbin/pgbouncer", [file], { ...owner(), stdio: ["ignore", "ignore", "pipe"] });
    await new Promise<void>((resolve, reject) => {
      pooler.stderr!.on("data", (text: Buffer) => {
        said += text.toString("utf8");
        if (said.includes("process up")) resolve();
      });
      pooler.once("exit", () => reject(new Error(said)));
    });
    service = await TestService.started({
      kind: "postgres",
      database: `postgres://${username}@127.0.0.1:${port}/${database}`,
    });
  });
  after(async () => {
    await service?.dispose();
    if (pooler?.exitCode === null) {
      pooler.kill();
      await once(pooler, "exit");
    }
    rmSync(folder, { recursive: true, force: true });
  });

  it("lets a device in, takes its registration and lists it", async () => {
    const device = await service.device(await service.member("Ada"));
    for (let refresh = 0; refresh < 3; refresh += 1) {
      const { status, body } = await device.register(new TestInstance());
      assert.equal(status, refresh === 0 ? 200 : 409, JSON.stringify(body));
    }
    assert.equal((await device.directory()).body.instances.length, 1);
  });

  it("has its own settings on each connection, also after a connection was lost", async () => {
    const { db } = service.store;
    const settings = async () => {
      const { rows } = await sql<{ plans: string; timeout: string; idle: string }>`select
        current_setting('plan_cache_mode') as plans, current_setting('statement_timeout') as timeout,
        current_setting('idle_in_transaction_session_timeout') as idle`.execute(db);
      return rows[0];
    };
    const timeout = `${LIMITS.account.pool.statementMilliseconds / 1000}s`;
    const expected = { plans: "force_generic_plan", timeout, idle: timeout };
    assert.deepEqual(await settings(), expected);
    await sql`select pg_terminate_backend(pg_backend_pid())`.execute(db).catch(() => null);
    const later = await until("a new connection", async () => settings().catch(() => null));
    assert.deepEqual(later, expected);
  });
});
