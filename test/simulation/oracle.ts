/**
 * What has to hold after every step, watched from outside: in the ledgers as they stand, and by
 * what people were told.
 */
import type { EventOf, LedgerEvent, MessageEvent, SourceEvent } from "../../shared/events.ts";
import { LIMITS } from "../../shared/limits.ts";
import type { ConnectMessage } from "../../shared/wire/v1/message.ts";
import { uuidKey } from "../../shared/wire/v1/uuid.ts";
import { AccountOracle } from "./account-oracle.ts";
import { ConnectionEnds } from "./connection-ends.ts";
import type { SimulatedDaemon } from "./daemon.ts";
import {
  type Delivery,
  type GroupEnd,
  hasGeneration,
  isConnected,
  isKeptOff,
  isWeb,
  short,
  type WorkEnd,
} from "./delivery.ts";
import { Generations } from "./generations.ts";
import { type Health, wayOf } from "./health.ts";
import { SERVICE, type SimulatedService } from "./service.ts";
import type { World } from "./world.ts";

export interface Violation {
  invariant: string;
  what: string;
}

/** A Group's ledger as far as it was seen. */
interface Watched {
  daemon: SimulatedDaemon;
  group_id: string;
  generation: string;
  ids: string[];
  /** The run whose ledger was compared with `ids`. */
  run: object | null;
}

const MINUTE = 60_000;
const LOOK_MS = 20_000;
/** Detecting a dead channel, the longest backoff, and as much again. */
const STARVED_MS = 4 * MINUTE;

type Data = Record<string, unknown>;

export class Oracle {
  readonly #world: World;
  readonly #daemons: readonly SimulatedDaemon[];
  readonly violations: Violation[] = [];
  /** Deliveries whose records were destroyed: nobody can say more of them. */
  readonly lost = new Set<string>();
  readonly deliveries = new Map<string, Delivery>();
  /** Messages that no source has, of somebody who uses what a machine was granted. */
  readonly #forged = new Map<string, Delivery>();
  /** What is expected of the account service's answers. */
  readonly accounts: AccountOracle;
  readonly #ends: ConnectionEnds;
  /** Those that haven't ended. */
  readonly #open = new Map<string, Delivery>();
  /** By open delivery: when a Direct record was last seen to keep its connection off. */
  readonly #keptOffAt = new Map<string, number>();
  readonly #watched = new Map<string, Watched>();
  /** By the open ledgers: what was seen of them at the last look. */
  readonly #looked = new WeakMap<object, Watched>();
  readonly #receipts = new Set<string>();
  /** Deliveries whose target has said in its ledger that they never came. */
  readonly #keptOut = new Set<string>();
  /** By the sender's key: the delivery that it was answered with. */
  readonly #byClient = new Map<string, string>();
  readonly #generations: Generations;
  readonly #health: Health;
  #starvationDue = 0;

  constructor(
    world: World,
    daemons: readonly SimulatedDaemon[],
    { health, service }: { health: Health; service: SimulatedService | null },
  ) {
    this.#world = world;
    this.#daemons = daemons;
    this.#health = health;
    this.#ends = new ConnectionEnds(daemons);
    this.#generations = new Generations(world);
    const violate = this.violate.bind(this);
    this.accounts = new AccountOracle(world, daemons, { service, violate });
  }

  /** Everything that was accepted has ended. */
  get isQuiet(): boolean {
    return this.#open.size === 0;
  }

  violate(invariant: string, what: string): void {
    this.violations.push({ invariant, what });
    this.#world.tell(`VIOLATION of "${invariant}": ${what}`);
  }

