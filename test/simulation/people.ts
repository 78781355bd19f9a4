/** People and agents of a simulation: they connect Groups, write, answer, withdraw, replace Actors, and try again what wasn't answered. */
import type { Caller } from "../../shared/operations/caller.ts";
import type { ArgumentsOf } from "../../shared/operations/registry.ts";
import type { Chance } from "./chance.ts";
import { type SimulatedDaemon, USER } from "./daemon.ts";
import { type Oracle, short } from "./oracle.ts";
import type { World } from "./world.ts";

const ACTORS = ["ann", "ben", "cat"];
const CATALOG_MS = 130_000;

interface Pair {
  one: SimulatedDaemon;
  other: SimulatedDaemon;
}

export class People {
  readonly #world: World;
  readonly #chance: Chance;
  readonly #daemons: readonly SimulatedDaemon[];
  readonly #oracle: Oracle;
  readonly #pairs: Pair[] = [];
  /** Each daemon's Group. */
  readonly groups = new Map<SimulatedDaemon, string>();
  #messages = 0;
  #end = 0;

  constructor(world: World, chance: Chance, daemons: readonly SimulatedDaemon[], oracle: Oracle) {
    this.#world = world;
    this.#chance = chance;
    this.#daemons = daemons;
    this.#oracle = oracle;
  }

  /** Machines are set up and connected, without trouble. */
  async begin(): Promise<void> {
    for (const [at, daemon] of this.#daemons.entries()) {
      await daemon.begin();
      await daemon.start();
      const group = await this.#done(daemon, "group_create", { title: `Group ${daemon.name}` });
      this.groups.set(daemon, group.group_id);
      for (const actor_id of ACTORS) {
        await this.#done(daemon, "actor_add", { group_id: group.group_id, actor_id });
      }
      const listener = { bind: daemon.address, address: daemon.address };
      await this.#done(daemon, "connect_direct_configure", { listener });
      if (at === 0) continue;
      this.#pairs.push({ one: this.#chance.one(this.#daemons.slice(0, at)), other: daemon });
    }
    for (const pair of this.#pairs) await this.connect(pair);
    await this.#wait(CATALOG_MS);
  }

  start(end: number): void {
    this.#end = end;
    this.#next();
  }

  #next(): void {
    this.#world.after(this.#chance.duration(50, 60_000), () => {
      if (this.#world.time >= this.#end) return;
      this.#act();
      this.#next();
    });
  }

  #act(): void {
    const pair = this.#chance.one(this.#pairs);
    const [from, to] = this.#chance.happens(0.5) ? [pair.one, pair.other] : [pair.other, pair.one];
    const number = this.#chance.happens(0.1) ? this.#chance.between(2, 12) : 1;
    for (let sent = 0; sent < number; sent += 1) void this.#send(from, to);
  }

  /** Writes to the other side, again until somebody says that it is queued or refused. */
  async #send(from: SimulatedDaemon, to: SimulatedDaemon): Promise<void> {
    this.#messages += 1;
    const client_id = `message-${this.#messages}`;
    const group_id = this.groups.get(from)!;
    const message: ArgumentsOf<"connect_send"> = {
      group_id,
      instance_id: to.instance_id,
      target_group_id: this.groups.get(to)!,
      client_id,
      text: "x".repeat(this.#chance.duration(1, 2000)),
      message_mode: this.#chance.weighted({ send: 2, request_reply: 1 }),
      to: this.#chance.happens(0.5) ? [] : [this.#chance.one(ACTORS)],
    };
    for (let attempt = 0; attempt < 5; attempt += 1) {
      const outcome = await from.call("connect_send", message, USER);
      if (outcome.kind === "done") {
        const { source_event } = outcome.result;
        this.#world.tell(
          `${from.name} queues ${short(outcome.result.delivery_id)} for ${to.name} (${client_id})`,
        );
        this.#oracle.acknowledged(from, group_id, client_id, source_event);
        if (this.#chance.happens(0.9)) return;
      } else if (outcome.kind === "refused") {
        this.#world.tell(`${from.name} can't send ${client_id}: ${outcome.refusal.code}`);
        if (!outcome.refusal.code.startsWith("storage")) return;
      }
      await this.#wait(this.#chance.duration(10, 30_000));
    }
  }

  /** Invites, joins and approves. */
  async connect({ one, other }: Pair): Promise<void> {
    const host = { group_id: this.groups.get(one)! };
    const joiner = { group_id: this.groups.get(other)! };
    const { invitation } = await this.#done(one, "connect_direct_invite", host);
    const { id } = await this.#done(other, "connect_direct_join", { ...joiner, invitation });
    for (let attempt = 0; attempt < 20; attempt += 1) {
      await this.#wait(1000);
      const { relations } = await this.#done(one, "connect_direct_status", host);
      if (relations.find((relation) => relation.id === id)?.state === "pending") break;
    }
    await this.#done(one, "connect_direct_approve", { ...host, id });
    const end = (daemon: SimulatedDaemon, { group_id }: { group_id: string }) => ({
      instance_id: daemon.instance_id,
      group_id,
      generation: daemon.rooms!.registry.get(group_id).record.generation,
    });
    this.#oracle.connections.set(id, { host: end(one, host), joiner: end(other, joiner) });
    this.#world.tell(`${one.name} and ${other.name} are connected`);
  }

  #wait(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      this.#world.after(milliseconds, resolve);
    });
  }

  /** The result of what must succeed. */
  async #done<Name extends Parameters<SimulatedDaemon["call"]>[0]>(
    daemon: SimulatedDaemon,
    name: Name,
    input: ArgumentsOf<Name>,
    as: Caller = USER,
  ) {
    const outcome = await daemon.call(name, input, as);
    if (outcome.kind === "done") return outcome.result;
    throw new Error(
      `${name} of ${daemon.name}: ${outcome.kind === "lost" ? "lost" : outcome.refusal.message}`,
    );
  }
}
