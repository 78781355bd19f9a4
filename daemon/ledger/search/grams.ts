/**
 * Filters over blocks of lines: which runs of three and of four bytes a block's folded texts
 * contain. A query's own runs must all be there, or nothing in the block matches. A filter has one
 * row of bits per slot and one bit per block in each row, so that a query reads a few short rows
 * instead of every block's filter.
 */
const SLOT_BITS = 14;
export const SLOTS = 1 << SLOT_BITS;
/** More runs than this hardly exclude more blocks. */
const QUERY_SLOTS = 16;

function slotOfThree(run: number): number {
  return Math.imul(run ^ (run >>> 11), 0x9e3779b1) >>> (32 - SLOT_BITS);
}

/** Short queries have nothing else, so runs of three set a second bit. */
function otherSlotOfThree(run: number): number {
  return Math.imul(run ^ (run >>> 9), 0xc2b2ae3d) >>> (32 - SLOT_BITS);
}

function slotOfFour(run: number): number {
  return Math.imul(run ^ (run >>> 15), 0x85ebca77) >>> (32 - SLOT_BITS);
}

/** The runs of one block. */
export class BlockGrams {
  readonly #words = new Uint32Array(SLOTS / 32);

  add(text: string): void {
    const bytes = Buffer.from(text);
    const words = this.#words;
    let run = 0;
    for (let at = 0; at < bytes.length; at += 1) {
      // The newest byte is the highest, so that dropping the oldest leaves the last three.
      run = (run >>> 8) | (bytes[at]! << 24);
      if (at < 2) continue;
      const three = slotOfThree(run >>> 8);
      words[three >>> 5]! |= 1 << (three & 31);
      const other = otherSlotOfThree(run >>> 8);
      words[other >>> 5]! |= 1 << (other & 31);
      if (at < 3) continue;
      const four = slotOfFour(run);
      words[four >>> 5]! |= 1 << (four & 31);
    }
  }

  /** Sets the block's bit in the rows of all its runs, and starts over. */
  moveTo(rows: Uint32Array, width: number, block: number): void {
    const place = block >>> 5;
    const bit = 1 << (block & 31);
    const words = this.#words;
    for (let word = 0; word < words.length; word += 1) {
      for (let rest = words[word]!; rest !== 0; rest &= rest - 1) {
        const slot = word * 32 + 31 - Math.clz32(rest & -rest);
        rows[slot * width + place]! |= bit;
      }
    }
    words.fill(0);
  }
}

/**
 * The rows that a folded query needs, all of them; null when it is too short for a filter to say
 * anything.
 */
export function querySlots(query: string): number[] | null {
  const bytes = Buffer.from(query);
  // Half a surrogate pair has no bytes of its own, but matches half of a pair.
  if (bytes.length < 3 || !query.isWellFormed()) return null;
  const fours: number[] = [];
  const threes: number[] = [];
  for (let at = 2; at < bytes.length; at += 1) {
    const three = bytes[at - 2]! | (bytes[at - 1]! << 8) | (bytes[at]! << 16);
    threes.push(slotOfThree(three), otherSlotOfThree(three));
    if (at > 2) fours.push(slotOfFour((three << 8) | bytes[at - 3]!));
  }
  return [...new Set([...spread(fours), ...spread(threes)])].slice(0, QUERY_SLOTS);
}

/** Some of many, from all over. */
function spread(slots: number[]): number[] {
  const step = Math.max(1, slots.length / QUERY_SLOTS);
  const chosen: number[] = [];
  for (let at = 0; at < slots.length; at += step) chosen.push(slots[Math.floor(at)]!);
  return chosen;
}
