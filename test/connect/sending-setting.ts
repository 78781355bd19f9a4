/**
 * What tests of the sending half share: two Homes with real ledgers and files, the real receiver at the other end, and between them a wire
 * that does what the test says. Bindings are injected; time is in the test's hand.
 */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type {
  AuthorityCondition,
  ConnectAuthority,
  Grant,
  GrantState,
  PairQuery,
} from "../../daemon/connect/authority.ts";
import { requestDigest } from "../../daemon/connect/digests.ts";
import { Receiver } from "../../daemon/connect/receiver.ts";
import { Connect } from "../../daemon/connect/room.ts";
import { signStatement } from "../../daemon/connect/statements.ts";
import type { PeerOutcome, PeerRequest, PeerRoute, PeerTransport } from "../../daemon/connect/transport.ts";
import { InstanceIdentity } from "../../daemon/home/identity.ts";
import type { Files, OpenFile, OpenMode, SyncDone } from "../../daemon/platform/files.ts";
import { RealFiles } from "../../daemon/platform/real-files.ts";
import { RealRandom } from "../../daemon/platform/real-random.ts";
import type { LedgerEvent } from "../../shared/events.ts";
import type { Caller } from "../../shared/operations/caller.ts";
import type { ArgumentsOf, ResultOf } from "../../shared/operations/registry.ts";
import type { OutboxRecord } from "../../shared/wire/outbox.ts";
import {
  ConnectPeerEnvelope,
  type ConnectPeerOperation,
  ConnectPeerResponse,
} from "../../shared/wire/peer.ts";
import { responseStatement } from "../../shared/wire/signing.ts";
import { ManualClock } from "../messaging/manual-clock.ts";
import { TestHome, USER } from "../messaging/setting.ts";
import { SimulatedFiles } from "../simulation/files.ts";

export type Way = "account" | "external" | "direct";
export const SECOND = 1000;
export const MINUTE = 60 * SECOND;

const IDS = {
  account: null,
  external: "11111111-2222-4333-8444-555555555555",
  direct: "direct-11111111-2222-4333-8444-555555555555",
};

/** An authority that grants what the test says. */
export class InjectedAuthority implements ConnectAuthority {
  readonly kind: Way;
  grants: Grant[] = [];
  state: GrantState["state"] = "granted";
  readonly #listeners = new Set<() => void>();

  constructor(kind: Way) {
    this.kind = kind;
  }

  forPair(query: PairQuery): GrantState | null {
    const found = this.grants.find((grant) => fits(grant, query));
    return found === undefined ? null : this.#stateOf(found);
  }

  forConnection(
    connection_id: string | null,
    query: PairQuery,
    devices: { local: string; remote: string },
  ): GrantState {
    const found = this.grants.find(
      (grant) =>
        grant.connection_id === connection_id &&
        fits(grant, query) &&
        grant.local.device_id === devices.local &&
        grant.remote.device_id === devices.remote,
    );
    return found === undefined ? { state: "gone", reason: "It was revoked." } : this.#stateOf(found);
  }

  discover(local: { group_id: string; generation: string } | null): Grant[] {
    if (this.state !== "granted") return [];
    return this.grants.filter(
      ({ pair }) => local === null || pair === null || pair.local_group_id === local.group_id,
    );
  }

  condition(): AuthorityCondition {
    const ready = this.state === "granted";
    return {
      status: ready ? "ready" : "unavailable",
      error: null,
      checked_at: null,
      expires_at: null,
    };
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  changed(): void {
    for (const listener of this.#listeners) listener();
  }

  #stateOf(grant: Grant): GrantState {
    if (this.state === "granted") return { state: "granted", grant };
    return { state: this.state, reason: `The test says ${this.state}.` };
  }
}

function fits({ remote, pair }: Grant, query: PairQuery): boolean {
  if (remote.instance_id !== query.remote_instance_id) return false;
  return (
    pair === null ||
    (pair.local_group_id === query.local_group_id &&
      pair.local_generation === query.local_generation &&
      pair.remote_group_id === query.remote_group_id)
  );
}

export type Seen = {
  op: ConnectPeerOperation["op"];
  bytes: string;
  request: PeerRequest;
  at: number;
  to: string;
};

/** What the wire does with a request: carries it, loses it or its answer, or answers by itself. */
export type Wire = (
  request: PeerRequest,
  carry: () => Promise<PeerOutcome>,
  to: string,
) => Promise<PeerOutcome> | PeerOutcome;

export const UP: Wire = (_request, carry) => carry();
export const DOWN: Wire = () => ({ kind: "refused", reason: "connection refused" });

/** Both ends' transport. */
export class MemoryTransport implements PeerTransport {
  readonly #clock: ManualClock;
  readonly #receivers: Map<string, () => Receiver>;
  readonly #listeners = new Set<(instance_id: string) => void>();
  readonly seen: Seen[] = [];
  wire: Wire = UP;
  /** Requests under way, by target. */
  readonly open = new Map<string, number>();
  mostOpen = 0;

  constructor(clock: ManualClock, receivers: Map<string, () => Receiver>) {
    this.#clock = clock;
    this.#receivers = receivers;
  }

