/** Everything that goes wrong, and its end. */
import type { Chance } from "../support/chance.ts";
import type { SimulatedDaemon } from "./daemon.ts";
import { type Health, wayOf } from "./health.ts";
import { type SimulatedNetwork, USUAL_DELAY_MS } from "./network.ts";
import type { Oracle } from "./oracle.ts";
import type { Troubles } from "./people.ts";
import { SERVICE, type ServiceTrouble, type SimulatedService } from "./service.ts";
import { originOf, type SimulatedWeb } from "./web.ts";
import type { Wall, World } from "./world.ts";

interface Parts {
  daemons: readonly SimulatedDaemon[];
  network: SimulatedNetwork;
  health: Health;
  /** Hears of records that are destroyed, of clocks that are wrong, and of backups. */
  oracle: Oracle;
  /** Null when there are none. */
  accounts: { service: SimulatedService; web: SimulatedWeb } | null;
}

const KINDS = {
  kill: 3,
  power: 3,
  cut: 3,
  ambush: 2,
  swallow: 1,
  stop: 1,
  full: 1,
  failing: 1,
  jump: 1,
  corrupt: 0.5,
  slowNetwork: 1,
  slowDisk: 1,
  copies: 1,
};

/** Where there is an account service, beside those. */
const ACCOUNT_KINDS = { service: 4, serviceJump: 1, serviceCut: 2, restore: 1, mislead: 1 };

const SERVICE_TROUBLES: Readonly<Record<ServiceTrouble, number>> = {
  down: 3,
  silent: 2,
  slow: 2,
  garbage: 2,
  redirect: 1,
  other: 1,
};

type Kind = keyof typeof KINDS | keyof typeof ACCOUNT_KINDS;

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const OUTBOX = "/home/state/connect/outbox/";
/** Clocks that nobody complains about are off by so much at most. */
const SKEW_MS = 14 * SECOND;

export class FaultInjector implements Troubles {
  readonly #world: World;
  readonly #chance: Chance;
  readonly #daemons: readonly SimulatedDaemon[];
  readonly #network: SimulatedNetwork;
  readonly #health: Health;
  /** Each seed has its own kinds. */
  readonly #kinds: Record<Kind, number>;
  /** Ends of what goes wrong now. */
  readonly #ends = new Set<() => void>();
  readonly #ill = new Map<SimulatedDaemon, () => void>();
  readonly #oracle: Oracle;
  readonly #accounts: Parts["accounts"];
  #until = 0;

