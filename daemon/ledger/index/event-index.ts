/**
 * Ids, positions, kinds, keys and references of every event of a Group, in typed arrays (about 48
 * bytes per event; a Map of strings takes ten times that). Two open-addressing tables lead from ids
 * and from key fingerprints to ordinals.
 */
import { wordsOfId } from "../format/event-id.ts";

const EMPTY = 0;
/** Tables are filled to this share before they grow to the lower one. */
const FULLEST = 0.75;
const ROOMY = 0.6;
const FIRST_CAPACITY = 64;
/** References mostly lead to a nearby event. */
const RECENT = 4096;
const LATER_WORDS = 5;
/** No source, no related event. */
export const NONE = 0xffffffff;

/** The columns of a run of events, as kept in an index file. */
export interface Columns {
  ids: Uint32Array;
  positions: Uint32Array;
  kinds: Uint8Array;
  keys: Uint32Array;
  sources: Uint32Array;
}

/** Both open-addressing tables as arrays of ordinal + 1. */
export interface Tables {
  ids: Uint32Array;
  keys: Uint32Array;
  /** Events with a key. */
  keyed: number;
}

export class EventIndex {
  count = 0;
  /** How many events an open is about to add: the tables needn't grow step by step. */
  #expected = 0;
  #ids = new Uint32Array(FIRST_CAPACITY * 4);
  #positions = new Uint32Array(FIRST_CAPACITY);
  #kinds = new Uint8Array(FIRST_CAPACITY);
  #keys = new Uint32Array(FIRST_CAPACITY * 2);
  /** The event before this one in the chain of its source: ordinal + 1, 0 for none. */
  #previous = new Uint32Array(FIRST_CAPACITY);
  /** The newest event that refers to this one: ordinal + 1, 0 for none. */
  #last = new Uint32Array(FIRST_CAPACITY);
  /** Ordinal + 1; 0 is free. */
  #idTable = new Uint32Array(FIRST_CAPACITY * 2);
  #keyTable = new Uint32Array(FIRST_CAPACITY * 2);
  /** Ordinal + 1 of recent events, by the end of their ids' first word. */
  readonly #recent = new Uint32Array(RECENT);
  /**
   * References to events that aren't recent, each the ordinal of its event and four words: they
   * wait until all ids are entered at once.
   */
  #later: number[] = [];
  /**
   * Entries of the key table, and how many events each table takes in; the rest follows with the
   * next lookup.
   */
  #keyed = 0;
  #idsEntered = 0;
  #keysEntered = 0;

  /** Bytes held by all arrays. */
  get bytes(): number {
    const arrays = [
      this.#ids,
      this.#positions,
      this.#kinds,
      this.#keys,
      this.#previous,
      this.#last,
      this.#idTable,
      this.#keyTable,
      this.#recent,
    ];
    return arrays.reduce((sum, array) => sum + array.byteLength, 0);
  }

