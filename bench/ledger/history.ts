/** A large history: opening it, its index, and reading a few of its events. */
import * as fs from "node:fs";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Ledger } from "../../daemon/ledger/ledger.ts";
import { absolute, compare, type Figure, interleave, type Measurement, median } from "../figure.ts";
import { scratchPath } from "../folder.ts";
import { fillGroup, openGroup } from "./conversation.ts";
import { ABSENT, fill, openLedger, RARE } from "./setting.ts";

const PAGE = 50;
const SMALL = 1000;

function elapsed(started: number): number {
  return performance.now() - started;
}

type Open = (directory: string) => Promise<Ledger>;

async function openMs(open: Open, directory: string, isLost: (file: string) => boolean): Promise<number> {
  for (const name of fs.readdirSync(directory)) if (isLost(name)) fs.rmSync(join(directory, name));
  const started = performance.now();
  const ledger = await open(directory);
  const took = elapsed(started);
  await ledger.close();
  return took;
}

/** `JSON.parse` of every line of the segments, which are read a piece at a time. */
function parseMs(directory: string): number {
  const started = performance.now();
  const piece = Buffer.allocUnsafe(1024 * 1024);
  let parsed = 0;
  for (const name of fs.readdirSync(directory)) {
    if (!name.startsWith("segment-")) continue;
    const file = fs.openSync(join(directory, name), "r");
    let held = 0;
    for (;;) {
      const got = fs.readSync(file, piece, held, piece.length - held, null);
      if (got === 0) break;
      held += got;
      let start = 0;
      for (let end = piece.indexOf(10, start); end >= 0 && end < held; end = piece.indexOf(10, start)) {
        JSON.parse(piece.toString("utf8", start, end));
        parsed += 1;
        start = end + 1;
      }
      piece.copyWithin(0, start, held);
      held -= start;
    }
    fs.closeSync(file);
  }
  if (parsed === 0) throw new Error("nothing was parsed");
  return elapsed(started);
}

/** What was worked out of the segments: indexes, their tables, the search's filters. */
const isIndex = (file: string): boolean => /^(index|tables|filter).*\.bin$/.test(file);

interface OpenRow {
  what: string;
  isLost: (file: string) => boolean;
  goal: number;
  floor: number;
}

/**
 * Without index files the goal was 5 and the floor 3 while a second thread read half of the
 * segments, and keys were found by the layout of lines, which the room of messages knew.
 */
const opens: readonly OpenRow[] = [
  { what: "without index files", isLost: isIndex, goal: 2, floor: 1 },
  { what: "with index files", isLost: () => false, goal: 50, floor: 20 },
];

/**
 * This one says what an upgrade costs that no longer understands the projection's checkpoint. The
 * goal was 1.5 and the floor 0.8 while the projection knew the layouts of lines.
 */
const fromNothing: OpenRow = {
  what: "without index files and checkpoint",
  isLost: (file) => file.endsWith(".bin"),
  goal: 0.5,
  floor: 0.4,
};

/** `what` has the events in `directory`. */
async function openFigures(
  rows: readonly OpenRow[],
  open: Open,
  directory: string,
  rounds: number,
  what: string,
): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const { what: how, isLost, goal, floor } of rows) {
    const sides = { ours: () => openMs(open, directory, isLost), theirs: () => parseMs(directory) };
    await interleave(1, sides);
    const { ours, theirs } = await interleave(rounds, sides);
    // As rates, so that the ratio says how many times faster.
    const times = { value: 1000 / ours, against_value: 1000 / theirs };
    const against = "JSON.parse of every line";
    figures.push(
      compare({
        name: `open ${what} ${how}`,
        unit: "opens/s",
        ...times,
        against,
        goal,
        floor,
        better: "higher",
      }),
    );
  }
  return figures;
}

/** Ids as a request would bring them: strings that weren't looked up before. */
function freshIds(ledger: Ledger, count: number): string[] {
  const step = Math.max(1, Math.floor(ledger.count / count));
  const ids = ledger.readMany(Array.from({ length: count }, (_, at) => at * step)).map((event) => event.id);
  const shuffled = ids
    .map((id) => ({ id, place: Number.parseInt(id.slice(0, 8), 16) }))
    .sort((a, b) => a.place - b.place);
  return shuffled.map(({ id }) => Buffer.from(id).toString("latin1"));
}

function lookupRate(ids: readonly string[], find: (id: string) => number | undefined): number {
  const started = performance.now();
  let found = 0;
  for (const id of ids) if (find(id) !== undefined) found += 1;
  if (found !== ids.length) throw new Error("an id wasn't found");
  return (ids.length / elapsed(started)) * 1000;
}

/** Bytes in use when everything else was collected. */
function heapBytes(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  return process.memoryUsage().heapUsed;
}

