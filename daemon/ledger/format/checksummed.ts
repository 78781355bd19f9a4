/**
 * Binary files next to the ledger that may be lost at any time: a header, sections, and a checksum
 * over all of it.
 */
import { crc32 } from "node:zlib";
import type { OpenFile } from "../../../platform/files.ts";

const PREAMBLE_BYTES = 16;
const HEADER_BYTES_MAX = 1024 * 1024;

/** The parts of a file: magic (8 bytes), header length, checksum, header as JSON, sections. */
export function checksummed(magic: string, header: object, sections: Uint8Array[]): Uint8Array[] {
  const json = Buffer.from(JSON.stringify(header));
  const preamble = Buffer.alloc(PREAMBLE_BYTES);
  preamble.write(magic, 0, 8, "latin1");
  preamble.writeUInt32LE(json.length, 8);
  let sum = crc32(json);
  for (const section of sections) sum = crc32(section, sum);
  preamble.writeUInt32LE(sum, 12);
  return [preamble, json, ...sections];
}

/**
 * Reads such a file. `sections` gets the header and returns the arrays to fill, or null if it has
 * no use for the file. False if anything is wrong; the arrays may then contain anything.
 */
export function readChecksummed(
  file: OpenFile,
  magic: string,
  sections: (header: unknown) => Uint8Array[] | null,
): boolean {
  const preamble = Buffer.alloc(PREAMBLE_BYTES);
  if (file.read(preamble, 0) < PREAMBLE_BYTES || preamble.toString("latin1", 0, 8) !== magic) return false;
  const length = preamble.readUInt32LE(8);
  if (length > HEADER_BYTES_MAX) return false;
  const json = Buffer.alloc(length);
  if (file.read(json, PREAMBLE_BYTES) < length) return false;
  let header: unknown;
  try {
    header = JSON.parse(json.toString("utf8"));
  } catch {
    return false;
  }
  const wanted = sections(header);
  if (wanted === null) return false;
  let sum = crc32(json);
  let position = PREAMBLE_BYTES + length;
  for (const section of wanted) {
    if (file.read(section, position) < section.length) return false;
    sum = crc32(section, sum);
    position += section.length;
  }
  return position === file.size() && sum === preamble.readUInt32LE(12);
}
