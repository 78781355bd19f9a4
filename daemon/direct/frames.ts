/**
 * Frames of a Direct channel: a 4-byte big-endian length and so many bytes of JSON (connect-service.md, "Limits"). The base64 of files goes
 * around JSON.parse and JSON.stringify, which would hold everybody up for some 50 ms at 14 MiB.
 */

import { parseStrictJsonBytes } from "../../shared/strict-json.ts";
import type { ConnectBlob } from "../../shared/wire/peer.ts";

const HEAD = 4;
/** Base64 of this many characters and more is bulk. */
const BULK_CHARACTERS = 64 * 1024;
/** What a frame is handed out in. */
const PART_BYTES = 256 * 1024;
const BULK_MEMBER = Buffer.from('"base64":"');
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** Stands for bulk within the rest of a frame that is read. No base64. */
const TOKEN = "*";
/** How a request with files ends when it has none: they come last. */
const BEHIND_BLOBS = "[]}}}";

type MaybeRequest = { request?: { operation?: { blobs?: readonly ConnectBlob[] } } } | null;

export interface Frame {
  /** Bytes of it all, the head included. */
  bytes: number;
  parts: Iterator<Uint8Array, void>;
}

/** Throws RangeError over `limit` bytes of JSON. */
export function encodeFrame(value: unknown, limit: number): Frame {
  const { rest, bulk } = split(value);
  const length =
    rest.reduce((sum, piece) => sum + piece.length, 0) + bulk.reduce((sum, piece) => sum + piece.length, 0);
  if (length > limit) throw new RangeError(`a frame of ${length} bytes is over ${limit}`);
  const head = Buffer.alloc(HEAD);
  head.writeUInt32BE(length, 0);
  return { bytes: HEAD + length, parts: partsOf(head, rest, bulk) };
}

/** JSON in pieces: bulk, which is our own base64, so pure ASCII in which nothing is escaped, and what stands before, between and behind. */
function split(value: unknown): { rest: Buffer[]; bulk: string[] } {
  const operation = (value as MaybeRequest)?.request?.operation;
  const blobs = operation?.blobs ?? [];
  const bulk: string[] = [];
  const plain = (): { rest: Buffer[]; bulk: string[] } => ({
    rest: [Buffer.from(JSON.stringify(value))],
    bulk,
  });
  if (!blobs.some(isBulky)) return plain();
  const shell = JSON.stringify(value, (name, member: unknown) =>
    name === "blobs" && member === blobs ? [] : member,
  );
  if (!shell.endsWith(BEHIND_BLOBS)) return plain();
  const rest: Buffer[] = [];
  let text = shell.slice(0, -BEHIND_BLOBS.length + 1);
  for (const [index, blob] of blobs.entries()) {
    if (index > 0) text += ",";
    if (!isBulky(blob)) {
      text += JSON.stringify(blob);
      continue;
    }
    rest.push(Buffer.from(`${text}{"sha256":${JSON.stringify(blob.sha256)},"base64":"`));
    bulk.push(blob.base64);
    text = '"}';
  }
  rest.push(Buffer.from(text + BEHIND_BLOBS.slice(1)));
  return { rest, bulk };
}

function isBulky({ base64 }: ConnectBlob): boolean {
  return base64.length >= BULK_CHARACTERS;
}

function* partsOf(
  head: Buffer,
  rest: readonly Buffer[],
  bulk: readonly string[],
): Generator<Uint8Array, void> {
  let small: Buffer[] = [head];
  for (const [index, piece] of rest.entries()) {
    small.push(piece);
    const text = bulk[index];
    if (text === undefined) continue;
    yield* sliced(Buffer.concat(small));
    small = [];
    for (let at = 0; at < text.length; at += PART_BYTES) {
      yield Buffer.from(text.slice(at, at + PART_BYTES), "latin1");
    }
  }
  yield* sliced(Buffer.concat(small));
}

function* sliced(bytes: Buffer): Generator<Uint8Array, void> {
  for (let at = 0; at < bytes.length; at += PART_BYTES) yield bytes.subarray(at, at + PART_BYTES);
}

