/**
 * What tests of the sending half share: two Homes with real ledgers and files, the real receiver at
 * the other end, and between them a wire that does what the test says. Bindings are injected; time
 * is in the test's hand.
 */

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { create as createPeers } from "../../daemon/assembly/services/peers.ts";
import type { Receiving } from "../../daemon/assembly/services/receiver.ts";
import { InstanceIdentity } from "../../daemon/home/identity.ts";
import type { Grant } from "../../daemon/peers/authority.ts";
import type { Outbox } from "../../daemon/peers/outbox/outbox.ts";
import type { Peers } from "../../daemon/peers/peers.ts";
import type { PeerReceiver } from "../../daemon/peers/transport.ts";
import type { Files } from "../../platform/files.ts";
import type { ProjectFiles } from "../../platform/project-files.ts";
import { RealRandom } from "../../platform/real-random.ts";
import type { EventKind, EventOf, LedgerEvent, MessageEvent } from "../../shared/events.ts";
import type { Caller } from "../../shared/operations/caller.ts";
import type { ArgumentsOf, ResultOf } from "../../shared/operations/registry.ts";
import type { OutboxRecord } from "../../shared/wire/v1/outbox.ts";
import { TestHome } from "../messaging/setting.ts";
import { SimulatedFiles } from "../simulation/files.ts";
import { ofKind } from "../support/events.ts";
import { FaultyFiles } from "../support/faulty-files.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { USER } from "../support/services.ts";
import { until } from "../support/until.ts";
import { InjectedAuthority, type Way } from "./injected-authority.ts";
import { MemoryTransport } from "./memory-transport.ts";

export const SECOND = 1000;
export const MINUTE = 60 * SECOND;

const IDS = {
  account: null,
  external: "11111111-2222-4333-8444-555555555555",
  direct: "direct-11111111-2222-4333-8444-555555555555",
};

/** One daemon: its Home, what sends and what receives. */
export class Side {
  home!: TestHome;
  group_id = "";
  /** How project directories look, for the next `open`. */
  projects: ProjectFiles | undefined;
  readonly name: string;
  readonly identity: InstanceIdentity;
  readonly authority: InjectedAuthority;
  readonly transport: MemoryTransport;
  readonly files = new FaultyFiles();
  readonly #clock: ManualClock;
  #start: (() => void | Promise<void>) | undefined;

  constructor(parts: {
    name: string;
    identity: InstanceIdentity;
    authority: InjectedAuthority;
    transport: MemoryTransport;
    clock: ManualClock;
  }) {
    this.name = parts.name;
    this.identity = parts.identity;
    this.authority = parts.authority;
    this.transport = parts.transport;
    this.#clock = parts.clock;
  }

  async open(root?: string, files?: Files): Promise<this> {
    this.home = await TestHome.open({
      clock: this.#clock,
      ...(root === undefined ? {} : { root }),
      files: files ?? this.files,
      ...(this.projects === undefined ? {} : { projects: this.projects }),
      identity: this.identity,
      above: {
        only: ["receiver", "peers"],
        instead: {
          peers: async (parts) => {
            parts.outbound.authorities.add(this.authority, this.transport);
            const made = await createPeers(parts);
            this.#start = () => made.start?.();
            return { ...made, start: () => {} };
          },
        },
      },
    });
    return this;
  }

  /** Begins to send. */
  start(): void {
    void this.#start?.();
  }

  get peers(): Peers {
    return this.home.services.peers;
  }

  get outbox(): Outbox {
    return this.home.services.outbound.outbox;
  }

  get receiver(): Receiving {
    return this.home.services.receiver;
  }

  async close(): Promise<void> {
    await this.receiver.close();
    await this.home.close();
  }

  /** Stops and starts the daemon over the same Home. */
  async restart(): Promise<void> {
    await this.close();
    await this.open(this.home.root);
    this.start();
  }

  get instance_id(): string {
    return this.identity.instance_id;
  }

  get group() {
    return this.home.registry.get(this.group_id);
  }

  actor(actorId: string): Caller & { kind: "actor" } {
    return this.home.actor(this.group_id, actorId);
  }

  get all(): LedgerEvent[] {
    const { ledger } = this.group;
    return ledger.readMany(Array.from({ length: ledger.count }, (_, at) => at));
  }

  events<Kind extends EventKind>(kind: Kind): EventOf<Kind>[] {
    return ofKind(this.all, kind);
  }

  receipts(): EventOf<"chat.cross_group_receipt">[] {
    return this.events("chat.cross_group_receipt");
  }

  messages(): MessageEvent[] {
    return this.events("chat.message");
  }

  notices(): EventOf<"system.notify">[] {
    return this.events("system.notify").filter(({ data }) => data.kind === "connect_delivery");
  }

  get outboxPath(): string {
    return join(this.home.root, "state", "connect", "outbox");
  }

  /** Paths of the outbox's files. */
  outboxFiles(): string[] {
    if (!existsSync(this.outboxPath)) return [];
    return readdirSync(this.outboxPath, { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".json"))
      .map((name) => join(this.outboxPath, name));
  }

  records(): OutboxRecord[] {
    return this.outboxFiles().map((path) => JSON.parse(readFileSync(path, "utf8")) as OutboxRecord);
  }

  async delivery(eventId: string) {
    return (await this.home.status(this.group_id, eventId)).connect_delivery;
  }
}

/**
 * A Group "here" and one "there", connected in one way, with the Actors ann, ben here and bob, cat
 * there.
 */
