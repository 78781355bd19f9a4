/** The files of a delivery: all of them are checked before any is written (PEER-018, PEER-037). */
import { createHash } from "node:crypto";
import { blobSetProblem } from "../../shared/wire/binding.ts";
import type { ConnectMessage } from "../../shared/wire/message.ts";
import type { ConnectBlob } from "../../shared/wire/peer.ts";
import { PeerRefusal } from "./peer-refusal.ts";

const CHUNK_BYTES = 256 * 1024;

/**
 * The bytes of every file by its digest. Throws connect_files_invalid unless exactly the attached files are there, each once, with their
 * sizes and digests.
 */
export async function checkBlobs(
  message: ConnectMessage,
  blobs: readonly ConnectBlob[],
): Promise<Map<string, Buffer>> {
  if (blobSetProblem(message, blobs) !== null) throw new PeerRefusal("connect_files_invalid");
  const sizes = new Map(message.attachments.map(({ sha256, bytes }) => [sha256, bytes]));
  const files = new Map<string, Buffer>();
  for (const { sha256, base64 } of blobs) {
    const bytes = Buffer.from(base64, "base64");
    await breathe();
    // What doesn't come back wasn't canonical.
    const isWhole = bytes.length === sizes.get(sha256) && bytes.toString("base64") === base64;
    if (!isWhole || (await digestOf(bytes)) !== sha256) throw new PeerRefusal("connect_files_invalid");
    files.set(sha256, bytes);
  }
  return files;
}

/** The bytes in pieces; others have their turn between them. */
export async function* pieces(bytes: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) {
    yield bytes.subarray(at, at + CHUNK_BYTES);
    await breathe();
  }
}

async function digestOf(bytes: Buffer): Promise<string> {
  const hash = createHash("sha256");
  for await (const piece of pieces(bytes)) hash.update(piece);
  return hash.digest("hex");
}

function breathe(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
