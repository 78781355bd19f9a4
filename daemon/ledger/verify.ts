/** Reads a whole ledger again, parses every line, and compares index and projections with what a rebuild from scratch gives. */
import { History } from "./history.ts";
import { decodeLine } from "./line.ts";
import { scanLines } from "./line-scan.ts";
import { Rebuild } from "./rebuild.ts";
import { pathOf } from "./storage.ts";
import type { Projection } from "./types.ts";

export interface Verification {
  events: number;
  segments: number;
  /** One sentence each; empty when all is well. */
  problems: string[];
}

const PROBLEMS_MAX = 100;

/** Gives way to others between segments. Events recorded after the call are left out. */
export async function verify(history: History): Promise<Verification> {
  const problems: string[] = [];
  const note = (problem: string): void => {
    if (problems.length < PROBLEMS_MAX) problems.push(problem);
  };
  const { count } = history;
  const states = history.options.projections.map((projection) => projection.checkpoint());
  const fresh = history.options.projections.map((projection) => projection.fresh());
  const again = new History(history.storage, { ...history.options, projections: fresh });
  const rebuild = new Rebuild(
    again,
    fresh.map((projection) => ({ projection, from: 0 })),
  );
  // Copies: while we give way, the last segment may grow or be sealed.
  const segments = history.segments.map((segment) => ({
    original: segment,
    copy: { ...segment, count: 0, sealed: true, file: null },
  }));
  for (const { original, copy } of segments) {
    await new Promise((done) => setImmediate(done));
    const file = history.storage.files.open(pathOf(history.storage, original.name), "read");
    try {
      copy.first = again.count;
      rebuild.sealed(copy, file, 0);
      let position = 0;
      position = scanLines(
        file,
        0,
        copy.bytes,
        (bytes, start, end) => decodeLine(bytes.toString("utf8", start, end)) !== null,
      );
      if (position !== copy.bytes)
        note(`Segment ${copy.number} has a line at byte ${position} that isn't an event.`);
    } catch (error) {
      note(`Segment ${copy.number} can't be read: ${(error as Error).message}`);
    } finally {
      file.close();
    }
  }
  compareIndexes(history, again, count, note);
  compareProjections(states, fresh, history.options.projections, note);
  return { events: again.count, segments: segments.length, problems };
}

function compareIndexes(
  history: History,
  again: History,
  count: number,
  note: (problem: string) => void,
): void {
  if (again.count !== count) note(`The index knows ${count} events, the files hold ${again.count}.`);
  const shared = Math.min(count, again.count);
  const mine = history.index.columns(0, shared);
  const theirs = again.index.columns(0, shared);
  for (let ordinal = 0; ordinal < shared; ordinal += 1) {
    const id = again.index.id(ordinal);
    if (history.index.id(ordinal) !== id)
      note(`Event ${ordinal} is ${id}, the index says ${history.index.id(ordinal)}.`);
    if (mine.positions[ordinal] !== theirs.positions[ordinal])
      note(`The index has a wrong position for event ${id}.`);
    if (history.kinds[mine.kinds[ordinal]!] !== again.kinds[theirs.kinds[ordinal]!])
      note(`The index has a wrong kind for event ${id}.`);
    if (mine.sources[ordinal] !== theirs.sources[ordinal])
      note(`The index has a wrong reference for event ${id}.`);
    const isSameKey =
      mine.keys[ordinal * 2] === theirs.keys[ordinal * 2] &&
      mine.keys[ordinal * 2 + 1] === theirs.keys[ordinal * 2 + 1];
    if (!isSameKey) note(`The index has a wrong key for event ${id}.`);
    if (history.ordinalOf(id) !== again.ordinalOf(id)) note(`The index doesn't lead to event ${id}.`);
  }
}

function compareProjections(
  states: Uint8Array[],
  fresh: Projection[],
  projections: Projection[],
  note: (problem: string) => void,
): void {
  for (const [at, projection] of projections.entries()) {
    if (Buffer.compare(states[at]!, fresh[at]!.checkpoint()) !== 0)
      note(`The projection ${projection.name} differs from a rebuild.`);
  }
}
