import assert from "node:assert/strict";
import { InstanceIdentity } from "../../daemon/home/identity.ts";
import { Authorities } from "../../daemon/peers/authorities.ts";
import { Outbox } from "../../daemon/peers/outbox/outbox.ts";
import { Scheduler } from "../../daemon/peers/outbox/scheduler.ts";
import type { Step } from "../../daemon/peers/outbox/worker.ts";
import { RealRandom } from "../../platform/real-random.ts";
import type { MessageEvent } from "../../shared/events.ts";
import { ConnectMessage } from "../../shared/wire/v1/message.ts";
import { MemoryLog } from "../operations/support.ts";
import { verifies } from "../requirements.ts";
import { SimulatedFiles } from "../simulation/files.ts";
import { chatMessage } from "../support/events.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { PLAIN_MESSAGE } from "../support/plain-message.ts";
import { InjectedAuthority } from "./injected-authority.ts";
import { MINUTE, rest, SECOND } from "./sending-setting.ts";

const GROUP = "g_00000000000a";
const CONNECTION = "direct-11111111-2222-4333-8444-555555555555";
const ANOTHER = "direct-66666666-7777-4888-9999-aaaaaaaaaaaa";

async function newInstance(): Promise<string> {
  return (await InstanceIdentity.obtain(new SimulatedFiles(), new RealRandom(), "/identity")).instance_id;
}

/** A scheduler whose worker does what the test says, over an outbox in memory. */
class Setting {
  readonly clock = new ManualClock();
  readonly files = new SimulatedFiles();
  readonly random = new RealRandom();
  readonly log = new MemoryLog();
  readonly authority = new InjectedAuthority("direct");
  readonly reachable: ((instanceId: string) => void)[] = [];
  /** Deliveries in the order in which they were begun. */
  readonly begun: { peer: string; delivery_id: string; at: number }[] = [];
  outbox!: Outbox;
  scheduler!: Scheduler;
  knows = true;
  work: (peer: string, deliveryId: string) => Promise<Step> | Step = () => done();
  running = 0;
  most = 0;
  #source = "";

  static async open(): Promise<Setting> {
    const setting = new Setting();
    setting.#source = await newInstance();
    setting.files.mkdir("/home");
    await setting.restart();
    return setting;
  }

  async restart(): Promise<void> {
    const { clock, log, files } = this;
    this.outbox = await Outbox.open({ files, log, directory: "/home/outbox" }, () => null);
    const authorities = new Authorities({ find: () => undefined });
    const onReachable = (listener: (instanceId: string) => void) => {
      this.reachable.push(listener);
      return () => {};
    };
    const request = () => Promise.reject(new Error("nothing is sent in this setting"));
    authorities.add(this.authority, { request, onReachable });
    const worker = {
      step: async ({
        peer,
        delivery_id: deliveryId,
      }: {
        peer: string;
        delivery_id: string;
      }): Promise<Step> => {
        this.begun.push({ peer, delivery_id: deliveryId, at: clock.now() });
        this.running += 1;
        this.most = Math.max(this.most, this.running);
        const step = await this.work(peer, deliveryId);
        this.running -= 1;
        if (step.kind === "ended") this.outbox.remove(this.outbox.byDelivery(deliveryId)!);
        return step;
      },
    };
    const registry = { knows: () => this.knows };
    this.scheduler = new Scheduler({ clock, log, outbox: this.outbox, worker, authorities, registry });
  }