  async request(
    route: PeerRoute,
    request: PeerRequest,
    deadline: number,
    signal: AbortSignal,
  ): Promise<PeerOutcome> {
    const bytes = JSON.stringify(request);
    const to = route.instance_id;
    this.seen.push({ op: request.operation.op, bytes, request, at: this.#clock.now(), to });
    this.open.set(to, (this.open.get(to) ?? 0) + 1);
    this.mostOpen = Math.max(
      this.mostOpen,
      [...this.open.values()].reduce((sum, count) => sum + count, 0),
    );
    const carry = async (): Promise<PeerOutcome> => {
      const receiver = this.#receivers.get(to);
      if (receiver === undefined) return { kind: "refused", reason: "nobody there" };
      const arrival =
        route.via === "direct"
          ? {
              via: "direct" as const,
              connection_id: route.connection_id,
              instance_id: request.proof.source_instance_id,
            }
          : { via: "web" as const };
      try {
        const response = await receiver().receive(ConnectPeerEnvelope.parse(JSON.parse(bytes)), arrival);
        return {
          kind: "answered",
          response: ConnectPeerResponse.parse(JSON.parse(JSON.stringify(response))),
        };
      } catch {
        return { kind: "uncertain", reason: "it isn't signed" };
      }
    };
    let stop = (): void => {};
    try {
      return await new Promise<PeerOutcome>((resolve) => {
        const late = (): void => resolve({ kind: "timed_out", reason: "no answer in time" });
        const timer = this.#clock.after(deadline - this.#clock.monotonic(), late);
        signal.addEventListener("abort", late);
        stop = () => signal.removeEventListener("abort", late);
        void Promise.resolve(this.wire(request, carry, to)).then((outcome) => {
          timer.cancel();
          resolve(outcome);
        });
      });
    } finally {
      stop();
      this.open.set(to, this.open.get(to)! - 1);
    }
  }

  onReachable(listener: (instance_id: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  reachable(instance_id: string): void {
    for (const listener of this.#listeners) listener(instance_id);
  }

  ops(op?: ConnectPeerOperation["op"]): Seen[] {
    return this.seen
      .filter((one) => op === undefined || one.op === op)
      .filter((one) => op !== undefined || one.op !== "catalog");
  }
}

/** One daemon: its Home, what sends and what receives. */
export class Side {
  home!: TestHome;
  connect!: Connect;
  receiver!: Receiver;
  group_id = "";
  readonly name: string;
  readonly identity: InstanceIdentity;
  readonly authority: InjectedAuthority;
  readonly transport: MemoryTransport;
  readonly #clock: ManualClock;

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
      files: files ?? new WatchedFiles(),
      join: async (parts) => {
        const { messaging, registry, log, clock } = parts;
        const { identity } = this;
        this.connect = await Connect.open({ ...parts, identity, rooms: messaging });
        messaging.useRemote(this.connect.remote);
        this.connect.add(this.authority, this.transport);
        const { authorities } = this.connect;
        this.receiver = new Receiver({ clock, log, identity, registry, rooms: messaging, authorities });
        return this.connect.handlers();
      },
    });
    return this;
  }

  start(): void {
    this.connect.start();
  }

  async close(): Promise<void> {
    await this.receiver.close();
    await this.connect.close();
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

  actor(actor_id: string): Caller & { kind: "actor" } {
    return this.home.actor(this.group_id, actor_id);
  }

  events(kind?: string): LedgerEvent[] {
    const { ledger } = this.group;
    const all = ledger.readMany(Array.from({ length: ledger.count }, (_, at) => at));
    return kind === undefined ? all : all.filter((event) => event.kind === kind);
  }

  receipts(): LedgerEvent[] {
    return this.events("chat.cross_group_receipt");
  }

  messages(): LedgerEvent[] {
    return this.events("chat.message");
  }

  notices(): LedgerEvent[] {
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

  async delivery(event_id: string) {
    return (await this.home.status(this.group_id, event_id)).connect_delivery;
  }
}

/** A Group "here" and one "there", connected in one way, with the Actors ann, ben here and bob, cat there. */
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
    const receivers = new Map<string, () => Receiver>();
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

  /** Until so many fates are known and their records gone; a second passes whenever nothing else moves. */
  async ended(side: Side, count = 1): Promise<LedgerEvent[]> {
    await this.eventually(() => side.receipts().length >= count && side.connect.outbox.size === 0);
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
      await side.connect.close();
      await side.home.remove();
    }
  }
}

/** The disk, and how much of it somebody waits for. */
class WatchedFiles extends RealFiles {
  static waiting = 0;

  override open(path: string, mode: OpenMode): OpenFile {
    const file = super.open(path, mode);
    const sync = file.sync.bind(file);
    file.sync = (done, alone) => sync(watched(done), alone);
    return file;
  }

  override syncDir(path: string, done: SyncDone): void {
    super.syncDir(path, watched(done));
  }
}

function watched(done: SyncDone): SyncDone {
  WatchedFiles.waiting += 1;
  return (error) => {
    WatchedFiles.waiting -= 1;
    done(error);
  };
}

/** Everything that is ready has run, and nobody waits for the disk: only time and the wire's answers are left. */
export async function rest(): Promise<void> {
  for (let quiet = 0; quiet < 10; quiet += 1) {
    await new Promise((resolve) => setImmediate(resolve));
    if (WatchedFiles.waiting > 0) quiet = -1;
  }
}

/** Until something that needs no time becomes true. */
export async function until(holds: () => boolean): Promise<void> {
  const patience = performance.now() + 60_000;
  while (!holds()) {
    if (performance.now() > patience) assert.fail("it never came to be");
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function catalogOf(side: Side, other: Side) {
  const found = side.connect
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

/** An answer as the other side would sign it, or somebody else. */
export function signed(
  signer: InstanceIdentity,
  request: PeerRequest,
  result: ConnectPeerResponse["result"],
): PeerOutcome {
  const response = signStatement(responseStatement, signer, {
    request_id: request.proof.request_id,
    request_sha256: requestDigest(request.proof),
    result,
  });
  return { kind: "answered", response };
}
