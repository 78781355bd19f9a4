/** The files of a message, each once; base64 never touches the disk (OUT-008, OUT-009). */
import { BlobBytes } from "../../../shared/wire/v1/blob-bytes.ts";
import type { ConnectAttachment } from "../../../shared/wire/v1/message.ts";
import type { ConnectBlob } from "../../../shared/wire/v1/peer.ts";
import type { GroupChat } from "../../messaging/group-chat.ts";
import { ROOM_BYTES } from "../wire/base64-pieces.ts";

/** Throws blob_not_found. The files are read when their bytes are needed. */
export function outgoingBlobs(chat: GroupChat, attachments: readonly ConnectAttachment[]): ConnectBlob[] {
  const digests = new Set(attachments.map(({ sha256 }) => sha256));
  return [...digests].map((sha256) => {
    const { bytes, pieces } = chat.blobs.inPieces(sha256, ROOM_BYTES);
    return { sha256, base64: new BlobBytes(bytes, sha256, pieces) };
  });
}