  async accept(peer: string, connectionId = CONNECTION): Promise<string> {
    const deliveryId = this.random.uuid();
    const eventId = this.random.uuid().replaceAll("-", "");
    const at = (milliseconds: number) => new Date(this.clock.now() + milliseconds).toISOString();
    const message = ConnectMessage.parse({
      connection_id: connectionId,
      delivery_id: deliveryId,
      source: { instance_id: this.#source, group_id: GROUP, title: "" },
      sender: { id: "user", title: "", generation: "", enabled: true, role: null },
      source_event_id: eventId,
      target: { instance_id: peer, group_id: "g_there", title: "" },
      recipients: [{ id: "user", title: "", generation: "", enabled: true, role: null }],
      text: "x",
      ...PLAIN_MESSAGE,
      created_at: at(0),
      deliver_before: at(15 * MINUTE),
      reply_before: at(15 * MINUTE),
    });
    const event: MessageEvent = {
      v: 1,
      id: eventId,
      ts: at(0),
      kind: "chat.message",
      group_id: GROUP,
      scope_key: "",
      by: "user",
      data: chatMessage(),
    };
    await this.outbox.accept({ kind: "message", data: message }, event);
    this.scheduler.wake();
    await rest();
    return deliveryId;
  }

  async pass(milliseconds: number): Promise<void> {
    for (let left = milliseconds; left > 0; left -= SECOND) {
      this.clock.advance(SECOND);
      await rest();
    }
  }
}

const done = (): Step => ({ kind: "ended", answered: true });
const unreachable = (escaped: boolean): Step => ({
  kind: "peer",
  tried: escaped,
  escaped,
  answered: false,
  error: { code: "connect_unreachable", message: "down" },
});

describe("the scheduler", () => {
  let setting: Setting;
  beforeEach(async () => {
    setting = await Setting.open();
    setting.scheduler.start();
  });

  it("works on four records at a time, on one per peer", async () => {
    verifies("LIM-042", "LIM-043");
    setting.work = () => new Promise(() => {});
    const peers = await Promise.all(Array.from({ length: 6 }, newInstance));
    for (const peer of peers) for (let record = 0; record < 3; record += 1) await setting.accept(peer);
    await setting.pass(10 * SECOND);
    assert.equal(setting.most, 4);
    assert.equal(setting.begun.length, 4);
    assert.equal(new Set(setting.begun.map(({ peer }) => peer)).size, 4);
  });

  it("goes on as soon as a record is done, in order of acceptance, without waiting for the scan", async () => {
    verifies("LIM-041");
    const peer = await newInstance();
    const ids: string[] = [];
    let finish = (): void => {};
    setting.work = () => new Promise((resolve) => (finish = () => resolve(done())));
    for (let record = 0; record < 20; record += 1) ids.push(await setting.accept(peer));
    assert.equal(setting.begun.length, 1);
    setting.work = () => done();
    finish();
    await rest();
    assert.deepEqual(
      setting.begun.map(({ delivery_id: deliveryId }) => deliveryId),
      ids,
    );
    assert.equal(setting.outbox.size, 0);
  });

  it("gives every peer its turn, however much the others have", async () => {
    verifies("LIM-046");
    const peers = await Promise.all(Array.from({ length: 6 }, newInstance));
    const finish: (() => void)[] = [];
    setting.work = () => new Promise((resolve) => finish.push(() => resolve(done())));
    for (const peer of peers) for (let record = 0; record < 10; record += 1) await setting.accept(peer);
    const turns = new Map<string, number>();
    for (let turn = 0; turn < 60; turn += 1) {
      await rest();
      finish.shift()?.();
    }
    for (const { peer } of setting.begun.slice(0, 24)) turns.set(peer, (turns.get(peer) ?? 0) + 1);
    assert.equal(turns.size, 6);
    for (const count of turns.values()) assert.ok(count >= 3, JSON.stringify([...turns.values()]));
  });

  it("tries a peer that fails again after 5, 10, 20, 40 and then every 60 seconds", async () => {
    verifies("LIM-044", "OUT-006");
    const peer = await newInstance();
    setting.work = () => unreachable(false);
    await setting.accept(peer);
    await setting.pass(5 * MINUTE);
    const times = setting.begun.map(({ at }) => at);
    const gaps = times.slice(1).map((at, index) => (at - times[index]!) / SECOND);
    assert.deepEqual(gaps.slice(0, 6), [5, 10, 20, 40, 60, 60]);
  });

  it("remembers the wait over a restart", async () => {
    const peer = await newInstance();
    setting.work = () => unreachable(false);
    await setting.accept(peer);
    await setting.pass(16 * SECOND);
    assert.equal(setting.begun.length, 3);
    await setting.scheduler.close();
    await setting.restart();
    setting.scheduler.start();
    await setting.pass(15 * SECOND);
    assert.equal(setting.begun.length, 3);
    await setting.pass(8 * SECOND);
    assert.equal(setting.begun.length, 4);
  });

  it("scans once a second while there are records, and has no timer without any", async () => {
    verifies("LIM-040");
    assert.equal(setting.clock.timers, 0);
    const peer = await newInstance();
    setting.work = () => unreachable(false);
    await setting.accept(peer);
    await rest();
    assert.equal(setting.clock.timers, 1);
    setting.work = () => done();
    // It is due after five seconds, and nothing but the scan finds it.
    await setting.pass(4 * SECOND);
    assert.equal(setting.begun.length, 1);
    await setting.pass(SECOND);
    assert.equal(setting.begun.length, 2);
    assert.equal(setting.outbox.size, 0);
    await setting.pass(SECOND);
    assert.equal(setting.clock.timers, 0);
  });

  it("lets no failing peer or record keep others from their turn", async () => {
    const [bad, good] = [await newInstance(), await newInstance()];
    setting.work = () => unreachable(true);
    const poison = await setting.accept(bad);
    setting.work = (_peer, deliveryId) => (deliveryId === poison ? unreachable(true) : done());
    await setting.pass(6 * SECOND);
    const behind = await setting.accept(bad);
    await setting.accept(good);
    await setting.pass(20 * SECOND);
    assert.ok(setting.begun.some(({ delivery_id: deliveryId }) => deliveryId === behind));
    assert.ok(setting.begun.some(({ peer }) => peer === good));
    assert.equal(setting.outbox.size, 1);
  });

  it("lets a connection without a way to the peer not keep others from theirs", async () => {
    verifies("OUT-006");
    const peer = await newInstance();
    setting.work = () => unreachable(false);
    const stuck = await setting.accept(peer);
    await setting.pass(20 * SECOND);
    setting.work = (_peer, deliveryId) => (deliveryId === stuck ? unreachable(false) : done());
    await setting.accept(peer, ANOTHER);
    assert.equal(setting.outbox.size, 1);
    // Its own backoff goes on.
    await setting.pass(5 * MINUTE);
    const times = setting.begun.filter(({ delivery_id: id }) => id === stuck).map(({ at }) => at);
    const gaps = times.slice(1).map((at, index) => (at - times[index]!) / SECOND);
    assert.deepEqual(gaps.slice(0, 6), [5, 10, 20, 40, 60, 60]);
  });

  it("goes on at once when a way to the peer opens and nothing had left before", async () => {
    const peer = await newInstance();
    setting.work = () => unreachable(false);
    const ids: string[] = [];
    for (let record = 0; record < 3; record += 1) ids.push(await setting.accept(peer));
    await setting.pass(2 * MINUTE);
    setting.work = () => done();
    setting.begun.length = 0;
    for (const open of setting.reachable) open(peer);
    await rest();
    assert.deepEqual(
      setting.begun.map(({ delivery_id: deliveryId }) => deliveryId),
      ids,
    );
  });

  it("ends a record whose time is over although its peer is waited for", async () => {
    const peer = await newInstance();
    setting.work = () => unreachable(false);
    const first = await setting.accept(peer);
    await setting.pass(15 * MINUTE - SECOND);
    setting.work = (_peer, deliveryId) => {
      assert.equal(deliveryId, first);
      return { kind: "ended", answered: false };
    };
    await setting.pass(SECOND);
    await rest();
    assert.equal(setting.outbox.size, 0);
  });

  it("drops the records of a Group that is gone", async () => {
    verifies("OUT-036");
    const peer = await newInstance();
    setting.work = () => unreachable(true);
    await setting.accept(peer);
    await rest();
    setting.knows = false;
    await setting.pass(SECOND);
    assert.equal(setting.outbox.size, 0);
    assert.deepEqual(setting.files.list(`/home/outbox/${peer}`), []);
  });
});
