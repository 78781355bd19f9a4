/** The rows of the account service: its requests beside the bare statements on the same store. */
import { freePort } from "../../demo/free-port.ts";
import { Cluster } from "../../test/account/postgres.ts";
import { compare, type Figure, interleave, type Measurement } from "../figure.ts";
import { start, stop } from "../processes.ts";
import { memoryOf, Service, WIDTH } from "./service.ts";
import { bareStatements, type FilledStore, filledStore } from "./store.ts";

const NAMES = {
  directory: { sqlite: "account directory of 50, SQLite", postgres: "account directory of 50, PostgreSQL" },
  registration: { sqlite: "account registration, SQLite", postgres: "account registration, PostgreSQL" },
  million: {
    sqlite: "account directory beside 1,000,000 devices, SQLite",
    postgres: "account directory beside 1,000,000 devices, PostgreSQL",
  },
  processes: "account directory, two processes on PostgreSQL",
  memory: "account service beside 1,000,000 devices, memory",
} as const;
type Kind = "sqlite" | "postgres";

const SMALL = 1000;
const MILLION = 1_000_000;
/** In place of a million in a short run. */
const SHORT_MILLION = 20_000;
/** A device may ask 30 times a minute: all rounds together stay below that. */
const REQUESTS = 2500;
const SHORT_REQUESTS = 500;
const ROUNDS = 5;
const FIRST_REQUESTS = 200;
/** The minimum that listens with Express. */
const BARE = `const app = require("express")();
app.get("/", (request, response) => response.json({ ok: true }));
app.listen(Number(process.argv[1]), "127.0.0.1");`;

async function withService<Result>(
  store: FilledStore,
  work: (service: Service) => Promise<Result>,
): Promise<Result> {
  const service = await Service.started(store);
  try {
    return await work(service);
  } finally {
    await service.stop();
  }
}

interface Shape {
  requests: number;
  rounds: number;
  many: number;
}

async function beside(kind: Kind, store: FilledStore, { requests, rounds }: Shape): Promise<Figure[]> {
  const bare = await bareStatements(store, WIDTH);
  const directory = await withService(store, async (service) => {
    const sides = {
      ours: () => service.directories(requests),
      theirs: () => bare.directories(requests),
    };
    return interleave(rounds, sides);
  });
  await forgetCounts(store);
  const registration = await withService(store, async (service) => {
    const sides = {
      ours: () => service.registrations(requests),
      theirs: () => bare.upserts(requests),
    };
    return interleave(rounds, sides);
  });
  await bare.close();
  const unit = "requests/s";
  return [
    compare({
      name: NAMES.directory[kind],
      unit,
      value: directory.ours,
      against: "the bare statement on the same store",
      against_value: directory.theirs,
      goal: 0.35,
      floor: 0.18,
      better: "higher",
    }),
    compare({
      name: NAMES.registration[kind],
      unit,
      value: registration.ours,
      against: "the bare upsert on the same store",
      against_value: registration.theirs,
      goal: 0.3,
      floor: 0.15,
      better: "higher",
    }),
  ];
}

/** The counts of limits on PostgreSQL outlive the process that made them. */
async function forgetCounts({ database }: FilledStore): Promise<void> {
  if (database === null) return;
  const { Client } = await import("pg");
  const client = new Client({ connectionString: database });
  await client.connect();
  await client.query("truncate rate_limits");
  await client.end();
}

/** Two services run at once, each on its own store; they take turns. */
async function scale(
  kind: Kind,
  [small, large]: readonly [FilledStore, FilledStore],
  { requests, rounds }: Shape,
): Promise<Figure> {
  await forgetCounts(small);
  const rates = await withService(small, (one) =>
    withService(large, (many) =>
      interleave(rounds, { ours: () => many.directories(requests), theirs: () => one.directories(requests) }),
    ),
  );
  return compare({
    name: NAMES.million[kind],
    unit: "requests/s",
    value: rates.ours,
    against: "the same beside 1,000 devices",
    against_value: rates.theirs,
    goal: 0.9,
    floor: 0.6,
    better: "higher",
  });
}

/** Two processes share the load of one. */
async function processes(store: FilledStore, { requests, rounds }: Shape): Promise<Figure> {
  await forgetCounts(store);
  const rates = await withService(store, (first) =>
    withService(store, (second) =>
      interleave(rounds, {
        ours: async () => {
          const both = await Promise.all([first.directories(requests / 2), second.directories(requests / 2)]);
          return both[0] + both[1];
        },
        theirs: () => first.directories(requests),
      }),
    ),
  );
  return compare({
    name: NAMES.processes,
    unit: "requests/s",
    value: rates.ours,
    against: "one process",
    against_value: rates.theirs,
    goal: 1.6,
    floor: 1.2,
    better: "higher",
  });
}

/** After its first requests, so that what they need is loaded. */
async function memory(store: FilledStore): Promise<Figure> {
  const port = await freePort();
  const bare = start(process.execPath, ["-e", BARE, `${port}`], { cwd: import.meta.dirname });
  const ours = await withService(store, async (service) => {
    await service.directories(FIRST_REQUESTS);
    await new Promise((resolve) => setTimeout(resolve, 3000));
    return service.memory();
  });
  const theirs = memoryOf(bare);
  await stop(bare);
  return compare({
    name: NAMES.memory,
    unit: "MiB",
    value: ours,
    against: "a bare Express process",
    against_value: theirs,
    goal: 1.5,
    floor: 2.5,
    better: "lower",
  });
}

export const account: Measurement = {
  figures: [
    ...Object.values(NAMES.directory),
    ...Object.values(NAMES.registration),
    ...Object.values(NAMES.million),
    NAMES.processes,
    NAMES.memory,
  ],
  async run({ short }) {
    const shape: Shape = short
      ? { requests: SHORT_REQUESTS, rounds: 2, many: SHORT_MILLION }
      : { requests: REQUESTS, rounds: ROUNDS, many: MILLION };
    const cluster = Cluster.started({ isDurable: true });
    const figures: Figure[] = [];
    try {
      for (const kind of ["sqlite", "postgres"] as const) {
        const store = (devices: number) =>
          filledStore(kind === "sqlite" ? null : cluster.database(), devices);
        const [small, large] = [await store(SMALL), await store(shape.many)];
        figures.push(...(await beside(kind, small, shape)));
        figures.push(await scale(kind, [small, large], shape));
        if (kind === "sqlite") figures.push(await memory(large));
        else figures.push(await processes(small, shape));
      }
    } finally {
      cluster.remove();
    }
    return figures;
  },
};
