/**
 * Ids, positions, kinds, keys and references of every event of a Group, in typed arrays (about 48 bytes an event; a Map of strings takes
 * ten times that). Two open-addressing tables lead from ids and from key fingerprints to ordinals.
 */
const EMPTY = 0;
/** Tables are filled to this share before they grow to the lower one. */
const FULLEST = 0.75;
const ROOMY = 0.6;
const FIRST_CAPACITY = 64;
/** No source, no related event. */
export const NONE = 0xffffffff;

/** A key's 64-bit fingerprint (two rounds of a multiplicative hash with different constants); never 0, which means "no key". */
export function fingerprint(key: string, words: Uint32Array): void {
  let high = 0x9e3779b9 ^ key.length;
  let low = 0x85ebca6b;
  for (let at = 0; at < key.length; at += 1) {
    const code = key.charCodeAt(at);
    high = Math.imul(high ^ code, 0xcc9e2d51);
    high = (high << 15) | (high >>> 17);
    low = Math.imul(low ^ code, 0x01000193);
    low ^= low >>> 13;
  }
  high ^= high >>> 16;
  high = Math.imul(high, 0x7feb352d) ^ low;
  low = Math.imul(low ^ (low >>> 15), 0x846ca68b) ^ (high >>> 13);
  words[0] = high;
  words[1] = high === 0 && low === 0 ? 1 : low;
}

/** The columns of a run of events, as kept in an index file. */
export interface Columns {
  ids: Uint32Array;
  positions: Uint32Array;
  kinds: Uint8Array;
  keys: Uint32Array;
  sources: Uint32Array;
}

