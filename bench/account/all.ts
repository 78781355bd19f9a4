/** The rows of the account service: its requests beside the bare statements on the same store. */
import { freePort } from "../../demo/free-port.ts";
import { Cluster } from "../../test/account/postgres.ts";
import { type BenchOptions, compare, type Figure, interleave, type Measurement } from "../figure.ts";
import { start, stop } from "../processes.ts";
import { memoryOf, Service, WIDTH } from "./service.ts";
import { bareStatements, type FilledStore, filledStore } from "./store.ts";

const NAMES = {
  directory: { sqlite: "account directory of 50, SQLite", postgres: "account directory of 50, PostgreSQL" },
  registration: {
    sqlite: "account registration, directory of 5, SQLite",
    postgres: "account registration, directory of 5, PostgreSQL",
  },
  registrationOf50: {
    sqlite: "account registration, directory of 50, SQLite",
    postgres: "account registration, directory of 50, PostgreSQL",
  },
  million: {
    sqlite: "account directory beside 1,000,000 devices, SQLite",
    postgres: "account directory beside 1,000,000 devices, PostgreSQL",
  },
  processes: "account directory, two processes on PostgreSQL",
  memory: "account service beside 1,000,000 devices, memory",
} as const;
type Kind = keyof typeof NAMES.directory;

const SMALL = 1000;
const MILLION = 1_000_000;
/** Machines in one directory: of a person, and of somebody with very many. */
const FEW = 5;
const MANY = 50;
/** In place of a million in a short run. */
const SHORT_MILLION = 20_000;
/**
 * A device may ask 30 times a minute. All rounds of a figure together stay below that, because the
 * devices ask in turn: 27.5 times each where both sides ask one service.
 */
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

function shapeOf({ short }: BenchOptions): Shape {
  return short
    ? { requests: SHORT_REQUESTS, rounds: 2, many: SHORT_MILLION }
    : { requests: REQUESTS, rounds: ROUNDS, many: MILLION };
}

let cluster: Cluster | null = null;
const stores = new Map<string, Promise<FilledStore>>();

/** The store of this size, filled when the first figure needs it. */
function storeOf(kind: Kind, devices: number, perMember = MANY): Promise<FilledStore> {
  const name = `${kind} ${devices} ${perMember}`;
  let store = stores.get(name);
  if (store === undefined) {
    if (kind === "postgres") cluster ??= Cluster.started({ isDurable: true });
    store = filledStore(kind === "sqlite" ? null : cluster!.database(), { devices, perMember });
    stores.set(name, store);
  }
  return store;
}

/** What is asked of the service, the bare statements beside it, and how near it should come. */
const ROWS = {
  directory: {
    asked: "directories",
    bare: "directories",
    what: "statement",
    of: MANY,
    goal: 0.35,
    floor: 0.18,
  },
  registration: { asked: "registrations", bare: "upserts", what: "upsert", of: FEW, goal: 0.3, floor: 0.15 },
  registrationOf50: {
    asked: "registrations",
    bare: "upserts",
    what: "upsert",
    of: MANY,
    goal: 0.3,
    floor: 0.15,
  },
} as const;

/** As many requests to the service as bare statements on the same store. */
async function besideBare(row: keyof typeof ROWS, kind: Kind, { requests, rounds }: Shape): Promise<Figure> {
  const { asked, bare: statement, what, of, goal, floor } = ROWS[row];
  const store = await storeOf(kind, SMALL, of);
  await forgetCounts(store);
  const bare = await bareStatements(store, WIDTH);
  const rates = await withService(store, (service) =>
    interleave(rounds, { ours: () => service[asked](requests), theirs: () => bare[statement](requests) }),
  );
  await bare.close();
  return compare({
    name: NAMES[row][kind],
    unit: "requests/s",
    value: rates.ours,
    against: `the bare ${what} on the same store`,
    against_value: rates.theirs,
    goal,
    floor,
    better: "higher",
  });
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
async function scale(kind: Kind, { requests, rounds, many: devices }: Shape): Promise<Figure> {
  const [small, large] = [await storeOf(kind, SMALL), await storeOf(kind, devices)];
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
async function processes({ requests, rounds }: Shape): Promise<Figure> {
  const store = await storeOf("postgres", SMALL);
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
async function memory({ many: devices }: Shape): Promise<Figure> {
  const store = await storeOf("sqlite", devices);
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

/** One that fails leaves the figures of the others. */
function measurement(name: string, take: (shape: Shape) => Promise<Figure>): Measurement {
  return { figures: [name], run: async (options) => [await take(shapeOf(options))] };
}

const KINDS = ["sqlite", "postgres"] as const;

export const accountMeasurements: readonly Measurement[] = [
  ...(["directory", "registration", "registrationOf50"] as const).flatMap((row) =>
    KINDS.map((kind) => measurement(NAMES[row][kind], (shape) => besideBare(row, kind, shape))),
  ),
  measurement(NAMES.processes, processes),
  ...KINDS.map((kind) => measurement(NAMES.million[kind], (shape) => scale(kind, shape))),
  measurement(NAMES.memory, memory),
];
