/** Everything that goes wrong, and its end. */
import type { Chance } from "./chance.ts";
import type { SimulatedDaemon } from "./daemon.ts";
import type { SimulatedNetwork } from "./network.ts";
import type { Oracle } from "./oracle.ts";
import type { World } from "./world.ts";

interface Parts {
  daemons: readonly SimulatedDaemon[];
  network: SimulatedNetwork;
  oracle: Oracle;
}

const TROUBLES = { kill: 3, power: 3, cut: 3, swallow: 1, stop: 1 };

export class Trouble {
  readonly #world: World;
  readonly #chance: Chance;
  readonly #daemons: readonly SimulatedDaemon[];
  readonly #network: SimulatedNetwork;
  /** Deliveries whose records were destroyed. */
  readonly lost = new Set<string>();
  #until = 0;

  constructor(world: World, chance: Chance, { daemons, network }: Parts) {
    this.#world = world;
    this.#chance = chance;
    this.#daemons = daemons;
    this.#network = network;
  }

  start(until: number): void {
    this.#until = until;
    this.#next(this.#chance.between(10_000, 300_000));
  }

  get #isOver(): boolean {
    return this.#world.time >= this.#until;
  }

  /** All is well again, for good. */
  end(): void {
    this.#until = 0;
    this.#network.healAll();
    this.#network.settle();
    for (const daemon of this.#daemons) if (daemon.run === null) void this.#start(daemon);
  }

  #next(usual: number): void {
    this.#world.after(this.#chance.duration(10, usual * 2), () => {
      if (this.#isOver) return;
      this.#make();
      this.#next(usual);
    });
  }

  #make(): void {
    const daemon = this.#chance.one(this.#daemons);
    const trouble = this.#chance.weighted(TROUBLES);
    switch (trouble) {
      case "kill":
      case "power":
        return this.#endRun(daemon, trouble === "kill" ? "killed" : "power");
      case "stop":
        return void this.#stop(daemon);
      case "cut":
        return this.#cut();
      case "swallow": {
        const what = this.#network.swallow();
        if (what !== null) this.#world.tell(`the connection swallows what goes from ${what}`);
      }
    }
  }

  /** Now, or at one of the next changes of its disk. */
  #endRun(daemon: SimulatedDaemon, how: "killed" | "power"): void {
    const { run } = daemon;
    if (run === null) return;
    const end = (when: string): void => {
      if (run.isOver) return;
      this.#world.tell(`${daemon.name} is ended (${how}) ${when}`);
      daemon.end(how);
      this.#world.after(this.#chance.duration(10, 300_000), () => void this.#start(daemon));
    };
    if (this.#chance.happens(0.2)) return end("now");
    let left = this.#chance.duration(1, 200);
    run.files.beforeChange = ({ name, path }) => {
      left -= 1;
      if (left > 0) return;
      run.files.beforeChange = null;
      if (!this.#isOver) end(`before ${name} ${path}`);
    };
  }

  async #start(daemon: SimulatedDaemon): Promise<void> {
    if (daemon.run !== null) return;
    try {
      this.#world.tell(`${daemon.name} starts`);
      await daemon.start();
    } catch (error) {
      this.#world.tell(`${daemon.name} doesn't start: ${String(error)}`);
      daemon.log.push(String(error));
      this.#world.after(5000, () => void this.#start(daemon));
    }
  }

  async #stop(daemon: SimulatedDaemon): Promise<void> {
    this.#world.tell(`${daemon.name} stops`);
    await daemon.stop();
    if (daemon.run === null) await this.#start(daemon);
  }

  #cut(): void {
    const one = this.#chance.one(this.#daemons);
    const other = this.#chance.one(this.#daemons.filter((daemon) => daemon !== one));
    if (this.#network.areApart(one.name, other.name)) return;
    this.#network.cut(one.name, other.name);
    this.#world.tell(`${one.name} and ${other.name} don't reach each other`);
    this.#world.after(this.#chance.duration(100, 1_200_000), () => {
      this.#network.heal(one.name, other.name);
      this.#world.tell(`${one.name} and ${other.name} reach each other`);
    });
  }
}
