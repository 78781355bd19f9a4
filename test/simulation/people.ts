/**
 * People and agents of a simulation: they connect Groups, write, answer, withdraw, replace Actors,
 * and try again what wasn't answered.
 */
import type { Caller } from "../../shared/operations/caller.ts";
import type { ArgumentsOf, OperationName, ResultOf } from "../../shared/operations/registry.ts";
import type { Chance } from "../support/chance.ts";
import { USER } from "../support/services.ts";
import type { Accounts } from "./accounts.ts";
import type { SimulatedDaemon } from "./daemon.ts";
import { type Delivery, short } from "./delivery.ts";
import { type Health, wayOf } from "./health.ts";
import type { Oracle } from "./oracle.ts";
import type { World } from "./world.ts";

const ACTORS = ["ann", "ben", "cat"];
const CATALOG_MS = 130_000;
const MINUTE = 60_000;

interface Pair {
  one: SimulatedDaemon;
  other: SimulatedDaemon;
  kind: "direct" | "account" | "external";
  isConnecting: boolean;
}

interface Parts {
  daemons: readonly SimulatedDaemon[];
  oracle: Oracle;
  health: Health;
  /** Null when there is no account service. */
  accounts: Accounts | null;
}

/** What they do, by weight; each seed has its own habits. */
const HABITS = {
  send: 20,
  burst: 1,
  flood: 0.1,
  files: 2,
  answer: 6,
  withdraw: 3,
  chat: 2,
  replaceActor: 1,
  disableActor: 1,
  resetGroup: 0.5,
  deleteGroup: 0.3,
  revoke: 0.5,
  connect: 1,
};

/** Where there are accounts, what ends something is done more often, and mended again. */
const HABITS_WITH_ACCOUNTS = { resetGroup: 2, revoke: 2, connect: 4 };

/** What goes wrong just when people need it. */
export interface Troubles {
  /** These two don't reach each other for a while. */
  apart: (one: SimulatedDaemon, other: SimulatedDaemon) => void;
  /** Often nobody can ask the account service for a while. */
  unasked: () => void;
}

/** A flood is more than a peer's share of the outbox. */
const FLOOD = 140;

export class People {
  readonly #world: World;
  readonly #chance: Chance;
  readonly #daemons: readonly SimulatedDaemon[];
  readonly #oracle: Oracle;
  readonly #health: Health;
  readonly #accounts: Accounts | null;
  readonly #pairs: Pair[] = [];
  readonly #habits: Record<keyof typeof HABITS, number>;
  /** Mean milliseconds between two deeds. */
  readonly #pace: number;
  /** Each daemon's Group. */
  readonly #groups = new Map<SimulatedDaemon, string>();
  #messages = 0;
  #end = 0;
  /** Null until there may be any. */
  troubles: Troubles | null = null;

  constructor(world: World, chance: Chance, { daemons, oracle, health, accounts }: Parts) {
    this.#world = world;
    this.#chance = chance;
    this.#daemons = daemons;
    this.#oracle = oracle;
    this.#health = health;
    this.#accounts = accounts;
    const likes = (weight: number): number => weight * chance.one([0, 0.5, 1, 1, 4]);
    this.#habits = Object.fromEntries(
      Object.entries(HABITS).map(([habit, weight]) => [habit, likes(weight)]),
    ) as typeof HABITS;
    this.#habits.send = HABITS.send;
    this.#habits.connect = HABITS.connect;
    this.#pace = chance.one([5000, 20_000, 60_000]);
    if (accounts !== null) {
      Object.assign(this.#habits, HABITS_WITH_ACCOUNTS);
      this.#pace = Math.min(this.#pace, 20_000);
    }
  }

