/**
 * Reads a whole ledger again, parses every line, and compares index and projections with a rebuild
 * from scratch.
 */
import type { Clock } from "../../../platform/clock.ts";
import type { OpenFile } from "../../../platform/files.ts";
import { missingWords } from "../../../shared/damage-words.ts";
import { LIMITS } from "../../../shared/limits.ts";
import { Finding } from "../files/finding.ts";
import { Pace } from "../files/pace.ts";
import { ACTIVE, type Segment } from "../files/segments.ts";
import { pathOf } from "../files/storage.ts";
import { decodeLine } from "../format/line.ts";
import { History } from "../history.ts";
import { type Steps, scanLines } from "../index/line-scan.ts";
import { ParsedHead } from "../parsed-head.ts";
import type { Projection } from "../types.ts";

export interface Verification {
  events: number;
  segments: number;
  /** One sentence each; empty when all is well. */
  problems: string[];
}

/** Read and parsed in one step. */
const STEP_BYTES = 64 * 1024;

/** Events that are compared in one step. */
const COMPARED = 500;

/**
 * Yields to the event loop all the time. Leaves out events recorded after the call. Refuses with
 * `shutting_down` if the ledger is closed.
 */
export async function verify(history: History, clock: Clock): Promise<Verification> {
  const problems: string[] = [];
  const note = (problem: string): void => {
    if (problems.length < LIMITS.ledger.problems && !problems.includes(problem)) problems.push(problem);
  };
  const { count } = history;
  const states = history.options.projections.map((projection) => projection.checkpoint());
  const fresh = history.options.projections.map((projection) => projection.fresh());
  const again = new History(history.storage, { ...history.options, projections: fresh });
  again.index.reserve(count);
  const files: string[] = [];
  const changed = (segment: Segment, problem: string): void => {
    if (!files.includes(segment.name)) files.push(segment.name);
    note(`Segment ${segment.number} has ${problem}`);
  };
  if (history.damage !== null)
    for (const problem of [missingWords(history.damage), ...history.damage.problems]) note(problem);
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
  // A disk that fails now says nothing about what is on it.
  let isUnread = false;
  for (const { original, copy } of segments) {
    let file: OpenFile | null = null;
    try {
      file = history.storage.files.open(pathOf(history.storage, original.name), "read");
      copy.first = again.count;
      let wasBad = false;
      const visit = (bytes: Buffer, start: number, to: number, position: number): boolean => {
        const event = decodeLine(bytes.toString("utf8", start, to));
        const isBad = event?.group_id !== history.options.group_id;
        if (event === null || isBad) {
          if (!wasBad) changed(original, `a line at byte ${position} that isn't an event.`);
        } else if (again.ordinalOf(event.id) !== undefined)
          changed(original, `an event for a second time at byte ${position}.`);
        else {
          again.append(event, again.keyOf(new ParsedHead(event)), position);
          copy.count += 1;
        }
        wasBad = isBad;
        return true;
      };
      const end = await inSlices(scanSmoothly(file, copy.bytes, visit));
      if (end !== copy.bytes) changed(original, `a line at byte ${end} that isn't an event.`);
    } catch (error) {
      history.checkOpen();
      if (history.damage === null) note(`${original.name} can't be read: ${(error as Error).message}`);
      isUnread = true;
    } finally {
      file?.close();
    }
  }
  if (history.isSalvaged || isUnread) return { events: again.count, segments: segments.length, problems };
  // With a line less, everything behind it would differ.
  if (files.length === 0) {
    await inSlices(compareIndexes(history, again, count, note));
    compareProjections(states, fresh, history.options.projections, note);
  }
  if (files.length > 0 || hasOtherEvents(history, again, count)) {
    const finding = new Finding();
    for (const problem of problems) finding.note(problem, files[0] ?? ACTIVE, 0);
    for (const file of files) finding.note(problems[0]!, file, 0);
    finding.expect(missingOf(history, again, count));
    history.damage = finding.damage();
  }
  return { events: again.count, segments: segments.length, problems };
}

/** The events of the index that the files no longer have. */
function missingOf(
  history: History,
  again: History,
  count: number,
): { ordinals: number[]; unplaced: number } {
  const ordinals: number[] = [];
  for (let ordinal = 0; ordinal < count; ordinal += 1)
    if (again.ordinalOf(history.index.id(ordinal)) === undefined) ordinals.push(ordinal);
  return { ordinals, unplaced: 0 };
}

/** Whether the files hold other events than the index, or in another order. */
function hasOtherEvents(history: History, again: History, count: number): boolean {
  if (again.count !== count) return true;
  for (let ordinal = 0; ordinal < count; ordinal += 1)
    if (history.index.id(ordinal) !== again.index.id(ordinal)) return true;
  return false;
}

/** The same as `scanLines`, in steps that are short though every line is parsed. */
function* scanSmoothly(file: OpenFile, bytes: number, visit: Parameters<typeof scanLines>[3]): Steps<number> {
  let window = STEP_BYTES;
  for (let at = 0; at < bytes; ) {
    const to = Math.min(bytes, at + window);
    const end = yield* scanLines(file, at, to, visit);
    if (end === at && to === bytes) return at;
    window = end === at ? window * 2 : STEP_BYTES;
    at = end;
  }
  return bytes;
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
