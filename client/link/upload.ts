/** Sends a file to the daemon over the local socket, as its bytes come. */
import { request } from "node:http";
import { pipeline } from "node:stream/promises";
import type { Attachment } from "../../shared/model.ts";
import { API_PREFIX } from "../../shared/names.ts";
import type { Envelope } from "../client.ts";
import { findEndpoint } from "../connection.ts";
import { DaemonUnreachable } from "../failures.ts";

export interface FileToUpload {
  groupId: string;
  name: string;
  mimeType: string;
  /** Exactly as many as the chunks have. */
  bytes: number;
  chunks: AsyncIterable<Uint8Array>;
}

/**
 * Returns the daemon's envelope, including refusals. Throws DaemonUnreachable, the signal's reason
 * after an abort, and what the chunks throw.
 */
export async function uploadFile(
  home: string,
  file: FileToUpload,
  signal: AbortSignal,
): Promise<Envelope<Attachment>> {
  const { socketPath, credential } = findEndpoint(home);
  const query = new URLSearchParams({ name: file.name });
  const posted = request({
    socketPath,
    method: "POST",
    path: `${API_PREFIX}/groups/${file.groupId}/uploads?${query}`,
    headers: {
      host: "localhost",
      ...credential,
      "content-type": file.mimeType === "" ? "application/octet-stream" : file.mimeType,
      "content-length": file.bytes,
    },
    agent: false,
    signal,
  });
  const answered = new Promise<Envelope<Attachment>>((resolve, reject) => {
    posted.once("response", (response) => {
      const parts: Buffer[] = [];
      response.on("data", (part: Buffer) => parts.push(part));
      response.once("error", reject);
      response.once("end", () => {
        try {
          resolve(JSON.parse(Buffer.concat(parts).toString("utf8")) as Envelope<Attachment>);
        } catch (error) {
          reject(new DaemonUnreachable(home, "its answer was cut off", error));
        }
      });
    });
    posted.once("error", reject);
  });
  // A refusal may come before the last byte was sent: it counts, not the pipe that broke.
  const sent = pipeline(file.chunks, posted, { signal });
  sent.catch(() => {});
  try {
    return await Promise.race([answered, sent.then(() => answered)]);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof DaemonUnreachable) throw error;
    const code = (error as NodeJS.ErrnoException).code ?? "error";
    throw new DaemonUnreachable(home, `the upload was interrupted: ${code}`, error);
  } finally {
    posted.destroy();
  }
}