  /** Machines are set up and connected, without trouble. */
  async begin(): Promise<void> {
    for (const [at, daemon] of this.#daemons.entries()) {
      await daemon.begin();
      await daemon.start();
      await this.#newGroup(daemon);
      const listener = { bind: daemon.address, address: daemon.address };
      await this.#must(daemon, "connect_direct_configure", { listener });
      await this.#join(daemon);
      if (at === 0) continue;
      const one = this.#chance.one(this.#daemons.slice(0, at));
      this.#pairs.push({ one, other: daemon, kind: this.#kindOf(one, daemon), isConnecting: false });
    }
    for (const pair of this.#pairs) {
      // The other one may reject an invitation.
      for (let attempt = 1; !(await this.#connect(pair)); attempt += 1)
        if (attempt === 9)
          throw new Error(`${pair.one.name} and ${pair.other.name} aren't connected in the beginning`);
    }
    await this.#wait(CATALOG_MS);
  }

  async #join(daemon: SimulatedDaemon): Promise<void> {
    this.#accounts?.add(daemon);
    if ((await this.#accounts?.link(daemon)) === false)
      throw new Error(`${daemon.name} isn't linked in the beginning`);
  }

  #kindOf(one: SimulatedDaemon, other: SimulatedDaemon): Pair["kind"] {
    if (this.#accounts === null || this.#chance.happens(0.2)) return "direct";
    return this.#accounts.areOfOne(one, other) ? "account" : "external";
  }

  start(end: number): void {
    this.#end = end;
    this.#next();
  }

  #next(): void {
    this.#world.after(this.#chance.duration(50, this.#pace * 5), () => {
      if (this.#world.time >= this.#end) return;
      void this.#act();
      this.#next();
    });
  }

  async #act(): Promise<void> {
    const pair = this.#chance.one(this.#pairs);
    const [from, to] = this.#chance.happens(0.5) ? [pair.one, pair.other] : [pair.other, pair.one];
    const deed = this.#chance.weighted(this.#habits);
    switch (deed) {
      case "send":
        return this.#send(from, to);
      case "burst":
      case "flood": {
        const count = deed === "flood" ? FLOOD : this.#chance.between(2, 12);
        await Promise.all(Array.from({ length: count }, () => this.#send(from, to)));
        return;
      }
      case "files":
        return this.#send(from, to, true);
      case "answer":
        return this.#answer(from);
      case "withdraw":
        return this.#withdraw(from);
      case "chat":
        return void (await from.call("send", { group_id: this.#groupOf(from), text: "hello" }));
      case "replaceActor":
        return this.#replaceActor(from);
      case "disableActor":
        return this.#disableActor(from);
      case "resetGroup":
        return this.#resetGroup(from);
      case "deleteGroup":
        return this.#deleteGroup(from);
      case "revoke":
        return this.#revoke(from, pair.kind);
      case "connect":
        return this.#connectAgain(pair);
    }
  }

  /** Writes to the other side, again until somebody says that it is queued or refused. */
  async #send(from: SimulatedDaemon, to: SimulatedDaemon, withFile = false): Promise<void> {
    this.#messages += 1;
    const clientId = `message-${this.#messages}`;
    const groupId = this.#groupOf(from);
    const message: ArgumentsOf<"connect_send"> = {
      group_id: groupId,
      instance_id: to.instance_id,
      target_group_id: this.#groupOf(to),
      client_id: clientId,
      text: "x".repeat(this.#chance.duration(1, 2000)),
      message_mode: this.#chance.weighted({ send: 2, request_reply: 2, mail: 1 }),
      to: this.#chance.happens(0.5) ? [] : [this.#chance.one(ACTORS)],
    };
    if (withFile) {
      const sha256 = await this.#upload(from, groupId);
      if (sha256 === null) return;
      message.attachments = [{ sha256, name: "a file" }];
    }
    for (let attempt = 0; attempt < 5; attempt += 1) {
      const outcome = await from.call("connect_send", message, USER);
      if (outcome.kind === "done") {
        const { source_event: sourceEvent, delivery_id: deliveryId } = outcome.result;
        this.#world.tell(`${from.name} queues ${short(deliveryId)} for ${to.name} (${clientId})`);
        this.#oracle.acknowledged(from, groupId, clientId, sourceEvent);
        if (this.#chance.happens(0.9)) return;
      } else if (outcome.kind === "refused") {
        this.#world.tell(`${from.name} can't send ${clientId}: ${outcome.refusal.code}`);
        if (!outcome.refusal.code.startsWith("storage")) return;
      }
      await this.#wait(this.#chance.duration(10, 30_000));
    }
  }

  async #upload(daemon: SimulatedDaemon, groupId: string): Promise<string | null> {
    const { services } = daemon;
    if (services === null) return null;
    const bytes = this.#chance.bytes(this.#chance.duration(1, 20_000));
    try {
      return (await services.messaging.upload(groupId, pieces(bytes), FILE)).sha256;
    } catch {
      return null;
    }
  }

  /** Replies to something that came, or follows up what arrived. */
  async #answer(daemon: SimulatedDaemon): Promise<void> {
    const groupId = this.#groupOf(daemon);
    const messages = this.#messagesOf(daemon);
    if (messages.length === 0) return;
    const { id, event_id: eventId } = this.#chance.one(messages);
    this.#messages += 1;
    const clientId = `reply-${this.#messages}`;
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const outcome = await daemon.call("reply", {
        group_id: groupId,
        event_id: eventId,
        text: "indeed",
        client_id: clientId,
      });
      if (outcome.kind === "done") {
        this.#world.tell(`${daemon.name} answers ${short(id)} (${clientId})`);
        this.#oracle.acknowledged(daemon, groupId, clientId, outcome.result.event);
        if (this.#chance.happens(0.9)) return;
      } else if (outcome.kind === "refused" && !outcome.refusal.code.startsWith("storage")) return;
      await this.#wait(this.#chance.duration(10, 30_000));
    }
  }

  async #withdraw(daemon: SimulatedDaemon): Promise<void> {
    const messages = this.#messagesOf(daemon);
    if (messages.length === 0) return;
    const { id, event_id: eventId } = this.#chance.one(messages.slice(-10));
    const outcome = await daemon.call("reply_request_cancel", {
      group_id: this.#groupOf(daemon),
      event_id: eventId,
    });
    if (outcome.kind === "done") this.#world.tell(`${daemon.name} withdraws ${short(id)}`);
  }

  /** Messages between instances that the daemon's Group has, with their events there. */
  #messagesOf(daemon: SimulatedDaemon): { id: string; event_id: string }[] {
    const groupId = this.#groupOf(daemon);
    const ledger = daemon.services?.groups.registry.find(groupId)?.ledger;
    if (ledger === undefined) return [];
    const eventOf = ({
      kind,
      source,
      target,
      source_event_id: sourceEventId,
      admitted,
    }: Delivery): string | null => {
      if (kind !== "message") return null;
      if (source.group_id === groupId) return sourceEventId;
      return target.group_id === groupId ? admitted : null;
    };
    return [...this.#oracle.deliveries.values()].flatMap((delivery) => {
      const eventId = eventOf(delivery);
      const isThere = eventId !== null && ledger.ordinalOf(eventId) !== undefined;
      return isThere ? [{ id: delivery.id, event_id: eventId }] : [];
    });
  }

  async #replaceActor(daemon: SimulatedDaemon): Promise<void> {
    const actor = { group_id: this.#groupOf(daemon), actor_id: this.#chance.one(ACTORS) };
    this.#world.tell(`${daemon.name} replaces ${actor.actor_id}`);
    await daemon.call("actor_remove", actor);
    await this.#wait(this.#chance.duration(1, MINUTE));
    await daemon.call("actor_add", actor);
  }

  async #disableActor(daemon: SimulatedDaemon): Promise<void> {
    const actor = { group_id: this.#groupOf(daemon), actor_id: this.#chance.one(ACTORS) };
    await daemon.call("actor_update", { ...actor, enabled: false });
    await this.#wait(this.#chance.duration(1, 5 * MINUTE));
    await daemon.call("actor_update", { ...actor, enabled: true });
  }

  async #resetGroup(daemon: SimulatedDaemon): Promise<void> {
    const groupId = this.#groupOf(daemon);
    const others = this.#accounts === null ? [] : this.#connectedTo(daemon);
    for (const other of others) {
      this.troubles?.apart(daemon, other);
      void this.#send(other, daemon);
    }
    if (others.length > 0) {
      // What was written before a reset arrives after it.
      await this.#wait(this.#chance.between(25_000, MINUTE));
      this.troubles?.unasked();
    }
    this.#world.tell(`${daemon.name} resets its Group`);
    await daemon.call("group_reset", { group_id: groupId, confirm: groupId });
    for (const other of others) {
      void this.#send(other, daemon);
      void this.#send(daemon, other);
    }
  }

