/**
 * What the index keeps of a run of events, column by column, before it is known which events they
 * refer to.
 */

const SMALLEST = 64;
/** The guessed bytes per line. */
const LINE_BYTES = 400;

export class EventColumns {
  count = 0;
  #capacity: number;
  /** Names of the codes in `codes`. */
  readonly kinds: string[] = [];
  /** Four words an event. */
  ids: Uint32Array;
  positions: Uint32Array;
  codes: Uint16Array;
  /** Two words an event; zeros for none. */
  keys: Uint32Array;
  /**
   * How many events refer to another one, where in the columns they stand, and the four words of
   * that one's id.
   */
  referring = 0;
  referrers: Uint32Array;
  references: Uint32Array;

  /** Room for the lines of this many bytes. It grows. */
  constructor(bytes: number) {
    const capacity = Math.max(SMALLEST, Math.ceil(bytes / LINE_BYTES));
    this.#capacity = capacity;
    this.ids = new Uint32Array(capacity * 4);
    this.positions = new Uint32Array(capacity);
    this.codes = new Uint16Array(capacity);
    this.keys = new Uint32Array(capacity * 2);
    this.referrers = new Uint32Array(capacity);
    this.references = new Uint32Array(capacity * 4);
  }

  clear(): void {
    this.keys.fill(0, 0, this.count * 2);
    this.count = 0;
    this.referring = 0;
  }

  /** The code of a kind, new or not. */
  codeOf(kind: string): number {
    const known = this.kinds.indexOf(kind);
    return known >= 0 ? known : this.kinds.push(kind) - 1;
  }

  /** `key` and `reference` are null for none. */
  add(
    id: Uint32Array,
    position: number,
    code: number,
    key: Uint32Array | null,
    reference: Uint32Array | null,
  ): void {
    const at = this.count;
    if (at === this.#capacity) this.#grow();
    const { ids } = this;
    ids[at * 4] = id[0]!;
    ids[at * 4 + 1] = id[1]!;
    ids[at * 4 + 2] = id[2]!;
    ids[at * 4 + 3] = id[3]!;
    this.positions[at] = position;
    this.codes[at] = code;
    if (key !== null) {
      this.keys[at * 2] = key[0]!;
      this.keys[at * 2 + 1] = key[1]!;
    }
    if (reference !== null) {
      const place = this.referring;
      const { references } = this;
      this.referrers[place] = at;
      references[place * 4] = reference[0]!;
      references[place * 4 + 1] = reference[1]!;
      references[place * 4 + 2] = reference[2]!;
      references[place * 4 + 3] = reference[3]!;
      this.referring = place + 1;
    }
    this.count = at + 1;
  }

  #grow(): void {
    const capacity = this.#capacity * 2;
    this.#capacity = capacity;
    this.ids = widened(this.ids, new Uint32Array(capacity * 4));
    this.positions = widened(this.positions, new Uint32Array(capacity));
    this.codes = widened(this.codes, new Uint16Array(capacity));
    this.keys = widened(this.keys, new Uint32Array(capacity * 2));
    this.referrers = widened(this.referrers, new Uint32Array(capacity));
    this.references = widened(this.references, new Uint32Array(capacity * 4));
  }
}

function widened<Column extends Uint16Array | Uint32Array>(column: Column, wider: Column): Column {
  wider.set(column);
  return wider;
}
