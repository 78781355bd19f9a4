/**
 * Rounds against a service on one store: many devices register one key, others their own, some are
 * retired in between, and something fails. Clients only ever try again. What the store has to have
 * afterwards is compared after each round, over all rounds.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { openStore, type Store } from "../../account/store/store.ts";
import { freePort } from "../../demo/free-port.ts";
import type { Chance } from "../support/chance.ts";
import { until } from "../support/until.ts";
import { insertDevices, insertMembers } from "./inserted.ts";
import type { Cluster } from "./postgres.ts";
import { type Answer, LinesOfLog, type TestDevice, TestInstance } from "./service.ts";
import { ServiceProcess } from "./service-process.ts";

const RETRY_MS = 20;
const PATIENCE_MS = 120_000;
/** Devices that register one key at once, and devices with a key of their own. */
const CONTESTING = 12;
const OWN = 4;
const RETIRED = 2;

/** Tries again until there is an answer that isn't "not now", as a daemon does. */
export async function persistently(act: () => Promise<Answer>): Promise<Answer> {
  for (const deadline = performance.now() + PATIENCE_MS; ; ) {
    const answer = await act().catch(() => null);
    if (answer !== null && answer.status < 500) return answer;
    if (answer !== null) assert.equal(answer.status, 503, JSON.stringify(answer.body));
    assert.ok(performance.now() < deadline, "the service never recovered");
    await delay(RETRY_MS);
  }
}

export class Rounds {
  readonly services: readonly ServiceProcess[];
  readonly #store: Store;
  readonly #members: readonly string[];
  /** The active bindings: which device has an instance. */
  readonly #expected = new Map<string, string>();

  private constructor(services: readonly ServiceProcess[], store: Store, members: readonly string[]) {
    this.services = services;
    this.#store = store;
    this.#members = members;
  }

  /** One process on its own database, or two on one of the cluster. */
  static async started(cluster: Cluster | null, folder?: string): Promise<Rounds> {
    const database = cluster?.database() ?? null;
    const options = { port: await freePort(), database, ...(folder !== undefined && { folder }) };
    const first = new ServiceProcess(options);
    await first.start();
    const services = [first];
    if (database !== null) {
      const second = new ServiceProcess({ port: await freePort(), database, beside: first });
      await second.start();
      services.push(second);
    }
    const store = await openStore({ folder: first.folder, database, log: new LinesOfLog() });
    return new Rounds(services, store, await insertMembers(store.db, 4));
  }

  devices(count: number): Promise<TestDevice[]> {
    const ports = this.services.map(({ port }) => port);
    return insertDevices(this.#store.db, { service: this.services[0]!, ports }, this.#members, count);
  }

  /** One round, in which `fail` happens after some of the answers. */
  async round(chance: Chance, fail: () => Promise<void>): Promise<void> {
    const contested = new TestInstance();
    const devices = await this.devices(CONTESTING + OWN);
    const own = devices.splice(0, OWN).map((device) => ({ device, instance: new TestInstance() }));
    let answers = 0;
    const done = async (act: () => Promise<Answer>): Promise<Answer> => {
      const answer = await persistently(act);
      answers += 1;
      return answer;
    };
    const contesting = devices.map((device) => done(() => device.register(contested)));
    const registering = own.map(({ device, instance }) => done(() => device.register(instance)));
    const retiring = own
      .slice(0, RETIRED)
      .map(({ device }) => done(() => device.post("/v1/device/disable", {})));
    const wanted = chance.below(CONTESTING);
    await until("some answers", () => answers >= wanted);
    await fail();

    const outcomes = (await Promise.all(contesting)).map(({ status }) => status);
    assert.deepEqual(
      outcomes.toSorted((a, b) => a - b),
      [200, ...Array.from({ length: CONTESTING - 1 }, () => 409)],
    );
    this.#expected.set(contested.instance_id, devices[outcomes.indexOf(200)]!.id);
    const registered = await Promise.all(registering);
    for (const { status } of await Promise.all(retiring)) assert.equal(status, 200);
    for (const [index, { device, instance }] of own.entries()) {
      const { status } = registered[index]!;
      // It registered before it was retired, or not any more.
      if (index < RETIRED) assert.ok(status === 200 || status === 403, `${status}`);
      else {
        assert.equal(status, 200);
        this.#expected.set(instance.instance_id, device.id);
      }
    }
    await this.check();
  }

  /** Writes into the database until it refuses. */
  async fillDatabase(): Promise<void> {
    const value = "x".repeat(64 * 1024);
    for (let name = 0; ; name += 1) {
      const values = { name: `filler ${name}`, value: `${value}${name}` };
      try {
        await this.#store.db.insertInto("settings").values(values).execute();
      } catch {
        return;
      }
    }
  }

  /** No binding is lost or doubled, and no retired device has one. */
  async check(): Promise<void> {
    const rows = await until("the store", () =>
      this.#store.db
        .selectFrom("connect_instances")
        .innerJoin("devices", "devices.id", "connect_instances.device_id")
        .select(["connect_instances.instance_id", "connect_instances.device_id", "devices.retired_at"])
        .where("connect_instances.retired_at", "is", null)
        .execute()
        // Its connection may be from before the failure.
        .catch(() => null),
    );
    assert.deepEqual(
      rows.filter((row) => row.retired_at !== null),
      [],
    );
    assert.deepEqual(
      rows.map((row) => `${row.instance_id} ${row.device_id}`).sort(),
      [...this.#expected].map(([instance, device]) => `${instance} ${device}`).sort(),
    );
  }

  /** What the services logged as unexpected, for failures. */
  unexpected(): string[] {
    return this.services.flatMap(({ folder }) =>
      readFileSync(join(folder, "account.log"), "utf8")
        .split("\n")
        .filter((line) => line.includes("unexpected")),
    );
  }

  async dispose(): Promise<void> {
    await this.#store.close();
    for (const service of this.services) await service.dispose();
  }
}