  /** Machines whose Groups it is connected to by accounts. */
  #connectedTo(daemon: SimulatedDaemon): SimulatedDaemon[] {
    return this.#pairs.flatMap(({ one, other, kind }) => {
      if (kind === "direct" || (one !== daemon && other !== daemon)) return [];
      return [one === daemon ? other : one];
    });
  }

  async #deleteGroup(daemon: SimulatedDaemon): Promise<void> {
    const groupId = this.#groupOf(daemon);
    this.#world.tell(`${daemon.name} deletes its Group`);
    const outcome = await daemon.call("group_delete", { group_id: groupId, confirm: groupId });
    if (outcome.kind === "done") await this.#newGroup(daemon).catch(() => undefined);
  }

  async #newGroup(daemon: SimulatedDaemon): Promise<void> {
    const group = await this.#must(daemon, "group_create", { title: `Group ${daemon.name}` });
    this.#groups.set(daemon, group.group_id);
    for (const actorId of ACTORS) {
      await this.#must(daemon, "actor_add", { group_id: group.group_id, actor_id: actorId });
    }
  }

  async #revoke(daemon: SimulatedDaemon, kind: Pair["kind"]): Promise<void> {
    const groupId = this.#groupOf(daemon);
    if (kind !== "direct") {
      if (this.#chance.happens(0.1)) return this.#accounts!.disable(daemon);
      if (kind === "account" || this.#chance.happens(0.2)) return this.#accounts!.retire(daemon);
      return this.#accounts!.disconnect({ daemon, group_id: groupId });
    }
    const status = await daemon.call("connect_direct_status", { group_id: groupId });
    if (status.kind !== "done" || status.result.relations.length === 0) return;
    const { id } = this.#chance.one(status.result.relations);
    this.#world.tell(`${daemon.name} revokes ${id.slice(7, 15)}`);
    const revoked = await daemon.call("connect_direct_revoke", { group_id: groupId, id });
    if (revoked.kind === "done" && this.#chance.happens(0.5)) {
      await this.#wait(this.#chance.duration(1, 5 * MINUTE));
      await daemon.call("connect_direct_remove", { group_id: groupId, id });
    }
  }

  /** Where two Groups aren't connected any more, people connect them anew. */
  async #connectAgain(pair: Pair): Promise<void> {
    const { one, other } = pair;
    if (pair.isConnecting) return;
    if (pair.kind !== "direct") {
      pair.isConnecting = true;
      await this.#connect(pair);
      pair.isConnecting = false;
      return;
    }
    const states = await Promise.all([one, other].map((daemon) => this.#relationsOf(daemon)));
    const isLive = (at: number, peer: SimulatedDaemon): boolean =>
      states[at]!.some(
        ({ remote, state }) =>
          remote?.instance_id === peer.instance_id &&
          remote.group_id === this.#groupOf(peer) &&
          (state === "active" || state === "pending"),
      );
    if (isLive(0, other) && isLive(1, one)) return;
    pair.isConnecting = true;
    try {
      // What one side alone still has is given up.
      for (const daemon of [one, other]) {
        for (const { id, remote } of await this.#relationsOf(daemon)) {
          const isIts = remote?.instance_id === (daemon === one ? other : one).instance_id;
          const relation = { group_id: this.#groupOf(daemon), id };
          if (isIts) await daemon.call("connect_direct_revoke", relation);
          await daemon.call("connect_direct_remove", relation);
        }
      }
      await this.#connect(pair);
    } catch (error) {
      this.#world.tell(`${one.name} and ${other.name} aren't connected: ${(error as Error).message}`);
    }
    pair.isConnecting = false;
  }

  async #relationsOf(daemon: SimulatedDaemon) {
    const outcome = await daemon.call("connect_direct_status", { group_id: this.#groupOf(daemon) });
    return outcome.kind === "done" ? outcome.result.relations : [];
  }

  /** Whether the two can write to each other then. */
  async #connect(pair: Pair): Promise<boolean> {
    const { one, other, kind } = pair;
    if (kind === "direct") {
      await this.#connectDirectly(pair);
      return true;
    }
    const accounts = this.#accounts!;
    for (const daemon of [one, other]) if (!(await accounts.link(daemon))) return false;
    if (kind === "account") return true;
    const ends = [one, other].map((daemon) => ({ daemon, group_id: this.#groupOf(daemon) }));
    const [inviting, accepting] = this.#chance.happens(0.5) ? ends : ends.reverse();
    if (accounts.isConnected(inviting!, accepting!) && accounts.isConnected(accepting!, inviting!))
      return true;
    return accounts.connect(inviting!, accepting!);
  }

  /** Invites, joins and approves. */
  async #connectDirectly({ one, other }: Pair): Promise<void> {
    const end = this.#health.begin(wayOf(one.name, other.name));
    try {
      const host = { group_id: this.#groupOf(one) };
      const joiner = { group_id: this.#groupOf(other) };
      const { invitation } = await this.#must(one, "connect_direct_invite", host);
      const { id } = await this.#must(other, "connect_direct_join", { ...joiner, invitation });
      for (let attempt = 0; attempt < 20; attempt += 1) {
        await this.#wait(1000);
        const { relations } = await this.#must(one, "connect_direct_status", host);
        if (relations.find((relation) => relation.id === id)?.state === "pending") break;
      }
      await this.#must(one, "connect_direct_approve", { ...host, id });
      this.#world.tell(`${one.name} and ${other.name} are connected`);
    } finally {
      end();
    }
  }

  #groupOf(daemon: SimulatedDaemon): string {
    return this.#groups.get(daemon)!;
  }

  #wait(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      this.#world.after(milliseconds, resolve);
    });
  }

  /** The result of what has to succeed. */
  async #must<Name extends OperationName>(
    daemon: SimulatedDaemon,
    name: Name,
    input: ArgumentsOf<Name>,
    as: Caller = USER,
  ): Promise<ResultOf<Name>> {
    const outcome = await daemon.call(name, input, as);
    if (outcome.kind === "done") return outcome.result;
    throw new Error(`${name} of ${daemon.name}: ${outcome.kind === "lost" ? "lost" : outcome.refusal.code}`);
  }
}

const FILE = { name: "a file", mime_type: "application/octet-stream" };

async function* pieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