  constructor(world: World, chance: Chance, { daemons, network, health, oracle, accounts }: Parts) {
    this.#world = world;
    this.#chance = chance;
    this.#daemons = daemons;
    this.#network = network;
    this.#health = health;
    this.#oracle = oracle;
    this.#accounts = accounts;
    const has = (weight: number): number => weight * chance.one([0, 0, 1, 1, 3]);
    this.#kinds = Object.fromEntries(
      Object.entries({ ...KINDS, ...(accounts !== null && ACCOUNT_KINDS) }).map(([kind, weight]) => [
        kind,
        has(weight),
      ]),
    ) as Record<Kind, number>;
    this.#kinds.cut += 0.1;
  }

  start(until: number): void {
    this.#until = until;
    for (const daemon of this.#daemons) {
      daemon.wall.offset = this.#chance.between(-SKEW_MS, SKEW_MS);
    }
    if (this.#accounts !== null) this.#accounts.service.wall.offset = this.#chance.between(-SKEW_MS, SKEW_MS);
    const usual = this.#chance.one([20, 60, 200, 600]) * SECOND;
    this.#next(usual);
  }

  get #isOver(): boolean {
    return this.#world.time >= this.#until;
  }

  /** All is well again, for good. */
  end(): void {
    this.#until = 0;
    for (const end of this.#ends) end();
    this.#network.settle();
    for (const daemon of this.#daemons) if (daemon.run === null) void this.#start(daemon);
  }

  #next(usual: number): void {
    this.#world.after(this.#chance.duration(10, usual * 5), () => {
      if (this.#isOver) return;
      this.#make();
      this.#next(usual);
    });
  }

  #make(): void {
    const daemon = this.#chance.one(this.#daemons);
    const { name } = daemon;
    const trouble = this.#chance.weighted(this.#kinds);
    switch (trouble) {
      case "kill":
      case "power":
        return this.#endRun(daemon, trouble === "kill" ? "killed" : "power");
      case "stop":
        return void this.#stop(daemon);
      case "cut":
        return this.#cut(daemon, this.#chance.duration(SECOND, 20 * MINUTE));
      case "ambush":
        daemon.ambush = () => {
          if (this.#isOver) return;
          if (this.#chance.happens(0.5)) this.#cut(daemon, this.#chance.between(1, 20) * MINUTE);
          else this.#endRun(daemon, this.#chance.one(["killed", "power"]));
        };
        return;
      case "swallow": {
        const machines = this.#network.swallow();
        if (machines === null) return;
        // Nobody notices before the channel has been idle for long.
        this.#for(2 * MINUTE, `a connection swallows what goes from ${machines.join(" to ")}`, [
          wayOf(...machines),
        ]);
        return;
      }
      case "full":
        daemon.isDiskFull = true;
        return this.#for(
          5 * MINUTE,
          `the disk of ${name} is full`,
          [name],
          () => (daemon.isDiskFull = false),
        );
      case "failing":
        daemon.diskFailures = this.#chance.one([0.001, 0.01, 0.1]);
        return this.#for(
          this.#chance.duration(SECOND, 5 * MINUTE),
          `the disk of ${name} fails now and then`,
          [name],
          () => {
            daemon.diskFailures = 0;
            // What failed once isn't trusted until a restart.
            void this.#stop(daemon);
          },
        );
      case "jump":
        return this.#wrongClock(name, daemon.wall);
      case "corrupt":
        return this.#endRun(daemon, "power", () => this.#corrupt(daemon));
      case "slowNetwork": {
        this.#network.delayMax = this.#chance.one([300, 2000, 10_000]);
        const all = this.#daemons.map((one) => one.name);
        return this.#for(
          5 * MINUTE,
          "the network is slow",
          all,
          () => (this.#network.delayMax = USUAL_DELAY_MS),
        );
      }
      case "slowDisk":
        daemon.slowSyncs = this.#chance.fraction();
        return this.#for(
          this.#chance.duration(SECOND, 5 * MINUTE),
          `the disk of ${name} is slow`,
          [name],
          () => (daemon.slowSyncs = 0.02),
        );
      case "copies":
        daemon.copies = this.#chance.fraction();
        return this.#for(
          5 * MINUTE,
          `requests to ${name} come late or again`,
          [name],
          () => (daemon.copies = 0),
        );
      case "service":
        return this.#troubleService(this.#accounts!.service);
      case "serviceJump":
        return this.#wrongClock(SERVICE, this.#accounts!.service.wall);
      case "serviceCut":
        return this.#cutWay(name, SERVICE, this.#chance.duration(SECOND, 20 * MINUTE));
      case "restore":
        return this.#restore(this.#accounts!.service);
      case "mislead":
        return this.#mislead(name, this.#accounts!.web);
    }
  }

  apart(one: SimulatedDaemon, other: SimulatedDaemon): void {
    if (!this.#isOver) this.#cutWay(one.name, other.name, this.#chance.between(MINUTE, 2 * MINUTE));
  }

  unasked(): void {
    if (this.#isOver || this.#chance.happens(0.3)) return;
    const atLeast = this.#chance.happens(0.3) ? 0 : this.#chance.between(2, 8) * MINUTE;
    this.#troubleService(this.#accounts!.service, atLeast);
  }

  #troubleService(service: SimulatedService, atLeast = 0): void {
    if (!service.isUsable) return;
    service.trouble = this.#chance.weighted(SERVICE_TROUBLES);
    const lasting = atLeast + this.#chance.duration(SECOND, 15 * MINUTE - atLeast);
    this.#for(lasting, `the account service is in trouble (${service.trouble})`, [SERVICE], () => {
      service.trouble = null;
    });
  }

  /** The account service goes on with what it knew a while ago. */
  #restore(service: SimulatedService): void {
    const restore = service.backup();
    this.#world.after(this.#chance.duration(SECOND, 10 * MINUTE), () => {
      if (this.#isOver || !service.isUsable) return;
      this.#for(10 * SECOND, "the account service is restored from a backup", [SERVICE]);
      this.#oracle.accounts.restored();
      void restore().then(() => this.#oracle.accounts.restored());
    });
  }

  /** The name of a machine leads to another one for a while. */
  #mislead(name: string, { misled }: SimulatedWeb): void {
    const { name: other } = this.#chance.one(this.#daemons.filter((one) => one.name !== name));
    const lasting = this.#chance.duration(SECOND, 10 * MINUTE);
    misled.set(originOf(name), originOf(other));
    this.#for(lasting, `${other} answers at the origin of ${name}`, [name], () =>
      misled.delete(originOf(name)),
    );
  }

  /** Something lasts; troubles these machines or ways meanwhile. */
  #for(milliseconds: number, what: string, ill: string[], stop: () => void = () => {}): void {
    this.#world.tell(what);
    const well = this.#health.begin(...ill);
    const end = (): void => {
      if (!this.#ends.delete(end)) return;
      this.#world.tell(`no more: ${what}`);
      stop();
      well();
    };
    this.#ends.add(end);
    this.#world.after(milliseconds, end);
  }

  /** Now, or at one of the next changes of its disk. */
  #endRun(daemon: SimulatedDaemon, how: "killed" | "power", meanwhile: () => void = () => {}): void {
    const { run } = daemon;
    if (run === null) return;
    const end = (when: string): void => {
      if (run.isOver || this.#isOver) return;
      this.#world.tell(`${daemon.name} is ended (${how}) ${when}`);
      this.#isIll(daemon);
      daemon.end(how);
      meanwhile();
      this.#world.after(this.#chance.duration(10, 5 * MINUTE), () => void this.#start(daemon));
    };
    if (this.#chance.happens(0.2)) return end("now");
    let left = this.#chance.duration(1, 200);
    run.files.beforeChange = ({ name, path }) => {
      left -= 1;
      if (left > 0) return;
      run.files.beforeChange = null;
      end(`before ${name} ${path}`);
    };
  }

  #isIll(daemon: SimulatedDaemon): void {
    if (!this.#ill.has(daemon)) this.#ill.set(daemon, this.#health.begin(daemon.name));
  }

  async #start(daemon: SimulatedDaemon): Promise<void> {
    if (daemon.run !== null) return;
    this.#isIll(daemon);
    try {
      this.#world.tell(`${daemon.name} starts`);
      await daemon.start();
    } catch (error) {
      this.#world.tell(`${daemon.name} doesn't start: ${String(error)}`);
      this.#world.after(5 * SECOND, () => void this.#start(daemon));
      return;
    }
    if (daemon.services === null) return;
    this.#ill.get(daemon)?.();
    this.#ill.delete(daemon);
  }

  async #stop(daemon: SimulatedDaemon): Promise<void> {
    if (daemon.services === null) return;
    this.#world.tell(`${daemon.name} stops`);
    this.#isIll(daemon);
    await daemon.stop();
    await this.#start(daemon);
  }

  #cut({ name: one }: SimulatedDaemon, milliseconds: number): void {
    const { name: other } = this.#chance.one(this.#daemons.filter(({ name }) => name !== one));
    this.#cutWay(one, other, milliseconds);
  }

  #cutWay(one: string, other: string, milliseconds: number): void {
    if (this.#network.areApart(one, other)) return;
    this.#network.cut(one, other);
    this.#for(milliseconds, `${one} and ${other} don't reach each other`, [wayOf(one, other)], () =>
      this.#network.heal(one, other),
    );
  }

  /** The clock goes wrong for a while, by anything. */
  #wrongClock(name: string, wall: Wall): void {
    const by = this.#chance.duration(SECOND, 2 * 24 * 60 * MINUTE) * this.#chance.one([-1, 1]);
    wall.offset += by;
    const right = this.#oracle.accounts.clockIsWrong();
    const lasting = this.#chance.duration(SECOND, 20 * MINUTE);
    this.#for(lasting, `the clock of ${name} is wrong by ${by / 1000} s`, [name], () => {
      wall.offset -= by;
      right();
    });
  }

  /** One of the records on the disk of a daemon that doesn't run can't be read any more. */
  #corrupt(daemon: SimulatedDaemon): void {
    const paths = [...daemon.tree.files.keys()].filter(
      (path) => path.startsWith(OUTBOX) && path.endsWith(".json"),
    );
    if (paths.length === 0) return;
    const path = this.#chance.one(paths);
    const bytes = Uint8Array.from(daemon.tree.files.get(path)!);
    const at = this.#chance.between(0, bytes.length - 1);
    if (this.#chance.happens(0.5)) bytes[at] = 0xff;
    const kept = this.#chance.happens(0.5) ? bytes : bytes.subarray(0, at);
    if (kept.length === daemon.tree.files.get(path)!.length) kept[at] = 0xff;
    daemon.tree.files.set(path, kept);
    const id = path.slice(path.lastIndexOf("/") + 1, -".json".length);
    this.#oracle.lost.add(id.replaceAll("-", ""));
    this.#world.tell(`the record ${id.slice(0, 8)} on ${daemon.name} can't be read any more`);
  }
}
