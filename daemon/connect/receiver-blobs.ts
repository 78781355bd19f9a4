/** The files of a delivery: all of them are checked before any is written (PEER-018, PEER-037). */
import { createHash } from "node:crypto";
import { blobSetProblem } from "../../shared/wire/binding.ts";
import type { ConnectMessage } from "../../shared/wire/message.ts";
import type { ConnectBlob } from "../../shared/wire/peer.ts";
import { PeerRefusal } from "./peer-refusal.ts";

/** Characters that are decoded, compared and hashed before others have a turn; a multiple of four, so that each piece is base64 by itself. */
const PIECE_CHARACTERS = 256 * 1024;

/** The bytes of every file by its digest, in pieces. */
export type CheckedFiles = ReadonlyMap<string, readonly Buffer[]>;

/**
 * Throws connect_files_invalid unless exactly the attached files are there, each once, with their sizes and digests. Gives way to others
 * after each piece.
 */
export async function checkBlobs(
  message: ConnectMessage,
  blobs: readonly ConnectBlob[],
): Promise<CheckedFiles> {
  if (blobSetProblem(message, blobs) !== null) throw new PeerRefusal("connect_files_invalid");
  const sizes = new Map(message.attachments.map(({ sha256, bytes }) => [sha256, bytes]));
  const files = new Map<string, readonly Buffer[]>();
  for (const { sha256, base64 } of blobs) {
    const decoded = await decode(base64);
    if (decoded?.bytes !== sizes.get(sha256) || decoded?.sha256 !== sha256) {
      throw new PeerRefusal("connect_files_invalid");
    }
    files.set(sha256, decoded.pieces);
  }
  return files;
}

/** The pieces one by one; others have their turn between them. */
export async function* inTurns(pieces: readonly Buffer[]): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) {
    yield piece;
    await breathe();
  }
}

/** Null for what isn't canonical base64: it doesn't come back the same. */
async function decode(
  base64: string,
): Promise<{ pieces: readonly Buffer[]; bytes: number; sha256: string } | null> {
  const hash = createHash("sha256");
  const pieces: Buffer[] = [];
  let bytes = 0;
  for (let at = 0; at < base64.length; at += PIECE_CHARACTERS) {
    const text = base64.slice(at, at + PIECE_CHARACTERS);
    const piece = Buffer.from(text, "base64");
    // Padding in a piece that isn't the last would be canonical there, but not in the whole.
    const isShort = at + PIECE_CHARACTERS < base64.length && piece.length !== (PIECE_CHARACTERS / 4) * 3;
    if (isShort || piece.toString("base64") !== text) return null;
    hash.update(piece);
    pieces.push(piece);
    bytes += piece.length;
    await breathe();
  }
  return { pieces, bytes, sha256: hash.digest("hex") };
}

function breathe(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
