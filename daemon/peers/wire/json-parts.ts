/**
 * Outgoing JSON with files. Files bypass JSON.stringify, which would block the event loop for about
 * 50 ms at 14 MiB.
 */
import { BlobBytes } from "../../../shared/wire/v1/blob-bytes.ts";
import type { ConnectBlob } from "../../../shared/wire/v1/peer.ts";
import { encoded } from "./base64-pieces.ts";

/** The size of the pieces that a text is sent in. */
const PART_BYTES = 64 * 1024;
/** The end of a text whose list of files was left empty: the list comes last. */
const EMPTY_LIST = /\[\](\}*)$/u;

export interface JsonParts {
  /** Total bytes. */
  bytes: number;
  /**
   * Each piece is valid until the next one is requested. May throw when a file can't be read. Call
   * `return` if not all pieces are needed.
   */
  parts: Generator<Uint8Array, void>;
}

/** JSON with the base64 of each file cut out: one more string than there are files. */
interface Cut {
  texts: Buffer[];
  files: BlobBytes[];
}

/** The JSON of `value` after `head`. `blobs` is the list in it that may have files. */
export function jsonParts(value: unknown, blobs: readonly ConnectBlob[], head: Buffer): JsonParts {
  const { texts, files } = cut(value, blobs);
  const bytes =
    head.length +
    texts.reduce((sum, text) => sum + text.length, 0) +
    files.reduce((sum, { bytes }) => sum + Math.ceil(bytes / 3) * 4, 0);
  return { bytes, parts: partsOf(head, { texts, files }) };
}

function cut(value: unknown, blobs: readonly ConnectBlob[]): Cut {
  const plain = (): Cut => ({ texts: [Buffer.from(JSON.stringify(value))], files: [] });
  if (!blobs.some(({ base64 }) => base64 instanceof BlobBytes)) return plain();
  const shell = JSON.stringify(value, (name, member: unknown) =>
    name === "blobs" && member === blobs ? [] : member,
  );
  const behind = EMPTY_LIST.exec(shell)?.[1];
  if (behind === undefined) return plain();
  const texts: Buffer[] = [];
  const files: BlobBytes[] = [];
  let text = shell.slice(0, -behind.length - 1);
  for (const [index, { sha256, base64 }] of blobs.entries()) {
    if (index > 0) text += ",";
    if (!(base64 instanceof BlobBytes)) {
      text += JSON.stringify({ sha256, base64 });
      continue;
    }
    texts.push(Buffer.from(`${text}{"sha256":${JSON.stringify(sha256)},"base64":"`));
    files.push(base64);
    text = '"}';
  }
  texts.push(Buffer.from(`${text}]${behind}`));
  return { texts, files };
}

function* partsOf(head: Buffer, { texts, files }: Cut): Generator<Uint8Array, void> {
  for (const [index, text] of texts.entries()) {
    yield* sliced(index === 0 ? Buffer.concat([head, text]) : text);
    const file = files[index];
    if (file !== undefined) yield* base64Of(file);
  }
}

function* sliced(bytes: Buffer): Generator<Uint8Array, void> {
  for (let at = 0; at < bytes.length; at += PART_BYTES) yield bytes.subarray(at, at + PART_BYTES);
}

function* base64Of(file: BlobBytes): Generator<Uint8Array, void> {
  const part = Buffer.allocUnsafe(PART_BYTES);
  let filled = 0;
  for (const text of encoded(file)) {
    if (filled + text.length > PART_BYTES) {
      yield part.subarray(0, filled);
      filled = 0;
    }
    filled += part.write(text, filled, "latin1");
  }
  if (filled > 0) yield part.subarray(0, filled);
}
