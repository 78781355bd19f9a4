/**
 * Reads every whole line that a damaged ledger still has, and finds out what is missing. Nothing on
 * disk is changed.
 */
import type { OpenFile } from "../../../platform/files.ts";
import type { LedgerEvent } from "../../../shared/events.ts";
import type { LedgerDamage } from "../../../shared/ledger-damage.ts";
import { LIMITS } from "../../../shared/limits.ts";
import { type Claim, claimsMissing } from "../files/claim.ts";
import { Finding } from "../files/finding.ts";
import { ACTIVE, type LoosePart, looseInventory, type Segment } from "../files/segments.ts";
import { pathOf, type Storage } from "../files/storage.ts";
import { decodeLine, SPACE } from "../format/line.ts";
import { History } from "../history.ts";
import { atOnce, scanLines } from "../index/line-scan.ts";
import { ParsedHead } from "../parsed-head.ts";
import type { LedgerOptions } from "../types.ts";
import { usedBytes } from "./active-file.ts";
import { contradiction, readClaims } from "./claims.ts";
import { damageBehind } from "./tail.ts";

/** Places near the end that may be where a crash tore a batch. */
const LOOKS_MAX = 20;

export interface Salvaged {
  /** What is left, in the order of the files. Its segments are for reading only. */
  history: History;
  /** Null when the ledger is whole. */
  damage: LedgerDamage | null;
}

/** Throws Refusal `ledger_corrupt` when not even the order of the files is certain. */
export function salvage(storage: Storage, options: LedgerOptions): Salvaged {
  const { files, directory } = storage;
  const names = files.stat(directory) === null ? [] : files.list(directory);
  const finding = new Finding();
  const parts = looseInventory(storage, names, finding);
  const history = new History(storage, options);
  history.isSalvaged = true;
  for (const projection of options.projections) projection.reset();
  try {
    for (const part of parts) new PartReader(history, part, finding).read();
  } catch (error) {
    history.closeFiles();
    throw error;
  }
  noteClaims(history, readClaims(storage, options.group_id, names), finding);
  if (history.count === 0 && options.isRecorded === true)
    finding.note("Events were recorded in this Group, but its ledger has none.", ACTIVE, 1);
  return { history, damage: finding.damage() };
}

/** What the files beside the ledger say and the history doesn't have. */
function noteClaims(history: History, claims: readonly Claim[], finding: Finding): void {
  const believed: Claim[] = [];
  for (const claim of claims) {
    const problem = contradiction(history, claim);
    if (problem === null) continue;
    const { made } = claim;
    const segment = made === null ? history.segments.at(-1) : history.segments[made.number - 1];
    finding.note(problem, segment?.name ?? ACTIVE, 0);
    believed.push(claim);
  }
  finding.expect(claimsMissing(history, believed));
}

/** Reads one file of the ledger, line by line. */
class PartReader {
  readonly #history: History;
  readonly #part: LoosePart;
  readonly #finding: Finding;
  readonly #segment: Segment;
  /** Lines of an atomic batch whose last one hasn't come yet. */
  #held: { event: LedgerEvent; position: number }[] = [];
  /** The end of what one torn batch can explain, until it is clear that it can't. */
  #used = 0;
  #isTorn = false;
  #wasBad = false;
  #looks = 0;

  constructor(history: History, part: LoosePart, finding: Finding) {
    this.#history = history;
    this.#part = part;
    this.#finding = finding;
    const { number, name } = part;
    const first = history.count;
    this.#segment = { number, name, bytes: 0, first, count: 0, sealed: true, cut: false, file: null };
  }

  read(): void {
    const { name, bytes, isThere } = this.#part;
    const history = this.#history;
    history.segments.push(this.#segment);
    if (!isThere) return;
    const file = history.storage.files.open(pathOf(history.storage, name), "read");
    try {
      const size = file.size();
      this.#used = name === ACTIVE && bytes === null ? usedBytes(file, size) : Math.min(size, bytes ?? size);
      this.#segment.bytes = this.#used;
      const end = atOnce(
        scanLines(file, 0, this.#used, (line, start, to, position) => {
          this.#line(file, line, start, to, position);
          return !this.#isTorn;
        }),
      );
      if (this.#isTorn) return;
      if (end < this.#used) this.#bad(file, end);
      // The rest of a batch that a crash tore belongs to no one; in a sealed file there is none.
      if (name !== ACTIVE) this.#flush();
    } finally {
      file.close();
    }
  }

  #line(file: OpenFile, line: Buffer, start: number, end: number, position: number): void {
    const event = start === end ? null : decodeLine(line.toString("utf8", start, end));
    if (event === null || event.group_id !== this.#history.options.group_id) {
      this.#bad(file, position);
      return;
    }
    this.#wasBad = false;
    if (line[end - 1] === SPACE) {
      this.#held.push({ event, position });
      return;
    }
    this.#flush();
    this.#take(event, position);
  }

  #flush(): void {
    for (const { event, position } of this.#held.splice(0)) this.#take(event, position);
  }

  #take(event: LedgerEvent, position: number): void {
    const history = this.#history;
    if (history.ordinalOf(event.id) !== undefined) {
      this.#finding.note(
        `${this.#part.name} has an event for a second time at byte ${position}.`,
        this.#part.name,
        0,
      );
      return;
    }
    history.append(event, history.keyOf(new ParsedHead(event)), position);
    this.#segment.count += 1;
  }

  #bad(file: OpenFile, position: number): void {
    // A run of them is one damage.
    if (this.#wasBad) return;
    this.#wasBad = true;
    const { name } = this.#part;
    const isNearEnd = this.#used - position <= LIMITS.ledger.batchBytes;
    if (name === ACTIVE && this.#part.bytes === null && isNearEnd && this.#looks < LOOKS_MAX) {
      this.#looks += 1;
      const place = { end: this.#held[0]?.position ?? position, used: this.#used };
      if (damageBehind(this.#history, file, place, LIMITS.ledger.batchBytes) === null) {
        this.#isTorn = true;
        this.#segment.bytes = place.end;
        return;
      }
    }
    this.#flush();
    this.#finding.badLine(name, position);
  }
}
