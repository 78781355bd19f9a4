/**
 * What waits, in ledger order: ordinals with the first half of each event id, 12 bytes per entry,
 * so that an unread Inbox stays cheap. Ids are looked up only among what waits, where 64 bits are
 * enough to distinguish them.
 */
const SMALLEST = 16;
const ENTRY_BYTES = 12;
/** Fewer entries than this are searched one by one. */
const INDEXED_FROM = 64;

export class Backlog {
  #ordinals = new Uint32Array(SMALLEST);
  #high = new Uint32Array(SMALLEST);
  #low = new Uint32Array(SMALLEST);
  #start = 0;
  #end = 0;
  /**
   * The places of entries, by the second half of the stored part of their ids: open addressing, 0
   * is free, else the place plus 1. Built when a search needs it. Removed entries stay in it and
   * are skipped.
   */
  #places: Uint32Array | null = null;
  #placed = 0;

  get count(): number {
    return this.#end - this.#start;
  }

  /** Adds after all others. */
  push(ordinal: number, id: string): void {
    if (this.#end === this.#ordinals.length) this.#makeRoom();
    this.#ordinals[this.#end] = ordinal;
    this.#high[this.#end] = hexWord(id, 0);
    this.#low[this.#end] = hexWord(id, 8);
    if (this.#places !== null) this.#place(this.#places, this.#end);
    this.#end += 1;
  }

  /** Ordinal of the entry at `place`, counted from the oldest. */
  at(place: number): number {
    return this.#ordinals[this.#start + place]!;
  }

  /** Place of the event with this id, the oldest of several; -1 when it doesn't wait here. */
  find(id: string): number {
    const high = hexWord(id, 0);
    const low = hexWord(id, 8);
    if (this.count >= INDEXED_FROM) return this.#lookUp(high, low);
    for (let at = this.#start; at < this.#end; at += 1) {
      if (this.#high[at] === high && this.#low[at] === low) return at - this.#start;
    }
    return -1;
  }

  /** How many entries are at or before this ordinal. */
  countThrough(ordinal: number): number {
    let low = this.#start;
    let high = this.#end;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#ordinals[middle]! <= ordinal) low = middle + 1;
      else high = middle;
    }
    return low - this.#start;
  }

  has(ordinal: number): boolean {
    const through = this.countThrough(ordinal);
    return through > 0 && this.at(through - 1) === ordinal;
  }

  /** Removes the oldest `count` entries. */
  drop(count: number): void {
    this.#start += count;
    if (this.#start === this.#end) this.clear();
    else if (this.#start > 4096 && this.#start > this.#end - this.#start) this.#makeRoom();
  }

  /** Removes one entry. */
  remove(place: number): void {
    if (place === 0) return this.drop(1);
    const at = this.#start + place;
    for (const column of [this.#ordinals, this.#high, this.#low]) column.copyWithin(at, at + 1, this.#end);
    this.#end -= 1;
    this.#places = null;
  }

  clear(): void {
    this.#start = 0;
    this.#end = 0;
    this.#places = null;
    if (this.#ordinals.length > SMALLEST) this.#resize(SMALLEST);
  }

  /** Base64 of all entries, for a checkpoint. */
  encode(): string {
    const bytes = Buffer.alloc(this.count * ENTRY_BYTES);
    for (let place = 0; place < this.count; place += 1) {
      const at = this.#start + place;
      bytes.writeUInt32LE(this.#ordinals[at]!, place * ENTRY_BYTES);
      bytes.writeUInt32LE(this.#high[at]!, place * ENTRY_BYTES + 4);
      bytes.writeUInt32LE(this.#low[at]!, place * ENTRY_BYTES + 8);
    }
    return bytes.toString("base64");
  }

  /** Throws unless `encode` made the text. */
  static decode(text: string): Backlog {
    const bytes = Buffer.from(text, "base64");
    // The decoder skips what isn't base64.
    if (bytes.length % ENTRY_BYTES !== 0 || bytes.toString("base64") !== text)
      throw new Error("not a backlog");
    const backlog = new Backlog();
    const count = bytes.length / ENTRY_BYTES;
    backlog.#resize(Math.max(SMALLEST, count));
    for (let place = 0; place < count; place += 1) {
      backlog.#ordinals[place] = bytes.readUInt32LE(place * ENTRY_BYTES);
      backlog.#high[place] = bytes.readUInt32LE(place * ENTRY_BYTES + 4);
      backlog.#low[place] = bytes.readUInt32LE(place * ENTRY_BYTES + 8);
    }
    backlog.#end = count;
    return backlog;
  }

  #lookUp(high: number, low: number): number {
    const places = this.#places ?? this.#index();
    const mask = places.length - 1;
    for (let slot = low & mask; places[slot] !== 0; slot = (slot + 1) & mask) {
      const at = places[slot]! - 1;
      if (at >= this.#start && this.#low[at] === low && this.#high[at] === high) return at - this.#start;
    }
    return -1;
  }

  #index(): Uint32Array {
    let slots = 4 * INDEXED_FROM;
    while (slots < 4 * this.count) slots *= 2;
    const places = new Uint32Array(slots);
    this.#places = places;
    this.#placed = 0;
    for (let at = this.#start; at < this.#end; at += 1) this.#place(places, at);
    return places;
  }

  /** The next search rebuilds a table that is half full. */
  #place(places: Uint32Array, at: number): void {
    this.#placed += 1;
    if (this.#placed * 2 > places.length) {
      this.#places = null;
      return;
    }
    const mask = places.length - 1;
    let slot = this.#low[at]! & mask;
    while (places[slot] !== 0) slot = (slot + 1) & mask;
    places[slot] = at + 1;
  }

  #makeRoom(): void {
    this.#resize(Math.max(SMALLEST, 2 * this.count));
  }

  #resize(length: number): void {
    const move = (column: Uint32Array): Uint32Array<ArrayBuffer> => {
      const moved = new Uint32Array(length);
      moved.set(column.subarray(this.#start, this.#end));
      return moved;
    };
    this.#ordinals = move(this.#ordinals);
    this.#high = move(this.#high);
    this.#low = move(this.#low);
    if (this.#start > 0) this.#places = null;
    this.#end -= this.#start;
    this.#start = 0;
  }
}

/** Eight hex digits of an id from `start` on, as a 32-bit number. */
function hexWord(id: string, start: number): number {
  let word = 0;
  for (let at = start; at < start + 8; at += 1) {
    const code = id.charCodeAt(at);
    // "0" is 48 and "a" is 97.
    word = (word << 4) | (code < 58 ? code - 48 : code - 87);
  }
  return word >>> 0;
}