export class EventIndex {
  count = 0;
  #ids = new Uint32Array(FIRST_CAPACITY * 4);
  #positions = new Uint32Array(FIRST_CAPACITY);
  #kinds = new Uint8Array(FIRST_CAPACITY);
  #keys = new Uint32Array(FIRST_CAPACITY * 2);
  /** The event before this one in the chain of its source. */
  #previous = new Uint32Array(FIRST_CAPACITY).fill(NONE);
  /** The newest event that refers to this one. */
  #last = new Uint32Array(FIRST_CAPACITY).fill(NONE);
  /** Ordinal + 1; 0 is free. */
  #idTable = new Uint32Array(FIRST_CAPACITY * 2);
  #keyTable = new Uint32Array(FIRST_CAPACITY * 2);
  #keyed = 0;

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
    ];
    return arrays.reduce((sum, array) => sum + array.byteLength, 0);
  }

  /** Adds the next event. `position` is relative to its segment's file; `key` is null or its fingerprint; `source` an ordinal or NONE. */
  add(id: Uint32Array, position: number, kind: number, key: Uint32Array | null, source: number): number {
    const ordinal = this.count;
    if (ordinal === this.#positions.length)
      this.#growColumns(ordinal + Math.max(FIRST_CAPACITY, ordinal >>> 3));
    this.#ids.set(id, ordinal * 4);
    this.#positions[ordinal] = position;
    this.#kinds[ordinal] = kind;
    this.count = ordinal + 1;
    this.#enterId(ordinal);
    if (key !== null) {
      this.#keys[ordinal * 2] = key[0]!;
      this.#keys[ordinal * 2 + 1] = key[1]!;
      this.#enterKey(ordinal);
    }
    if (source !== NONE) this.#relate(source, ordinal);
    return ordinal;
  }

  /** Makes room for `total` events at once. */
  reserve(total: number): void {
    if (total > this.#positions.length) this.#growColumns(total);
    if (total > this.#idTable.length * FULLEST) this.#growIds(Math.ceil(total / FULLEST) + 1);
  }

  ordinalOf(id: Uint32Array): number {
    const table = this.#idTable;
    const ids = this.#ids;
    const [a, b, c, d] = id as unknown as [number, number, number, number];
    let slot = home(mix(a, b, c, d), table.length);
    for (;;) {
      const entry = table[slot]!;
      if (entry === EMPTY) return -1;
      const at = (entry - 1) * 4;
      if (ids[at] === a && ids[at + 1] === b && ids[at + 2] === c && ids[at + 3] === d) return entry - 1;
      slot = slot + 1 === table.length ? 0 : slot + 1;
    }
  }

  /** Every event whose key has this fingerprint, in append order, until `confirm` says that it is the one. -1 when none is. */
  findKey(key: Uint32Array, confirm: (ordinal: number) => boolean): number {
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
    for (let at = this.#last[ordinal]!; at !== NONE; at = this.#previous[at]!) chain.push(at);
    return chain.reverse();
  }

  /** Columns of `[first, first + count)`: views, and the sources worked out from the chains. */
  columns(first: number, count: number): Columns {
    const sources = new Uint32Array(count).fill(NONE);
    const end = first + count;
    for (let source = 0; source < end; source += 1) {
      for (let at = this.#last[source]!; at !== NONE && at >= first; at = this.#previous[at]!) {
        if (at < end) sources[at - first] = source;
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
   * Adds `count` events whose columns `fill` writes in place, and enters them into the tables when it returns true. Sources must be
   * older than their events. False leaves the index as it was.
   */
  load(count: number, fill: (columns: Columns) => boolean): boolean {
    const first = this.count;
    const end = first + count;
    this.reserve(end);
    const columns: Columns = {
      ids: this.#ids.subarray(first * 4, end * 4),
      positions: this.#positions.subarray(first, end),
      kinds: this.#kinds.subarray(first, end),
      keys: this.#keys.subarray(first * 2, end * 2),
      sources: new Uint32Array(count),
    };
    if (!fill(columns)) {
      columns.keys.fill(0);
      return false;
    }
    let keyed = 0;
    for (let at = 0; at < columns.keys.length; at += 2)
      if ((columns.keys[at]! | columns.keys[at + 1]!) !== 0) keyed += 1;
    if (this.#keyed + keyed > this.#keyTable.length * FULLEST)
      this.#growKeys(Math.ceil((this.#keyed + keyed) / FULLEST) + 1);
    this.count = end;
    this.#enterIds(first, end);
    if (keyed > 0) this.#enterKeys(first, end);
    for (let at = 0; at < count; at += 1) {
      const source = columns.sources[at]!;
      if (source < first + at) this.#relate(source, first + at);
    }
    return true;
  }

  #relate(source: number, ordinal: number): void {
    this.#previous[ordinal] = this.#last[source]!;
    this.#last[source] = ordinal;
  }

  #enterId(ordinal: number): void {
    if (this.count > this.#idTable.length * FULLEST) this.#growIds(Math.ceil(this.count / ROOMY));
    else this.#enterIds(ordinal, ordinal + 1);
  }

  #enterIds(from: number, to: number): void {
    const table = this.#idTable;
    const ids = this.#ids;
    const { length } = table;
    for (let ordinal = from; ordinal < to; ordinal += 1) {
      const at = ordinal * 4;
      let slot = home(mix(ids[at]!, ids[at + 1]!, ids[at + 2]!, ids[at + 3]!), length);
      while (table[slot] !== EMPTY) slot = slot + 1 === length ? 0 : slot + 1;
      table[slot] = ordinal + 1;
    }
  }

  #enterKey(ordinal: number): void {
    if (this.#keyed + 1 > this.#keyTable.length * FULLEST)
      this.#growKeys(Math.ceil((this.#keyed + 1) / ROOMY), ordinal);
    this.#enterKeys(ordinal, ordinal + 1);
  }

  #enterKeys(from: number, to: number): void {
    const table = this.#keyTable;
    const keys = this.#keys;
    const { length } = table;
    for (let ordinal = from; ordinal < to; ordinal += 1) {
      const high = keys[ordinal * 2]!;
      if ((high | keys[ordinal * 2 + 1]!) === 0) continue;
      this.#keyed += 1;
      let slot = home(high, length);
      while (table[slot] !== EMPTY) slot = slot + 1 === length ? 0 : slot + 1;
      table[slot] = ordinal + 1;
    }
  }

  #growIds(slots: number): void {
    this.#idTable = new Uint32Array(slots);
    this.#enterIds(0, this.count);
  }

  #growKeys(slots: number, count = this.count): void {
    this.#keyTable = new Uint32Array(slots);
    this.#keyed = 0;
    this.#enterKeys(0, count);
  }

  #growColumns(capacity: number): void {
    const used = this.count;
    this.#ids = widened(this.#ids, capacity * 4, used * 4);
    this.#positions = widened(this.#positions, capacity, used);
    this.#keys = widened(this.#keys, capacity * 2, used * 2);
    this.#previous = widened(this.#previous, capacity, used).fill(NONE, used);
    this.#last = widened(this.#last, capacity, used).fill(NONE, used);
    const kinds = new Uint8Array(capacity);
    kinds.set(this.#kinds.subarray(0, used));
    this.#kinds = kinds;
  }
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
