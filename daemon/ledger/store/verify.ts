/**
 * Reads a whole ledger again, parses every line, and compares index and projections with a rebuild
 * from scratch.
 */
import type { Clock } from "../../../platform/clock.ts";
import { decodeLine } from "../format/line.ts";
import { History } from "../history.ts";
import { type Steps, scanLines } from "../index/line-scan.ts";
import { Rebuild } from "../index/rebuild.ts";
import type { Projection } from "../types.ts";
import { Pace } from "./pace.ts";
import { pathOf } from "./storage.ts";

export interface Verification {
  events: number;
  segments: number;
  /** One sentence each; empty when all is well. */
  problems: string[];
}

const PROBLEMS_MAX = 100;

/** Events that are compared in one step. */
const COMPARED = 500;

/**
 * Yields to the event loop all the time. Leaves out events recorded after the call. Refuses with
 * `shutting_down` if the ledger is closed.
 */
export async function verify(history: History, clock: Clock): Promise<Verification> {
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
  again.index.reserve(count);
  const pace = new Pace(clock);
  const inSlices = async <Result>(steps: Steps<Result>): Promise<Result> => {
    for (;;) {
      const { done, value } = steps.next();
      if (done === true) return value;
      // Little by little, for a lookup would enter everything at once.
      again.index.settle();
      if (!pace.isOver) continue;
      await pace.pause();
      history.checkOpen();
    }
  };
  // Copies: while this yields, the last segment may grow or be sealed.
  const segments = history.segments.map((segment) => ({
    original: segment,
    copy: { ...segment, count: 0, sealed: true, file: null },
  }));
  for (const { original, copy } of segments) {
    const file = history.storage.files.open(pathOf(history.storage, original.name), "read");
    try {
      copy.first = again.count;
      await inSlices(rebuild.part(copy, file, { from: 0, to: copy.bytes }));
      const whole = scanLines(
        file,
        0,
        copy.bytes,
        (bytes, start, end) => decodeLine(bytes.toString("utf8", start, end)) !== null,
      );
      const position = await inSlices(whole);
      if (position !== copy.bytes)
        note(`Segment ${copy.number} has a line at byte ${position} that isn't an event.`);
    } catch (error) {
      history.checkOpen();
      note(`Segment ${copy.number} can't be read: ${(error as Error).message}`);
    } finally {
      file.close();
    }
  }
  await inSlices(compareIndexes(history, again, count, note));
  compareProjections(states, fresh, history.options.projections, note);
  return { events: again.count, segments: segments.length, problems };
}

function* compareIndexes(
  history: History,
  again: History,
  count: number,
  note: (problem: string) => void,
): Steps<void> {
  if (again.count !== count) note(`The index has ${count} events, but the files have ${again.count}.`);
  const shared = Math.min(count, again.count);
  const mine = history.index;
  const theirs = again.index;
  for (let ordinal = 0; ordinal < shared; ordinal += 1) {
    const id = theirs.id(ordinal);
    if (mine.id(ordinal) !== id) note(`Event ${ordinal} is ${id}, but the index says ${mine.id(ordinal)}.`);
    if (mine.position(ordinal) !== theirs.position(ordinal))
      note(`The index has a wrong position for event ${id}.`);
    if (history.kinds[mine.kind(ordinal)] !== again.kinds[theirs.kind(ordinal)])
      note(`The index has a wrong kind for event ${id}.`);
    const links = mine.links(ordinal, shared);
    const expected = theirs.links(ordinal, shared);
    if (links.previous !== expected.previous || links.last !== expected.last)
      note(`The index has a wrong reference for event ${id}.`);
    if (!mine.hasKeyOf(theirs, ordinal)) note(`The index has a wrong key for event ${id}.`);
    if (history.ordinalOf(id) !== again.ordinalOf(id)) note(`The index doesn't lead to event ${id}.`);
    if (ordinal % COMPARED === 0) yield;
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
