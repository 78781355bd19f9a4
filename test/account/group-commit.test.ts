/** Writes that share a commit on the embedded database: each is kept, or its caller is told. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "kysely";
import { openStore, type Queries, type Store } from "../../account/store/store.ts";
import { insertDevices, insertMembers } from "./inserted.ts";
import { LinesOfLog, TestInstance, TestService } from "./service.ts";

const JOBS = 8;

describe("writes that share a commit", () => {
  let folder: string;
  let store: Store;
  const open = () => openStore({ folder, database: null, log: new LinesOfLog() });
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "svc-account-"));
    store = await open();
  });
  afterEach(async () => {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const insert =
    (name: string, value = name) =>
    (db: Queries) =>
      db.insertInto("settings").values({ name, value }).execute();
  const kept = async (): Promise<string[]> =>
    (await store.db.selectFrom("settings").select("name").orderBy("name").execute()).map(({ name }) => name);
  const states = async (jobs: readonly Promise<unknown>[]) =>
    (await Promise.allSettled(jobs)).map(({ status }) => status);

  it("are kept without the one that a unique index refuses", async () => {
    await store.write(insert("b"));
    const jobs = [insert("a"), insert("b", "again"), insert("c")].map((job) => store.write(job));
    assert.deepEqual(await states(jobs), ["fulfilled", "rejected", "fulfilled"]);
    assert.deepEqual(await kept(), ["a", "b", "c"]);
  });

  it("are all undone when one of them ends the transaction, and those after them go on", async () => {
    const broken = (db: Queries) => sql`insert into nowhere (name) values ('b')`.execute(db);
    const jobs = [store.write(insert("a")), store.write(broken), store.write(insert("c"))];
    assert.deepEqual(await states(jobs), ["rejected", "rejected", "rejected"]);
    assert.deepEqual(await kept(), []);
    await store.write(insert("d"));
    assert.deepEqual(await kept(), ["d"]);
  });

  it("are all refused when their commit fails", async () => {
    // What is checked only by the commit: a session of nobody.
    const defer = (db: Queries) => sql`pragma defer_foreign_keys = on`.execute(db);
    const stray = (db: Queries) =>
      db
        .insertInto("sessions")
        .values({ digest: "d", member_id: "nobody", created_at: 1, expires_at: 2 })
        .execute();
    const jobs = [defer, insert("a"), stray].map((job: (db: Queries) => Promise<unknown>) =>
      store.write(job),
    );
    assert.deepEqual(await states(jobs), ["rejected", "rejected", "rejected"]);
    assert.deepEqual(await kept(), []);
    assert.deepEqual(await store.db.selectFrom("sessions").selectAll().execute(), []);
    await store.write(insert("b"));
    assert.deepEqual(await kept(), ["b"]);
  });

  it("are kept when the store is closed while they wait", async () => {
    const jobs = Array.from({ length: JOBS }, (_, index) => store.write(insert(`${index}`)));
    await store.close();
    assert.deepEqual(new Set(await states(jobs)), new Set(["fulfilled"]));
    store = await open();
    assert.equal((await kept()).length, JOBS);
  });

  it("are kept as far as they were confirmed when the service stops under them", async () => {
    const service = await TestService.started();
    try {
      const members = await insertMembers(service.store.db, 1);
      const ports = [service.settings.port];
      const devices = await insertDevices(service.store.db, { service, ports }, members, JOBS);
      const answers = devices.map((device) => device.register(new TestInstance()).catch(() => null));
      await Promise.race(answers);
      await service.stop();
      const confirmed = (await Promise.all(answers)).flatMap((answer, index) =>
        answer === null ? [] : [{ device: devices[index]!, status: answer.status }],
      );
      assert.deepEqual(new Set(confirmed.map(({ status }) => status)), new Set([200]));
      await service.start();
      const { body } = await devices[0]!.directory();
      const listed = new Set(body.instances.map((entry: { device_id: string }) => entry.device_id));
      for (const { device } of confirmed) assert.ok(listed.has(device.id));
    } finally {
      await service.dispose();
    }
  });
});