  /**
   * Adds the next event. `position` is relative to its segment's file; `key` is null or its
   * fingerprint; `source` an ordinal or NONE.
   */
  add(id: Uint32Array, position: number, kind: number, key: Uint32Array | null, source: number): number {
    const ordinal = this.count;
    if (ordinal === this.#positions.length)
      this.#growColumns(ordinal + Math.max(FIRST_CAPACITY, ordinal >>> 3));
    const at = ordinal * 4;
    this.#ids[at] = id[0]!;
    this.#ids[at + 1] = id[1]!;
    this.#ids[at + 2] = id[2]!;
    this.#ids[at + 3] = id[3]!;
    this.#recent[id[0]! & (RECENT - 1)] = ordinal + 1;
    this.#positions[ordinal] = position;
    this.#kinds[ordinal] = kind;
    this.count = ordinal + 1;
    if (key !== null) {
      this.#keys[ordinal * 2] = key[0]!;
      this.#keys[ordinal * 2 + 1] = key[1]!;
    }
    if (source !== NONE) this.#relate(source, ordinal);
    return ordinal;
  }

  /** Makes room for about `total` events at once. */
  reserve(total: number): void {
    this.#expected = total;
    if (total > this.#positions.length) this.#growColumns(total);
  }

  /** Of the id whose four words begin at `from`; -1 when it isn't here. */
  ordinalOf(id: Uint32Array, from = 0): number {
    const ids = this.#ids;
    const a = id[from]!;
    const b = id[from + 1]!;
    const c = id[from + 2]!;
    const d = id[from + 3]!;
    const recent = this.#recentOf(id, from);
    if (recent >= 0) return recent;
    if (this.#idsEntered < this.count) this.#enterIds();
    const table = this.#idTable;
    let slot = home(mix(a, b, c, d), table.length);
    for (;;) {
      const entry = table[slot]!;
      if (entry === EMPTY) return -1;
      const at = (entry - 1) * 4;
      if (ids[at] === a && ids[at + 1] === b && ids[at + 2] === c && ids[at + 3] === d) return entry - 1;
      slot = slot + 1 === table.length ? 0 : slot + 1;
    }
  }

  /**
   * Ordinals of the events whose ids begin with these hex digits (1 to 32), oldest first; every id
   * is compared.
   */
  *startingWith(prefix: string): Generator<number> {
    const words = Math.ceil(prefix.length / 8);
    const wanted = new Uint32Array(4);
    wordsOfId(prefix.padEnd(32, "0"), wanted);
    // Of the last word only the digits that were given count.
    const mask = (0xffffffff << ((words * 8 - prefix.length) * 4)) >>> 0;
    for (let ordinal = 0; ordinal < this.count; ordinal++) {
      const at = ordinal * 4;
      let word = 0;
      while (word < words - 1 && this.#ids[at + word] === wanted[word]) word++;
      if (word === words - 1 && (this.#ids[at + word]! & mask) >>> 0 === wanted[word]) yield ordinal;
    }
  }

  #recentOf(id: Uint32Array, from: number): number {
    const recent = this.#recent[id[from]! & (RECENT - 1)]!;
    if (recent === EMPTY) return -1;
    const ids = this.#ids;
    const at = (recent - 1) * 4;
    const isIt =
      ids[at] === id[from] &&
      ids[at + 1] === id[from + 1] &&
      ids[at + 2] === id[from + 2] &&
      ids[at + 3] === id[from + 3];
    return isIt ? recent - 1 : -1;
  }

  /**
   * Every event whose key has this fingerprint, in append order, until `confirm` says that it is
   * the one. -1 when none is.
   */
  findKey(key: Uint32Array, confirm: (ordinal: number) => boolean): number {
    if (this.#keysEntered < this.count) this.#enterKeys();
    const table = this.#keyTable;
    let slot = home(key[0]!, table.length);
    for (;;) {
      const entry = table[slot]!;
      if (entry === EMPTY) return -1;
      const at = (entry - 1) * 2;
      if (this.#keys[at] === key[0] && this.#keys[at + 1] === key[1] && confirm(entry - 1)) return entry - 1;
      slot = slot + 1 === table.length ? 0 : slot + 1;
    }
  }

  position(ordinal: number): number {
    return this.#positions[ordinal]!;
  }

  kind(ordinal: number): number {
    return this.#kinds[ordinal]!;
  }

  id(ordinal: number): string {
    let text = "";
    for (let at = ordinal * 4; at < ordinal * 4 + 4; at += 1)
      text += this.#ids[at]!.toString(16).padStart(8, "0");
    return text;
  }

  /** Events that refer to this one, oldest first. */
  related(ordinal: number): number[] {
    const chain: number[] = [];
    for (let at = this.#last[ordinal]!; at !== 0; at = this.#previous[at - 1]!) chain.push(at - 1);
    return chain.reverse();
  }

  /**
   * The event before this one in the chain of those that refer to its source, and the newest below
   * `end` that refers to it; -1 for none.
   */
  links(ordinal: number, end: number): { previous: number; last: number } {
    let last = this.#last[ordinal]!;
    while (last > end) last = this.#previous[last - 1]!;
    return { previous: this.#previous[ordinal]! - 1, last: last - 1 };
  }

  /** Whether the event's key has the same fingerprint as another index gives it. */
  hasKeyOf(other: EventIndex, ordinal: number): boolean {
    const at = ordinal * 2;
    return this.#keys[at] === other.#keys[at] && this.#keys[at + 1] === other.#keys[at + 1];
  }

  /** Columns of `[first, first + count)`: views, and the sources worked out from the chains. */
  columns(first: number, count: number): Columns {
    const sources = new Uint32Array(count).fill(NONE);
    const end = first + count;
    for (let source = 0; source < end; source += 1) {
      for (let at = this.#last[source]!; at > first; at = this.#previous[at - 1]!) {
        if (at <= end) sources[at - 1 - first] = source;
      }
    }
    return {
      ids: this.#ids.subarray(first * 4, end * 4),
      positions: this.#positions.subarray(first, end),
      kinds: this.#kinds.subarray(first, end),
      keys: this.#keys.subarray(first * 2, end * 2),
      sources,
    };
  }

  /**
   * Adds `count` events whose columns `fill` writes in place; it returns whether they are good.
   * Sources must be older than their events. False leaves the index as it was.
   */
  load(count: number, fill: (columns: Columns) => boolean): boolean {
    this.#relateLater();
    const first = this.count;
    const sources = new Uint32Array(count);
    const columns = { ...this.#room(count), sources };
    if (!fill(columns)) {
      columns.keys.fill(0);
      return false;
    }
    this.count = first + count;
    for (let at = 0; at < count; at += 1) {
      const source = sources[at]!;
      if (source < first + at) this.#relate(source, first + at);
    }
    return true;
  }

  /** Adds `count` events whose columns `fill` writes in place; `refer` tells what they refer to. */
  extend(count: number, fill: (columns: Omit<Columns, "sources">) => void): void {
    fill(this.#room(count));
    this.count += count;
  }

  /**
   * After `extend` and before `settle`, for the events from `first` on: `referrers` tells which of
   * them refer to another one, counted from `first`, and `references` has the four words of the id
   * of each of those. An id that isn't here, or is no older event's, refers to nothing.
   */
  relateAll(first: number, referrers: Uint32Array, references: Uint32Array): void {
    const ids = this.#ids;
    let ordinal = first;
    for (let place = 0; place < referrers.length; place += 1) {
      const referrer = first + referrers[place]!;
      for (; ordinal < referrer; ordinal += 1) this.#recent[ids[ordinal * 4]! & (RECENT - 1)] = ordinal + 1;
      const source = this.#recentOf(references, place * 4);
      if (source >= 0) this.#relate(source, referrer);
      else this.#later.push(referrer, ...references.subarray(place * 4, place * 4 + 4));
    }
    for (; ordinal < this.count; ordinal += 1) this.#recent[ids[ordinal * 4]! & (RECENT - 1)] = ordinal + 1;
  }

  /** Relates and enters what isn't yet, so that the first lookup needn't. */
  settle(): void {
    this.#relateLater();
    if (this.#idsEntered < this.count) this.#enterIds();
    if (this.#keysEntered < this.count) this.#enterKeys();
  }

  /** The settled tables, for a file beside the ledger. */
  tables(): Tables {
    this.settle();
    return { ids: this.#idTable, keys: this.#keyTable, keyed: this.#keyed };
  }

  /**
   * Takes tables that hold exactly the events present now. `fill` writes them and returns whether
   * they are good.
   */
  loadTables(idSlots: number, keySlots: number, keyed: number, fill: (tables: Tables) => boolean): boolean {
    const ids = new Uint32Array(idSlots);
    const keys = new Uint32Array(keySlots);
    if (idSlots <= this.count || keySlots <= keyed || !fill({ ids, keys, keyed })) return false;
    this.#idTable = ids;
    this.#keyTable = keys;
    this.#keyed = keyed;
    this.#idsEntered = this.count;
    this.#keysEntered = this.count;
    return true;
  }

  /** The columns of the next `count` events. */
  #room(count: number): Omit<Columns, "sources"> {
    const first = this.count;
    const end = first + count;
    if (end > this.#positions.length) this.#growColumns(end);
    return {
      ids: this.#ids.subarray(first * 4, end * 4),
      positions: this.#positions.subarray(first, end),
      kinds: this.#kinds.subarray(first, end),
      keys: this.#keys.subarray(first * 2, end * 2),
    };
  }

  /**
   * An event that was once not found among the recent ones never is again, so that these come in
   * their order after the others.
   */
  #relateLater(): void {
    const later = Uint32Array.from(this.#later);
    this.#later = [];
    for (let at = 0; at < later.length; at += LATER_WORDS) {
      const referrer = later[at]!;
      const source = this.ordinalOf(later, at + 1);
      if (source >= 0 && source < referrer) this.#relate(source, referrer);
    }
  }

  #relate(source: number, ordinal: number): void {
    this.#previous[ordinal] = this.#last[source]!;
    this.#last[source] = ordinal + 1;
  }

  #enterIds(): void {
    if (this.count > this.#idTable.length * FULLEST) {
      const entries = Math.max(this.count, this.#expected);
      this.#idTable = new Uint32Array(slotsFor(entries, entries > this.count ? 0 : this.#idsEntered));
      this.#idsEntered = 0;
    }
    const table = this.#idTable;
    const ids = this.#ids;
    const { length } = table;
    for (let ordinal = this.#idsEntered; ordinal < this.count; ordinal += 1) {
      const at = ordinal * 4;
      let slot = home(mix(ids[at]!, ids[at + 1]!, ids[at + 2]!, ids[at + 3]!), length);
      while (table[slot] !== EMPTY) slot = slot + 1 === length ? 0 : slot + 1;
      table[slot] = ordinal + 1;
    }
    this.#idsEntered = this.count;
  }

  #enterKeys(): void {
    const keys = this.#keys;
    let keyed = this.#keyed;
    for (let ordinal = this.#keysEntered; ordinal < this.count; ordinal += 1) {
      if ((keys[ordinal * 2]! | keys[ordinal * 2 + 1]!) !== 0) keyed += 1;
    }
    if (keyed > this.#keyTable.length * FULLEST) {
      const share = Math.max(1, this.#expected / this.count);
      this.#keyTable = new Uint32Array(slotsFor(Math.ceil(keyed * share), share > 1 ? 0 : this.#keysEntered));
      this.#keysEntered = 0;
    }
    this.#keyed = keyed;
    const table = this.#keyTable;
    const { length } = table;
    for (let ordinal = this.#keysEntered; ordinal < this.count; ordinal += 1) {
      const high = keys[ordinal * 2]!;
      if ((high | keys[ordinal * 2 + 1]!) === 0) continue;
      let slot = home(high, length);
      while (table[slot] !== EMPTY) slot = slot + 1 === length ? 0 : slot + 1;
      table[slot] = ordinal + 1;
    }
    this.#keysEntered = this.count;
  }

  #growColumns(capacity: number): void {
    const used = this.count;
    this.#ids = widened(this.#ids, capacity * 4, used * 4);
    this.#positions = widened(this.#positions, capacity, used);
    this.#keys = widened(this.#keys, capacity * 2, used * 2);
    this.#previous = widened(this.#previous, capacity, used);
    this.#last = widened(this.#last, capacity, used);
    const kinds = new Uint8Array(capacity);
    kinds.set(this.#kinds.subarray(0, used));
    this.#kinds = kinds;
  }
}

/** Room for `entries` that are there at once, or for as many again as it takes to grow on. */
function slotsFor(entries: number, before: number): number {
  return Math.ceil(entries / (before === 0 ? FULLEST : ROOMY)) + 1;
}

function widened(array: Uint32Array, length: number, used: number): Uint32Array<ArrayBuffer> {
  const wider = new Uint32Array(length);
  wider.set(array.subarray(0, used));
  return wider;
}

function mix(a: number, b: number, c: number, d: number): number {
  let hash = Math.imul(a ^ (b << 13) ^ (b >>> 19), 0x9e3779b1) ^ c;
  hash = Math.imul(hash ^ (hash >>> 15) ^ (d << 7) ^ (d >>> 25), 0x85ebca77);
  return (hash ^ (hash >>> 13)) >>> 0;
}

/** Spreads a 32-bit hash over `length` slots, in its order. */
function home(hash: number, length: number): number {
  return Math.trunc((hash / 4294967296) * length);
}