  /** Everything that is new since the last look. */
  look(): void {
    for (const daemon of this.#daemons) {
      const { run } = daemon;
      if (run === null || run.services === null) continue;
      for (const { group_id: groupId, record, ledger } of run.services.groups.registry.list()) {
        const before = this.#looked.get(ledger);
        if (before?.generation === record.generation && before.ids.length === ledger.count) continue;
        this.#follow(daemon, groupId, record.generation);
        const watched = this.#watch(daemon, groupId, record.generation);
        this.#looked.set(ledger, watched);
        const isFirstLook = watched.run !== run;
        if (isFirstLook) {
          this.#compare(watched, ledger.readMany(range(0, ledger.count)));
          watched.run = run;
        }
        for (const event of ledger.readMany(range(watched.ids.length, ledger.count))) {
          watched.ids.push(event.id);
          this.#see(watched, event, isFirstLook ? this.#writtenAt(daemon, event) : this.#world.time);
        }
      }
      this.#checkBounds(daemon);
    }
    if (this.#world.time < this.#starvationDue) return;
    this.#starvationDue = this.#world.time + LOOK_MS;
    this.#checkStarvation();
    this.accounts.checkRefused();
  }

  /** A Group that was reset stays reset. */
  #follow(daemon: SimulatedDaemon, groupId: string, generation: string): void {
    if (this.#generations.follow(groupId, generation)) return;
    this.violate(
      "what was recorded stays",
      `${groupId} on ${daemon.name} is again what it was before a reset`,
    );
  }

  /** What waits for a peer that has been well for long has ended. */
  #checkStarvation(): void {
    for (const delivery of this.#open.values()) {
      const { id, kind, status, since, source, target, devices, connection_id: connectionId } = delivery;
      if (kind === "cancel" || status !== null || this.lost.has(id)) continue;
      const one = this.#daemons.find(({ instance_id: instanceId }) => instanceId === source.instance_id)!;
      const other = this.#daemons.find(({ instance_id: instanceId }) => instanceId === target.instance_id)!;
      if (isKeptOff(other, delivery)) {
        this.#keptOffAt.set(id, this.#world.time);
        continue;
      }
      if (this.#world.time - since < STARVED_MS) continue;
      const ways = isWeb(connectionId)
        ? [SERVICE, ...[one, other].map(({ name }) => wayOf(name, SERVICE))]
        : [];
      const well = this.#health.since(one.name, other.name, wayOf(one.name, other.name), ...ways);
      if (well === null) continue;
      const free = isWeb(connectionId)
        ? Math.max(
            well,
            this.#keptOffAt.get(id) ?? 0,
            this.#generations.forgottenAt(target.group_id, this.#openedBeforeReset(other, target.group_id)),
          )
        : well;
      if (this.#world.time - free < STARVED_MS) continue;
      if (isWeb(connectionId) && !(hasGeneration(one, source) && hasGeneration(other, target))) continue;
      if (!isConnected(one, connectionId, devices) || !isConnected(other, connectionId, devices)) continue;
      const progress = one.services?.outbound.outbox.byDelivery(id)?.progress;
      this.violate(
        "no healthy peer starves",
        `${short(id)} from ${one.name} to ${other.name}: ${JSON.stringify(progress ?? null)}`,
      );
    }
  }

  /**
   * True time at which a Group was opened whose reset was still to come by the clock at that time,
   * because it was made by one that was ahead; null for any other.
   */
  #openedBeforeReset({ services, startedAt, wall }: SimulatedDaemon, groupId: string): number | null {
    const reset = services?.messaging.find(groupId)?.resetAt ?? null;
    if (reset === null) return null;
    const { time, now } = this.#world;
    return Date.parse(reset) > now - (time - startedAt) + wall.offset ? startedAt : null;
  }

  #watch(daemon: SimulatedDaemon, groupId: string, generation: string): Watched {
    const key = `${groupId} ${generation}`;
    let watched = this.#watched.get(key);
    if (watched === undefined) {
      watched = { daemon, group_id: groupId, generation, ids: [], run: null };
      this.#watched.set(key, watched);
    }
    return watched;
  }