async function indexFigures(ledger: Ledger, rounds: number): Promise<Figure[]> {
  const before = heapBytes();
  const map = new Map<string, number>();
  for (let from = 0; from < ledger.count; from += SMALL) {
    const ordinals = Array.from({ length: Math.min(SMALL, ledger.count - from) }, (_, at) => from + at);
    for (const [at, event] of ledger.readMany(ordinals).entries()) map.set(event.id, from + at);
  }
  const mapBytes = (heapBytes() - before) / ledger.count;
  const looked = Math.min(ledger.count, 200_000);
  const { ours, theirs } = await interleave(rounds, {
    ours: () => lookupRate(freshIds(ledger, looked), (id) => ledger.ordinalOf(id)),
    theirs: () => lookupRate(freshIds(ledger, looked), (id) => map.get(id)),
  });
  const rates = { value: ours, against_value: theirs };
  const value = ledger.indexBytes / ledger.count;
  const against = `byte (a Map of the ids alone: ${Math.round(mapBytes)})`;
  return [
    absolute({
      name: "index memory per event",
      unit: "bytes",
      value,
      against,
      goal: 48,
      floor: 72,
      better: "lower",
    }),
    compare({
      name: "lookup by id",
      unit: "lookups/s",
      ...rates,
      against: "a Map of strings",
      goal: 0.8,
      floor: 0.5,
      better: "higher",
    }),
  ];
}

/** Median milliseconds of one call that returns this many events. */
async function callMs(calls: number, expected: number, call: () => Reading): Promise<number> {
  const times: number[] = [];
  for (let at = 0; at < calls; at += 1) {
    const started = performance.now();
    const { events } = await call();
    times.push(elapsed(started));
    if (events.length !== expected) throw new Error(`${events.length} events instead of ${expected}`);
  }
  return median(times);
}

type Reading = { events: unknown[] } | Promise<{ events: unknown[] }>;

interface ReadRow {
  name: string;
  goal: number;
  floor: number;
  calls: number;
  /** How many events the call gives; `PAGE` when absent. */
  expected?(ledger: Ledger): number;
  read(ledger: Ledger): Reading;
}

function search(what: string, query: string, expected: (ledger: Ledger) => number): ReadRow {
  const read = (ledger: Ledger): Reading => ledger.search({ query, limit: PAGE });
  return { name: `search, ${what} word`, goal: 1.5, floor: 3, calls: 20, expected, read };
}

const reads: readonly ReadRow[] = [
  { name: "tail", goal: 1.5, floor: 3, calls: 50, read: (ledger) => ledger.page({ limit: PAGE }) },
  {
    name: "window",
    goal: 1.5,
    floor: 3,
    calls: 50,
    read: (ledger) =>
      ledger.window({ around: ledger.read(ledger.count >>> 1).id, before: PAGE / 2, after: PAGE / 2 - 1 }),
  },
  search("frequent", "HARBOUR", () => PAGE),
  search("rare", RARE.word.toUpperCase(), ({ count }) => Math.ceil((count - RARE.first) / RARE.every)),
  search("absent", ABSENT, () => 0),
];

async function readFigures(large: Ledger, small: Ledger, rounds: number, size: string): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const row of reads) {
    const { name, goal, floor, calls } = row;
    const measured = (ledger: Ledger): Promise<number> =>
      callMs(calls, row.expected?.(ledger) ?? PAGE, () => row.read(ledger));
    const sides = { ours: () => measured(large), theirs: () => measured(small) };
    await interleave(1, sides);
    const { ours, theirs } = await interleave(rounds, sides);
    const against = `ms for the same in ${SMALL} events`;
    figures.push(
      compare({
        name: `${name}, ${PAGE} of ${size}`,
        unit: "ms",
        value: ours,
        against,
        against_value: theirs,
        goal,
        floor,
        better: "lower",
      }),
    );
  }
  return figures;
}

const LARGE = "1,000,000 events";
/** With the real projection: actors, deliveries and reads as they come in use. */
const GROUP = `a Group of ${LARGE}`;

export const groups: Measurement = {
  figures: [...opens, fromNothing].map(({ what }) => `open ${GROUP} ${what}`),
  async run({ short }): Promise<Figure[]> {
    const directory = scratchPath("group");
    await fillGroup(directory, short ? 20_000 : 1_000_000);
    return openFigures([...opens, fromNothing], openGroup, directory, short ? 3 : 5, GROUP);
  },
};

export const histories: Measurement = {
  figures: [
    ...opens.map(({ what }) => `open ${LARGE} ${what}`),
    "index memory per event",
    "lookup by id",
    ...reads.map(({ name }) => `${name}, ${PAGE} of ${LARGE}`),
  ],
  async run({ short }): Promise<Figure[]> {
    const events = short ? 20_000 : 1_000_000;
    const rounds = short ? 3 : 5;
    const directory = scratchPath("large");
    const smallDirectory = scratchPath("small");
    await fill(directory, events);
    await fill(smallDirectory, SMALL);
    // The short form keeps the names: it shows that the figures can be taken.
    const figures = await openFigures(opens, openLedger, directory, rounds, LARGE);
    const large = await openLedger(directory);
    const small = await openLedger(smallDirectory);
    // The filters went with the index files.
    await large.compact();
    figures.push(...(await indexFigures(large, rounds)), ...(await readFigures(large, small, rounds, LARGE)));
    await large.close();
    await small.close();
    return figures;
  },
};
