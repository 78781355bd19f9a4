/** The files of a message as the wire carries them, each once; base64 never touches the disk (OUT-008, OUT-009). */
import type { ConnectAttachment } from "../../shared/wire/message.ts";
import type { ConnectBlob } from "../../shared/wire/peer.ts";
import type { GroupRoom } from "../messaging/group-room.ts";

/** A multiple of three, so that pieces of base64 join without padding between them. */
const PIECE_BYTES = 96 * 1024;

/** Throws blob_not_found, or Node's errors. Gives way to others while it reads. */
export async function readBlobs(
  room: GroupRoom,
  attachments: readonly ConnectAttachment[],
): Promise<ConnectBlob[]> {
  const blobs: ConnectBlob[] = [];
  for (const sha256 of new Set(attachments.map((attachment) => attachment.sha256))) {
    blobs.push({ sha256, base64: await base64Of(room.blobs.read(sha256).chunks) });
  }
  return blobs;
}

async function base64Of(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  let text = "";
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of chunks) {
    rest = rest.length === 0 ? Buffer.from(chunk) : Buffer.concat([rest, chunk]);
    while (rest.length >= PIECE_BYTES) {
      text += rest.subarray(0, PIECE_BYTES).toString("base64");
      rest = rest.subarray(PIECE_BYTES);
    }
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
  return text + rest.toString("base64");
}