/** Puts frames together from whatever pieces they arrive in. Holds at most one frame and the piece that arrived last. */
export class FrameReader {
  #limit: number;
  /** Bytes that no frame has taken up yet. */
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  /** The frame that is being filled; null before its head is whole. */
  #body: Buffer | null = null;
  #filled = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** For frames that begin from now on. */
  set limit(bytes: number) {
    this.#limit = bytes;
  }

  /** Bytes that wait. */
  get held(): number {
    return this.#waitingBytes + this.#filled;
  }

  push(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#waiting.push(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length));
    this.#waitingBytes += bytes.length;
    if (this.#body !== null) this.#fill(this.#body);
  }

  /** The next whole frame's value, undefined while there is none. Throws RangeError for one over the limit, StrictJsonError for what isn't JSON. */
  next(): unknown {
    if (this.#body === null) {
      if (this.#waitingBytes < HEAD) return undefined;
      const length = this.#head();
      if (length > this.#limit) throw new RangeError(`a frame of ${length} bytes is over ${this.#limit}`);
      this.#body = Buffer.allocUnsafe(length);
      this.#filled = 0;
      this.#fill(this.#body);
    }
    const body = this.#body;
    if (this.#filled < body.length) return undefined;
    this.#body = null;
    this.#filled = 0;
    return parseBody(body);
  }

  #head(): number {
    const first = this.#waiting[0]!;
    const whole = first.length >= HEAD ? first : Buffer.concat(this.#waiting);
    this.#waiting = whole === first ? this.#waiting : [whole];
    this.#waiting[0] = whole.subarray(HEAD);
    this.#waitingBytes -= HEAD;
    return whole.readUInt32BE(0);
  }

  #fill(body: Buffer): void {
    while (this.#waiting.length > 0 && this.#filled < body.length) {
      const piece = this.#waiting[0]!;
      const taken = piece.copy(body, this.#filled);
      this.#filled += taken;
      this.#waitingBytes -= taken;
      if (taken === piece.length) this.#waiting.shift();
      else this.#waiting[0] = piece.subarray(taken);
    }
  }
}

/**
 * Strict JSON, with bulk cut out before and put back after. What is cut has no escape in it; whether it is base64 its reader finds out,
 * who decodes it. A quote inside a JSON string is escaped, so that the member's name is found only where a member is.
 */
function parseBody(body: Buffer): unknown {
  const bulk: string[] = [];
  const rest: Buffer[] = [];
  let from = 0;
  let search = 0;
  while (body.length - search >= BULK_CHARACTERS) {
    const found = body.indexOf(BULK_MEMBER, search);
    if (found === -1) break;
    const begin = found + BULK_MEMBER.length;
    const end = body.indexOf(QUOTE, begin);
    if (end === -1) break;
    search = end;
    const cut = body.subarray(begin, end);
    if (cut.length < BULK_CHARACTERS || cut.includes(BACKSLASH)) continue;
    rest.push(body.subarray(from, begin), Buffer.from(TOKEN));
    bulk.push(cut.toString("latin1"));
    from = end;
  }
  if (bulk.length === 0) return parseStrictJsonBytes(body);
  rest.push(body.subarray(from));
  const value = parseStrictJsonBytes(Buffer.concat(rest));
  if (putBack(value, bulk) !== bulk.length) throw new RangeError("a frame has files in a strange place");
  return value;
}

/** Files stand in order where an operation has them, and nowhere else. Answers how many were put back. */
function putBack(value: unknown, bulk: readonly string[]): number {
  const blobs = (value as { request?: { operation?: { blobs?: unknown } } } | null)?.request?.operation
    ?.blobs;
  if (!Array.isArray(blobs)) return 0;
  let next = 0;
  for (const blob of blobs as ({ base64?: unknown } | null)[]) {
    if (blob?.base64 !== TOKEN) continue;
    blob.base64 = bulk[next];
    next += 1;
  }
  return next;
}