  /** What somebody could see once is there after every crash, at its place. */
  #compare({ daemon, group_id: groupId, ids }: Watched, events: readonly LedgerEvent[]): void {
    for (const [at, id] of ids.entries()) {
      if (events[at]?.id === id) continue;
      this.violate(
        "what was recorded stays",
        `event ${at} of ${groupId} on ${daemon.name} is gone after a restart (${events.length} of ${ids.length} are left)`,
      );
      return;
    }
  }

  /**
   * True time by which an event was written that is there at the first look at a run: what it found
   * was written before the end of the run that wrote it.
   */
  #writtenAt({ ends, wall }: SimulatedDaemon, { ts }: LedgerEvent): number {
    const { time, now } = this.#world;
    const stamped = time + Date.parse(ts) - (now + wall.offset);
    return ends.find((end) => stamped <= end) ?? time;
  }

  #see(watched: Watched, event: LedgerEvent, writtenAt: number): void {
    if (event.kind === "chat.message") {
      const { connect_message: message, dst_instance_id: dstInstanceId } = event.data;
      if (message === undefined) return;
      if (dstInstanceId !== undefined) this.#recorded(watched, event, message);
      else this.#admitted(watched, event, message, writtenAt);
    } else if (event.kind === "chat.reply_request.cancelled") {
      const { connect_cancel: control } = event.data;
      if (control === undefined) return;
      if (event.by.startsWith("connect:")) this.#withdrawn(watched, event, control, writtenAt);
      else this.#recorded(watched, event, control);
    } else if (event.kind === "chat.cross_group_receipt" && event.data.operation === "connect") {
      this.#receipt(watched, event);
    }
  }

  /** Outgoing work in its Group, whose generation is the one of its connection. */
  #recorded(watched: Watched, event: SourceEvent, work: Data): void {
    const delivery = this.#source(watched, event, work);
    const end = this.#ends.at(delivery, watched.daemon);
    if (end === null || end.group_id === "" || end.generation === watched.generation) return;
    this.violate(
      "never from another generation",
      `${short(delivery.id)} of ${watched.group_id} on ${watched.daemon.name}`,
    );
  }

  /** Outgoing work, as its source event or the answer to its sender shows it. */
  #source({ generation }: Pick<Watched, "generation">, event: SourceEvent, work: Data): Delivery {
    const id = uuidKey(String(work.delivery_id));
    const present = this.deliveries.get(id);
    if (present !== undefined) return present;
    const delivery = this.#deliveryOf({ kind: event.kind, source_event_id: event.id, generation }, work);
    this.deliveries.set(id, delivery);
    this.#open.set(id, delivery);
    // While it is there to be asked.
    if (delivery.connection_id !== null) this.#ends.of(delivery.connection_id);
    return delivery;
  }

  /** Somebody sends this for a machine, whose ledger doesn't have it. */
  forged(message: ConnectMessage): void {
    const { source_event_id: sourceEventId } = message;
    const kind = "chat.message" as const;
    const delivery = this.#deliveryOf({ kind, source_event_id: sourceEventId, generation: "" }, message);
    this.#forged.set(delivery.id, delivery);
  }

  #deliveryOf(
    {
      kind,
      source_event_id: sourceEventId,
      generation,
    }: { kind: SourceEvent["kind"]; source_event_id: string; generation: string },
    work: Data,
  ): Delivery {
    const { source, target } = work as { source: WorkEnd; target: WorkEnd };
    return {
      id: uuidKey(String(work.delivery_id)),
      kind: kind === "chat.message" ? "message" : "cancel",
      connection_id: typeof work.connection_id === "string" ? work.connection_id : null,
      devices: [source, target].flatMap(({ device_id: deviceId }) => deviceId ?? []),
      source: { instance_id: source.instance_id, group_id: source.group_id, generation },
      source_event_id: sourceEventId,
      target: {
        instance_id: target.instance_id,
        group_id: target.group_id,
        generation: this.#generations.now(target.group_id),
      },
      recipients: (work.recipients as Delivery["recipients"] | undefined) ?? [],
      created_at: Date.parse(String(work.created_at)),
      deliver_before: Date.parse(String(work.deliver_before)),
      acknowledged: false,
      original: typeof work.original_delivery_id === "string" ? uuidKey(work.original_delivery_id) : null,
      status: null,
      endedAt: null,
      admitted: null,
      since: this.#world.time,
    };
  }

  /** Somebody was told that their message is queued, perhaps again. */
  acknowledged(daemon: SimulatedDaemon, groupId: string, client: string, event: MessageEvent): void {
    const generation = daemon.services?.groups.registry.find(groupId)?.record.generation ?? "";
    const { connect_message: connectMessage } = event.data;
    if (connectMessage === undefined) return;
    const delivery = this.#source({ generation }, event, connectMessage);
    delivery.acknowledged = true;
    // A reset forgets what was said before it: the same again is new then.
    const said = `${client} in ${generation}`;
    const before = this.#byClient.get(said);
    if (before !== undefined && before !== delivery.id)
      this.violate("a retry is the same message", `${said} became ${before} and ${delivery.id}`);
    this.#byClient.set(said, delivery.id);
  }

  #admitted(
    { daemon, group_id: groupId, generation }: Watched,
    event: MessageEvent,
    message: Data,
    writtenAt: number,
  ): void {
    const id = uuidKey(String(message.delivery_id));
    const what = `${short(id)} in ${groupId} on ${daemon.name}`;
    const delivery = this.deliveries.get(id) ?? this.#forged.get(id);
    if (delivery === undefined) {
      this.#fromNowhere(message, what);
      return;
    }
    if (delivery.admitted !== null) this.violate("never twice", `${what}, again as ${event.id}`);
    delivery.admitted = event.id;
    if (delivery.status === "failed") this.violate("failed implies that it never arrived", what);
    if (this.#keptOut.has(id)) this.violate("what is withdrawn isn't newly admitted", what);
    const end = this.#ends.at(delivery, daemon);
    if (end !== null && (end.group_id !== groupId || end.generation !== generation))
      this.violate("never to another generation", `${what}, of generation ${generation}`);
    if (end === null) this.#checkReset(delivery, what);
    if (isKeptOff(daemon, delivery) && this.accounts.areClocksRightSince(delivery.since))
      this.violate("a Direct record keeps other connections off", what);
    this.accounts.checkRevoked(delivery, { what, writtenAt });
    const actors = daemon.services?.groups.registry.find(groupId)?.record.actors ?? [];
    for (const one of delivery.recipients) {
      if (one.id === "user") continue;
      if (!actors.some((actor) => actor.id === one.id && actor.generation === one.generation))
        this.violate("never to another generation", `${what}, for ${one.id} who was replaced`);
    }
    if (Date.parse(event.ts) > delivery.deliver_before)
      this.violate("nothing arrives after its window", `${what} at ${event.ts}`);
    this.#world.tell(`${what} arrived`);
  }

  /** Within an account a message is for the Group as it was when it was written. */
  #checkReset(delivery: Delivery, what: string): void {
    const before = this.#generations.beforeReset(delivery);
    if (before !== null && this.accounts.areClocksRightSince(delivery.since))
      this.violate("never to another generation", `${what}, written ${before / 1000} s before its reset`);
  }

  /** A source Group that was deleted or reset in the same moment can't be asked any more. */
  #fromNowhere(work: Data, what: string): void {
    const { instance_id: instanceId, group_id: groupId } = work.source as GroupEnd;
    const source = this.#daemons.find((one) => one.instance_id === instanceId);
    const group = source?.services?.groups.registry.find(groupId);
    if (group === undefined) return;
    const first = group.ledger.count > 0 ? group.ledger.read(0) : undefined;
    if (first?.kind === "group.reset" && first.ts >= String(work.created_at)) return;
    this.violate("nothing comes from nowhere", `${what} was never seen at its source`);
  }

  #withdrawn(
    { daemon, group_id: groupId }: Watched,
    event: EventOf<"chat.reply_request.cancelled">,
    cancellation: Data,
    writtenAt: number,
  ): void {
    const id = uuidKey(String(cancellation.delivery_id));
    const original = uuidKey(String(cancellation.original_delivery_id));
    const delivery = this.deliveries.get(id);
    const what = `the withdrawal ${short(id)} of ${short(original)} in ${groupId} on ${daemon.name}`;
    if (delivery === undefined) {
      this.#fromNowhere(cancellation, what);
      return;
    }
    if (delivery.admitted !== null) this.violate("never twice", what);
    delivery.admitted = event.id;
    this.accounts.checkRevoked(delivery, { what, writtenAt });
    if (delivery.status === "failed") this.violate("failed implies that it never arrived", what);
    if (event.data.not_delivered === true) {
      const came = this.deliveries.get(original);
      if (came !== undefined && came.admitted !== null && came.target.group_id === groupId)
        this.violate("a withdrawal tells the truth", `${what} says that it never came`);
      this.#keptOut.add(original);
    }
    this.#world.tell(`${what} arrived`);
  }

  #receipt({ daemon, group_id: groupId }: Watched, event: EventOf<"chat.cross_group_receipt">): void {
    const {
      source_event_id: sourceEventId,
      delivery_id: deliveryId,
      status,
      remote_event_id: remoteEventId,
    } = event.data;
    const id = uuidKey(deliveryId);
    const what = `${short(id)} of ${groupId} on ${daemon.name}`;
    if (this.#receipts.has(sourceEventId)) this.violate("one end", `${what} has two receipts`);
    this.#receipts.add(sourceEventId);
    const delivery = this.deliveries.get(id);
    if (delivery === undefined) {
      this.violate("nothing comes from nowhere", `the receipt of ${what} has no source event`);
      return;
    }
    delivery.status = status;
    this.#open.delete(id);
    this.#keptOffAt.delete(id);
    delivery.endedAt = this.#world.time;
    this.#world.tell(`${what} is ${status}`);
    // A target that was deleted in the same moment can't be asked any more.
    const target = this.#daemons.find((one) => one.instance_id === delivery.target.instance_id)!;
    const end = this.#ends.at(delivery, target) ?? delivery.target;
    const isThere = end.group_id === delivery.target.group_id && hasGeneration(target, end);
    if (status === "sent" && delivery.admitted !== remoteEventId && (isThere || delivery.admitted !== null)) {
      this.violate("sent implies that it is recorded there", `${what}: ${String(delivery.admitted)}`);
    }
    if (status === "failed" && delivery.admitted !== null)
      this.violate("failed implies that it never arrived", what);
  }

  /** LIM-035 to LIM-038. */
  #checkBounds(daemon: SimulatedDaemon): void {
    const outbox = daemon.services?.outbound.outbox;
    if (outbox === undefined || outbox.size <= LIMITS.outbox.recordsPerPeer) return;
    const perPeer = new Map<string, number>();
    for (const { peer } of outbox.entries()) perPeer.set(peer, (perPeer.get(peer) ?? 0) + 1);
    if (Math.max(...perPeer.values()) > LIMITS.outbox.recordsPerPeer)
      this.violate("bounds are kept", `${daemon.name} has ${outbox.size} records`);
  }

  /** Nothing is under way any more: everything that was accepted has come to its end. */
  async finish(): Promise<void> {
    for (const delivery of this.deliveries.values()) {
      const daemon = this.#daemons.find(
        ({ instance_id: instanceId }) => instanceId === delivery.source.instance_id,
      )!;
      if (delivery.status !== null || this.lost.has(delivery.id)) continue;
      // By a clock that was wrong when it was accepted its time isn't over.
      if (delivery.deliver_before > this.#world.now + daemon.wall.offset) continue;
      // With its Group its story ends.
      if (this.#daemons.every((one) => !hasGeneration(one, delivery.source))) continue;
      this.violate(
        "everything accepted comes to an end",
        `${short(delivery.id)} of ${delivery.source.group_id} on ${daemon.name}, ${delivery.acknowledged ? "acknowledged" : "recorded"}`,
      );
    }
    for (const daemon of this.#daemons) {
      const { services } = daemon;
      if (services === null) {
        this.violate("a daemon starts again", `${daemon.name}: ${daemon.log.at(-1)}`);
        continue;
      }
      const now = this.#world.now + daemon.wall.offset;
      const late = [...services.outbound.outbox.entries()].filter(
        ({ deliver_before: deliverBefore }) => deliverBefore < now,
      );
      if (late.length > 0)
        this.violate("everything accepted comes to an end", `${daemon.name} keeps ${late.length} records`);
      for (const { group_id: groupId, ledger, record } of services.groups.registry.list()) {
        const { problems } = await ledger.verify();
        for (const problem of problems)
          this.violate("the projections are the ledger's", `${daemon.name} ${problem}`);
        await this.#checkStory(daemon, { group_id: groupId, generation: record.generation });
      }
    }
    if (this.#daemons.every(({ services }) => services !== null)) await this.accounts.checkLinks();
  }

  /** What people are shown of their messages is what the receipts say. */
  async #checkStory(
    daemon: SimulatedDaemon,
    { group_id: groupId, generation }: { group_id: string; generation: string },
  ): Promise<void> {
    const own = [...this.deliveries.values()].filter(
      ({ id, source, kind }) => source.generation === generation && kind === "message" && !this.lost.has(id),
    );
    for (let at = 0; at < own.length; at += 50) {
      const part = own.slice(at, at + 50);
      const eventIds = part.map(({ source_event_id: sourceEventId }) => sourceEventId);
      const outcome = await daemon.call("ledger_statuses", { group_id: groupId, event_ids: eventIds });
      if (outcome.kind !== "done") {
        this.violate("the ledger tells the same story", `${daemon.name} doesn't say how its messages stand`);
        return;
      }
      for (const { id, status, source_event_id: sourceEventId } of part) {
        if (this.#open.has(id)) continue;
        const shown = outcome.result.statuses[sourceEventId]?.connect_delivery?.state;
        if (shown !== (status ?? "unconfirmed"))
          this.violate("the ledger tells the same story", `${short(id)} is ${status} and shown as ${shown}`);
      }
    }
  }
}

function range(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from) }, (_, at) => from + at);
}
