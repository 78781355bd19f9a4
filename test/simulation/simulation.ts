/** One seed: machines, people who write to each other, and everything that goes wrong meanwhile. */
import { createHash } from "node:crypto";
import type { Chance } from "../support/chance.ts";
import { Accounts } from "./accounts.ts";
import { type Mutation, SimulatedDaemon } from "./daemon.ts";
import { FaultInjector } from "./fault-injector.ts";
import { Health } from "./health.ts";
import { SimulatedNetwork } from "./network.ts";
import { Oracle, type Violation } from "./oracle.ts";
import { People } from "./people.ts";
import { SimulatedService } from "./service.ts";
import { SimulatedWeb } from "./web.ts";
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
  /** With an account service, HTTPS and connections of Groups of two members. */
  accounts?: boolean;
}

const MINUTE = 60_000;
/** The delivery window, its backoff at the end, and some. */
const PATIENCE = 25 * MINUTE;

/** What is still on its way arrives. */
const AFTERWARDS = 3 * MINUTE;

export async function simulate(
  seed: number,
  { mutation = {}, accounts = false }: Options = {},
): Promise<Report> {
  const world = new World(seed);
  const network = new SimulatedNetwork(world);
  let service: SimulatedService | null = null;
  try {
    const web = accounts ? new SimulatedWeb(world, network) : null;
    if (web !== null) service = await SimulatedService.started(world, web);
    return await run(seed, { world, network, web, service, mutation });
  } finally {
    world.turns.release();
    await service?.dispose();
  }
}

interface Parts {
  world: World;
  network: SimulatedNetwork;
  /** Null, like the service, where there are no accounts. */
  web: SimulatedWeb | null;
  service: SimulatedService | null;
  mutation: Mutation;
}

async function run(seed: number, { world, network, web, service, mutation }: Parts): Promise<Report> {
  const chance = world.chance.stream("plan");
  const daemons = Array.from(
    { length: numberOfDaemons(chance) },
    (_, at) => new SimulatedDaemon(world, { network, web }, String(at + 1), mutation),
  );
  network.isDark = (machine) => daemons.some(({ name, isDark }) => name === machine && isDark);
  const health = new Health(world);
  const oracle = new Oracle(world, daemons, { health, service });
  world.look = () => oracle.look();
  const accounts =
    service === null ? null : new Accounts(world, chance.stream("members"), { service, oracle });
  const people = new People(world, chance.stream("people"), { daemons, oracle, health, accounts });
  const faults = new FaultInjector(world, chance.stream("trouble"), {
    daemons,
    network,
    health,
    oracle,
    accounts: service === null ? null : { service, web: web! },
  });
  if (accounts !== null) accounts.revoked = () => faults.unasked();
  people.troubles = faults;

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
