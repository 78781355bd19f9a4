/** One seed: machines, people who write to each other, and everything that goes wrong meanwhile. */
import { createHash } from "node:crypto";
import type { Chance } from "../support/chance.ts";
import { type Mutation, SimulatedDaemon } from "./daemon.ts";
import { FaultInjector } from "./fault-injector.ts";
import { Health } from "./health.ts";
import { SimulatedNetwork } from "./network.ts";
import { Oracle, type Violation } from "./oracle.ts";
import { People } from "./people.ts";
import { World } from "./world.ts";

export interface Report {
  seed: number;
  /** Turns of the daemons' event loops. */
  steps: number;
  simulatedHours: number;
  violations: Violation[];
  story: string[];
  /** Digest of the story. */
  trace: string;
}

export interface Options {
  mutation?: Mutation;
}

const MINUTE = 60_000;
/** The delivery window, its backoff at the end, and some. */
const PATIENCE = 25 * MINUTE;

/** What is still on its way arrives. */
const AFTERWARDS = 3 * MINUTE;

export async function simulate(seed: number, { mutation = {} }: Options = {}): Promise<Report> {
  const world = new World(seed);
  try {
    return await run(seed, world, mutation);
  } finally {
    world.turns.release();
  }
}

async function run(seed: number, world: World, mutation: Mutation): Promise<Report> {
  const chance = world.chance.stream("plan");
  const network = new SimulatedNetwork(world);
  const daemons = Array.from(
    { length: numberOfDaemons(chance) },
    (_, at) => new SimulatedDaemon(world, network, String(at + 1), mutation),
  );
  network.isDark = (machine) => daemons.some(({ name, isDark }) => name === machine && isDark);
  const health = new Health(world);
  const oracle = new Oracle(world, daemons, health);
  world.look = () => oracle.look();
  const people = new People(world, chance.stream("people"), { daemons, oracle, health });
  const faults = new FaultInjector(world, chance.stream("trouble"), {
    daemons,
    network,
    health,
    lost: oracle.lost,
  });

  const begun = people.begin();
  await settle(world, begun);
  const end = world.time + (chance.happens(0.7) ? chance.between(2, 10) : chance.between(15, 40)) * MINUTE;
  people.start(end);
  faults.start(end);
  await world.run(end, () => oracle.violations.length > 0);
  if (oracle.violations.length === 0) {
    world.tell("everything is well again");
    faults.end();
    await world.run(world.time + PATIENCE, () => oracle.violations.length > 0 || oracle.isQuiet);
    await world.run(world.time + AFTERWARDS, () => oracle.violations.length > 0);
  }
  if (oracle.violations.length === 0) {
    await settle(world, oracle.finish());
    for (const daemon of daemons) await settle(world, daemon.stop());
  }
  return {
    seed,
    steps: world.turns.count,
    simulatedHours: world.time / (60 * MINUTE),
    violations: oracle.violations,
    story: world.story,
    trace: createHash("sha256").update(world.story.join("\n")).digest("hex"),
  };
}

/** Lets time pass until `task` is done. Throws what it throws. */
async function settle(world: World, task: Promise<unknown>): Promise<void> {
  let state: "running" | "done" | { error: unknown } = "running";
  task.then(
    () => (state = "done"),
    (error: unknown) => (state = { error }),
  );
  await world.run(world.time + 10 * MINUTE, () => state !== "running");
  if (state === "running") throw new Error(`the simulation got stuck after ${world.story.at(-1)}`);
  if (typeof state === "object") throw (state as { error: unknown }).error;
}

function numberOfDaemons(chance: Chance): number {
  return Number(chance.weighted({ 2: 6, 3: 3, 4: 1, 5: 1 }));
}
