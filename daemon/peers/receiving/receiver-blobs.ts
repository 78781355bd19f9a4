/** The files of a delivery: all of them are checked before any is written (PEER-018, PEER-037). */
import { blobSetProblem } from "../../../shared/wire/v1/binding.ts";
import { BlobBytes } from "../../../shared/wire/v1/blob-bytes.ts";
import type { ConnectMessage } from "../../../shared/wire/v1/message.ts";
import type { ConnectBlob } from "../../../shared/wire/v1/peer.ts";
import { Base64Decoder, PIECE_CHARACTERS } from "../wire/base64-pieces.ts";
import { PeerRefusal } from "../wire/peer-refusal.ts";

/** After this many pieces of a text, yields to the event loop. */
const PIECES_PER_TURN = 16;

/**
 * Throws connect_files_invalid unless exactly the attached files are there, each once, with their
 * sizes and digests.
 */
export async function checkBlobs(
  message: ConnectMessage,
  blobs: readonly ConnectBlob[],
): Promise<readonly BlobBytes[]> {
  if (blobSetProblem(message, blobs) !== null) throw new PeerRefusal("connect_files_invalid");
  const sizes = new Map(message.attachments.map(({ sha256, bytes }) => [sha256, bytes]));
  const files: BlobBytes[] = [];
  for (const { sha256, base64 } of blobs) {
    const file = base64 instanceof BlobBytes ? base64 : await decode(base64);
    if (file?.bytes !== sizes.get(sha256) || file?.sha256 !== sha256) {
      throw new PeerRefusal("connect_files_invalid");
    }
    files.push(file);
  }
  return files;
}

/** The pieces of a file one by one, yielding to the event loop between them. */
export async function* inTurns(file: BlobBytes): AsyncGenerator<Uint8Array> {
  for (const piece of file.read()) {
    yield piece;
    await breathe();
  }
}

/** Null if it isn't canonical base64. */
async function decode(base64: string): Promise<BlobBytes | null> {
  const decoder = new Base64Decoder();
  let turn = 0;
  for (let at = 0; at < base64.length; at += PIECE_CHARACTERS) {
    if (!decoder.push(base64.slice(at, at + PIECE_CHARACTERS))) return null;
    turn += 1;
    if (turn % PIECES_PER_TURN === 0) await breathe();
  }
  return decoder.end();
}

function breathe(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