export class Pair {
  readonly clock: ManualClock;
  readonly here: Side;
  readonly there: Side;
  readonly way: Way;
  #key = 0;

  private constructor(clock: ManualClock, here: Side, there: Side, way: Way) {
    this.clock = clock;
    this.here = here;
    this.there = there;
    this.way = way;
  }

  static async open(way: Way = "direct", { learnt = true }: { learnt?: boolean } = {}): Promise<Pair> {
    const clock = new ManualClock();
    const receivers = new Map<string, () => PeerReceiver>();
    const sides: Side[] = [];
    for (const name of ["here", "there"]) {
      const identity = await InstanceIdentity.obtain(new SimulatedFiles(), new RealRandom(), "/identity");
      const transport = new MemoryTransport(clock, receivers);
      const side = new Side({ name, identity, transport, authority: new InjectedAuthority(way), clock });
      receivers.set(identity.instance_id, () => side.receiver);
      sides.push(await side.open());
    }
    const [here, there] = sides as [Side, Side];
    here.group_id = await here.home.group("ann", "ben");
    there.group_id = await there.home.group("bob", "cat");
    const pair = new Pair(clock, here, there, way);
    pair.grant();
    here.start();
    there.start();
    if (learnt) await pair.learn();
    return pair;
  }

  /** The two Groups as they are now. */
  grant(): void {
    this.here.authority.grants = [grantOf(this.way, this.here, this.there)];
    this.there.authority.grants = [grantOf(this.way, this.there, this.here)];
    this.here.authority.changed();
    this.there.authority.changed();
  }

  /** Both sides know each other's Actors. */
  async learn(): Promise<void> {
    for (const [side, other] of [
      [this.here, this.there],
      [this.there, this.here],
    ] as const) {
      const before = side.transport.seen.length;
      await until(() => {
        const found = catalogOf(side, other);
        return found !== null;
      });
      assert.ok(side.transport.seen.length >= before);
      side.transport.seen.length = 0;
    }
  }

  send(
    more: Partial<ArgumentsOf<"connect_send">> = {},
    as: Caller = USER,
  ): Promise<ResultOf<"connect_send">> {
    this.#key += 1;
    return this.here.home.call(
      "connect_send",
      {
        group_id: this.here.group_id,
        instance_id: this.there.instance_id,
        target_group_id: this.there.group_id,
        client_id: `key-${this.#key}`,
        text: "hello",
        ...more,
      },
      { as },
    );
  }

  /**
   * Until so many fates are known and their records gone; a second passes whenever nothing else
   * moves.
   */
  async ended(side: Side, count = 1): Promise<EventOf<"chat.cross_group_receipt">[]> {
    await this.eventually(() => side.receipts().length >= count && side.outbox.size === 0);
    return side.receipts();
  }

  /** Until `holds`, while time goes on. */
  async eventually(holds: () => boolean): Promise<void> {
    for (let turn = 1; turn < 2000; turn += 1) {
      if (holds()) return;
      await rest();
      if (turn % 5 === 0) this.clock.advance(SECOND);
    }
    assert.fail("it never came to be");
  }

  /** Lets time pass in steps, with everything that is ready run in between. */
  async pass(milliseconds: number, step = SECOND): Promise<void> {
    for (let left = milliseconds; left > 0; left -= step) {
      this.clock.advance(Math.min(step, left));
      await rest();
    }
  }

  async close(): Promise<void> {
    for (const side of [this.here, this.there]) {
      await side.receiver.close();
      await side.home.remove();
    }
  }
}

/**
 * Everything that is ready has run, and nobody waits for the disk: only time and the wire's answers
 * are left.
 */
export async function rest(): Promise<void> {
  for (let quiet = 0; quiet < 10; quiet += 1) {
    await new Promise((resolve) => setImmediate(resolve));
    if (FaultyFiles.syncing > 0) quiet = -1;
  }
}

function catalogOf(side: Side, other: Side) {
  const found = side.peers
    .handlers()
    .connect_catalog(
      { group_id: side.group_id, instance_id: other.instance_id, target_group_id: other.group_id, limit: 20 },
      { caller: USER, signal: new AbortController().signal },
    ) as ResultOf<"connect_catalog">;
  return "catalog" in found ? found.catalog : null;
}

export function grantOf(way: Way, local: Side, remote: Side): Grant {
  const isDirect = way === "direct";
  const end = (side: Side) => ({
    instance_id: side.instance_id,
    device_id: isDirect ? "" : `device-${side.name}`,
    public_key: side.identity.public_key,
    client_version: "0.4.40",
    name: `Machine ${side.name}`,
    public_origin: isDirect ? null : `https://${side.name}.example`,
  });
  const remoteEnd = end(remote);
  return {
    authority: way,
    connection_id: IDS[way],
    account_origin: isDirect ? "" : "https://account.example",
    account_id: isDirect ? "" : "account-1",
    local: end(local),
    remote: remoteEnd,
    pair:
      way === "account"
        ? null
        : {
            local_group_id: local.group_id,
            local_generation: local.group.record.generation,
            remote_group_id: remote.group_id,
            remote_generation: remote.group.record.generation,
            remote_title: remote.group.record.title,
          },
    route: isDirect
      ? { via: "direct", connection_id: IDS.direct, instance_id: remote.instance_id }
      : {
          via: "web",
          origin: remoteEnd.public_origin!,
          instance_id: remote.instance_id,
          device_id: remoteEnd.device_id,
          public_key: remoteEnd.public_key,
        },
    transport: local.transport,
  };
}
