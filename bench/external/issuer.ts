/** An account service with members and connections, as the figures of external connections need. */
import { randomUUID } from "node:crypto";
import type { GroupConnectionsTable } from "../../account/store/schema.ts";
import { openStore, type Store } from "../../account/store/store.ts";
import { Service } from "../../demo/service.ts";
import { RealClock } from "../../platform/real-clock.ts";
import { TestBrowser, TestDevice, TestInstance } from "../../test/account/service.ts";
import { requireBundles, SVC } from "../daemon.ts";
import { scratchPath } from "../folder.ts";

export const quiet = { debug() {}, info() {}, warn() {}, error() {} };
export const clock = new RealClock();

/** A member in a browser, with a linked device whose instance is registered. */
export interface Linked {
  browser: TestBrowser;
  member_id: string;
  device: TestDevice;
  instance: TestInstance;
}

/** The service as a process, and its store. */
export class Issuer {
  readonly service: Service;
  readonly store: Store;

  private constructor(service: Service, store: Store) {
    this.service = service;
    this.store = store;
  }

  static async open(): Promise<Issuer> {
    await requireBundles();
    const folder = scratchPath("issuer");
    const service = new Service(SVC, folder);
    await service.open();
    return new Issuer(service, await openStore({ folder, database: null, log: quiet }));
  }

  async close(): Promise<void> {
    await this.store.close();
    await this.service.close();
  }

  get port(): number {
    return Number(new URL(this.service.origin).port);
  }

  /** Signs a member in, and links a device for them. */
  async linked(name: string): Promise<Linked> {
    const browser = new TestBrowser(this.service.origin);
    await browser.submit("/login", "/login/development", { name });
    const device = new TestDevice({ origin: this.service.origin, clock });
    const grant = await device.ask();
    await browser.approve(grant.user_code);
    await device.fetchToken(grant.device_code);
    const instance = new TestInstance();
    const { status, body } = await device.register(instance);
    if (status !== 200) throw new Error(`not registered: ${status} ${JSON.stringify(body)}`);
    return { browser, member_id: body.account_id as string, device, instance };
  }

  /** Connections of as many Groups of `one` with Groups of `other`, written into the store. */
  async connect(one: Linked, other: Linked, count: number, ended: number | null = null): Promise<void> {
    const rows = Array.from({ length: count }, (_, index) => connectionOf(one, other, index, ended));
    await this.store.db.insertInto("group_connections").values(rows).execute();
  }
}

/** The columns of the side that begins, of a connection and of an invitation. */
export function sourceOf({ member_id, device, instance }: Linked, index: number) {
  return {
    source_member: member_id,
    source_device: device.id,
    source_instance: instance.instance_id,
    source_group: `g_${index}`,
    source_generation: "1",
    source_name: "A machine",
    source_title: `Group ${index}`,
  };
}

function connectionOf(
  one: Linked,
  other: Linked,
  index: number,
  ended: number | null,
): GroupConnectionsTable {
  const id = randomUUID();
  return {
    id,
    pair: id,
    ...sourceOf(one, index),
    target_member: other.member_id,
    target_device: other.device.id,
    target_instance: other.instance.instance_id,
    target_group: `h_${index}`,
    target_generation: "1",
    target_name: "Another machine",
    target_title: `Other Group ${index}`,
    created_at: clock.now(),
    closed_at: ended,
    end_reason: ended === null ? null : "ended",
    ended_by: ended === null ? null : one.member_id,
  };
}
