/**
 * What the account service withstands: kills, a restarted or full database, clocks, old backups.
 */
import assert from "node:assert/strict";
import { copyFileSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { Operator } from "../../account/operator.ts";
import { RealRandom } from "../../platform/real-random.ts";
import { GroupInstance } from "../account/group-instance.ts";
import { insertDevices, insertMembers } from "../account/inserted.ts";
import { Cluster } from "../account/postgres.ts";
import { persistently, Rounds } from "../account/rounds.ts";
import { KINDS, TestInstance, TestService } from "../account/service.ts";
import { verifies } from "../requirements.ts";
import { Chance, seedOfRun } from "../support/chance.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { SmallDisk } from "./small-disk.ts";

const LANES = 4;
const SQLITE_ROUNDS = 200;
const POSTGRES_ROUNDS = 50;
const HOUR_MS = 3600 * 1000;
const MiB = 1024 * 1024;

/** A clock that is set, forward and back. */
class JumpingClock extends ManualClock {
  skew = 0;
  override now(): number {
    return super.now() + this.skew;
  }
}

const seed = seedOfRun();

describe(`the account service (WITHSTAND_SEED=${seed})`, function () {
  this.timeout(900_000);
  const chance = new Chance(`account ${seed}`);

  it(`loses and doubles no binding in ${SQLITE_ROUNDS} rounds of races and kills, SQLite`, async () => {
    let kills = 0;
    const lane = async (number: number): Promise<void> => {
      const rounds = await Rounds.started(null);
      const [service] = rounds.services;
      const dice = chance.stream(`lane ${number}`);
      try {
        for (let round = 0; round < SQLITE_ROUNDS / LANES; round += 1) {
          await rounds.round(dice, async () => {
            if (dice.happens(0.5)) return;
            kills += 1;
            await service!.end("SIGKILL");
            await service!.start();
          });
        }
      } finally {
        await rounds.dispose();
      }
    };
    await Promise.all(Array.from({ length: LANES }, (_, number) => lane(number)));
    assert.ok(kills > SQLITE_ROUNDS / 4, `${kills} kills`);
  });

  it(`does the same in ${POSTGRES_ROUNDS} rounds as two processes whose database restarts, PostgreSQL`, async () => {
    const cluster = Cluster.started();
    const dice = chance.stream("postgres");
    const rounds = await Rounds.started(cluster);
    const happened = { kill: 0, database: 0 };
    try {
      for (let round = 0; round < POSTGRES_ROUNDS; round += 1) {
        await rounds.round(dice, async () => {
          const drawn = dice.below(6);
          const service = rounds.services[drawn];
          if (service !== undefined) {
            happened.kill += 1;
            await service.end("SIGKILL");
            await service.start();
          } else if (drawn === 2) {
            happened.database += 1;
            cluster.stop("immediate");
            cluster.start();
          }
        });
      }
      assert.deepEqual(rounds.unexpected(), []);
      for (const service of rounds.services) assert.ok(service.isRunning);
      assert.ok(happened.kill > 5 && happened.database > 0, JSON.stringify(happened));
    } finally {
      await rounds.dispose();
      cluster.remove();
    }
  });

  it("refuses for the moment while its disk is full, SQLite", async function () {
    const disk = SmallDisk.mount(24 * MiB);
    if (disk === null) throw new Error("mounting isn't allowed here");
    const folder = join(disk.path, "account");
    mkdirSync(folder);
    const rounds = await Rounds.started(null, folder);
    try {
      await rounds.round(chance, async () => undefined);
      const devices = await rounds.devices(8);
      disk.fill(0);
      const refused = await Promise.all(devices.map((device) => device.register(new TestInstance())));
      // What fits the database as it is may still be written.
      for (const { status } of refused) assert.ok(status === 503 || status === 200, `${status}`);
      assert.ok(refused.some(({ status }) => status === 503));
      assert.equal((await devices[0]!.directory()).status, 200);
      disk.free();
      await persistently(() => devices[7]!.directory());
    } finally {
      await rounds.dispose();
      disk.unmount();
    }
  });

  it("refuses for the moment while the disk of its database is full, PostgreSQL", async () => {
    const disk = SmallDisk.mount(160 * MiB, "0755");
    if (disk === null) throw new Error("mounting isn't allowed here");
    const cluster = Cluster.started({ parent: disk.path });
    const rounds = await Rounds.started(cluster);
    try {
      await rounds.round(chance, async () => undefined);
      // Their bindings need more pages than there are.
      const bound = (await rounds.devices(60)).map((device) => ({ device, instance: new TestInstance() }));
      disk.fill(0);
      await rounds.fillDatabase();
      const refused = await Promise.all(bound.map(({ device, instance }) => device.register(instance)));
      for (const { status } of refused) assert.ok(status === 503 || status === 200, `${status}`);
      assert.ok(refused.some(({ status }) => status === 503));
      disk.free();
      cluster.revive();
      for (const { device, instance } of bound)
        assert.equal((await persistently(() => device.register(instance))).status, 200);
    } finally {
      await rounds.dispose();
      cluster.remove();
      disk.unmount();
    }
  });

  for (const kind of KINDS)
    it(`keeps every binding when its clock jumps by an hour and back, ${kind}`, async () => {
      const clock = new JumpingClock({ start: Date.now() });
      const service = await TestService.started({ kind, clock });
      try {
        const ada = await service.member("Ada");
        const [device, other] = [await service.device(ada), await service.device(ada)];
        const instance = new TestInstance();
        assert.equal((await device.register(instance)).status, 200);
        for (const jump of [HOUR_MS, -2 * HOUR_MS, HOUR_MS]) {
          const proof = device.registration(instance);
          clock.skew += jump;
          // A proof by the right time is refused as malformed, never as if the device were retired.
          assert.equal((await device.post("/v1/connect/instances", proof)).status, 400);
          const { status, body } = await other.directory();
          assert.equal(status, 200);
          assert.deepEqual(
            body.instances.map((entry: { device_id: string }) => entry.device_id),
            [device.id],
          );
          // What a machine registers whose clock jumps as well counts after each jump.
          const route = { public_origin: `https://at${clock.now()}.example` };
          const renewed = await device.register(instance, route);
          assert.equal(renewed.status, 200, JSON.stringify(renewed.body));
          assert.equal(renewed.body.instances[0].public_origin, route.public_origin);
        }
        service.clock.advance(1);
        assert.equal((await device.register(instance)).status, 200);
        assert.equal((await other.register(new TestInstance())).status, 200);
      } finally {
        await service.dispose();
      }
    });

  for (const kind of KINDS) {
    it(`goes on from yesterday's backup, ${kind}`, async () => {
      const cluster = kind === "postgres" ? Cluster.started() : null;
      const database = cluster?.database() ?? null;
      const service = await TestService.started({ kind, database });
      const { folder } = service.settings;
      const backup = join(folder, "backup");
      try {
        const members = await insertMembers(service.store.db, 1);
        const ports = [service.settings.port];
        const enter = async (count: number) =>
          insertDevices(service.store.db, { service, ports }, members, count);
        const devices = await enter(3);
        const instances = devices.map(() => new TestInstance());
        for (const [index, device] of devices.entries())
          assert.equal((await device.register(instances[index]!)).status, 200);
        if (cluster === null) {
          const { store, settings, clock } = service;
          new Operator({ store, settings, clock, random: new RealRandom() }).backup(backup);
        } else cluster.dump(database!);

        // The day after the backup: one is retired and its instance bound anew, one is renewed.
        service.clock.advance(24 * HOUR_MS);
        const [late] = await enter(1);
        await devices[0]!.post("/v1/device/disable", {});
        assert.equal((await late!.register(instances[0]!)).status, 200);
        assert.equal((await devices[1]!.register(instances[1]!)).status, 200);

        await service.stop();
        if (cluster === null) restore(service, backup);
        else cluster.restore(database!);
        await service.start();

        // Devices of the backup go on by themselves. What came after it has to be linked again.
        for (const [index, device] of devices.entries())
          assert.equal((await device.register(instances[index]!)).status, 200);
        assert.equal((await late!.directory()).status, 401);
        const { body } = await devices[0]!.directory();
        assert.deepEqual(
          new Set(body.instances.map((entry: { device_id: string }) => entry.device_id)),
          new Set(devices.map(({ id }) => id)),
        );
      } finally {
        await service.dispose();
        rmSync(folder, { recursive: true, force: true });
        cluster?.remove();
      }
    });

    it(`lets nothing that was ended come back with a backup, ${kind}`, async () => {
      verifies("EXT-024", "EXT-027");
      const cluster = kind === "postgres" ? Cluster.started() : null;
      const database = cluster?.database() ?? null;
      const service = await TestService.started({ kind, database });
      const { folder } = service.settings;
      const backup = join(folder, "backup");
      const people: GroupInstance[] = [];
      const operator = () => {
        const { store, settings, clock } = service;
        return new Operator({ store, settings, clock, random: new RealRandom() });
      };
      try {
        for (const name of ["Ann", "Ben"])
          people.push(await GroupInstance.of(service, await service.member(name)));
        const [ann, ben] = people as [GroupInstance, GroupInstance];
        const ended = await ann.connect("g1", ben, "g2");
        const replaced = await ann.connect("g3", ben, "g4");
        await ann.invite(ann.select("g5"), ben);
        const [rejected] = await ben.invitations();
        if (cluster === null) operator().backup(backup);
        else cluster.dump(database!);

        // After the backup.
        await ann.member.submit(`/connect/${ended}/disconnect`, `/connect/${ended}/disconnect`, {});
        await ben.member.submit("/connect", `/connect/invitations/${rejected}/reject`, {});
        assert.deepEqual(
          (await ben.links()).map(({ id }) => id),
          [replaced],
        );
        await service.stop();
        if (cluster === null) restore(service, backup);
        else cluster.restore(database!);
        await service.start();

        // That is why the operator ends everything: the service can't know better.
        assert.equal((await ben.links()).length, 2);
        assert.deepEqual(await ben.invitations(), [rejected]);
        // An instance whose Group was replaced since says so by itself.
        await ann.device.post("/v1/connect/groups", { invalidated: [replaced] });
        assert.deepEqual(
          (await ben.links()).map(({ id }) => id),
          [ended],
        );
        assert.deepEqual(await operator().endConnections(), { connections: 1, invitations: 1 });
        for (const one of people) assert.deepEqual(await one.links(), []);
        assert.deepEqual(await ben.invitations(), []);
        assert.match((await ben.member.get("/connect")).body as string, /ended by the operator/u);
        assert.equal((await ben.accept(rejected!, ben.select("g6"))).status, 403);
        await ann.connect("g1", ben, "g2");
        assert.equal((await ben.links()).length, 1);
      } finally {
        await Promise.all(people.map((one) => one.close()));
        await service.dispose();
        rmSync(folder, { recursive: true, force: true });
        cluster?.remove();
      }
    });
  }
});

/** Puts a backup of the embedded database in the place of a stopped service's own. */
function restore({ settings }: TestService, backup: string): void {
  const restored = join(settings.folder, "restored");
  mkdirSync(restored);
  copyFileSync(backup, join(restored, "account.sqlite"));
  copyFileSync(join(settings.folder, "account.key"), join(restored, "account.key"));
  Object.assign(settings, { folder: restored });
}
