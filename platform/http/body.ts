/** Reads a JSON body and checks its type, size, time and strictness. */
import { isAscii } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { Refusal } from "../../shared/errors.ts";
import { LIMITS } from "../../shared/limits.ts";
import { sizeWords } from "../../shared/size-words.ts";
import { parseStrictJson, parseStrictJsonBytes, StrictJsonError } from "../../shared/strict-json.ts";
import type { Clock } from "../clock.ts";

const JSON_TYPE = /^application\/json(?:\s*;\s*charset\s*=\s*"?utf-8"?)?$/i;

/** `too_large` when the announced length passes `limit`, before a byte of it is read. */
export function checkLength(request: IncomingMessage, limit: number): Refusal | null {
  const announced = Number(request.headers["content-length"] ?? 0);
  return announced > limit ? tooLarge(limit) : null;
}

/**
 * The body as a value, of at most `limit` bytes. A missing body is `{}`. Rejects with a Refusal.
 */
export async function readJson(
  request: IncomingMessage,
  clock: Clock,
  limit: number = LIMITS.body.jsonBytes,
): Promise<unknown> {
  const empty =
    request.headers["transfer-encoding"] === undefined && (request.headers["content-length"] ?? "0") === "0";
  if (empty) return {};
  checkJsonType(request);
  return parseJson(await readBytes(request, clock, limit));
}

/** Throws `unsupported_media_type` for a body that isn't announced as plain JSON. */
export function checkJsonType({ headers }: IncomingMessage): void {
  if (!JSON_TYPE.test(headers["content-type"] ?? "")) throw new Refusal("unsupported_media_type");
  if ((headers["content-encoding"] ?? "identity") !== "identity") {
    const specifics = "The body has a content encoding.";
    throw new Refusal("unsupported_media_type", { specifics, remedy: "Send plain JSON." });
  }
}

/** Throws `invalid_request` for anything but strict JSON. */
export function parseJson(bytes: Buffer): unknown {
  try {
    // ASCII, which most bodies are, needs no decoder.
    if (isAscii(bytes)) return parseStrictJson(bytes.toString("latin1"));
    return parseStrictJsonBytes(bytes);
  } catch (error) {
    if (error instanceof StrictJsonError) throw new Refusal("invalid_request", { specifics: error.message });
    throw error;
  }
}

/** The bytes of a body, at most `limit`. Rejects with a Refusal. */
export async function readBytes(request: IncomingMessage, clock: Clock, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  await readChunks(request, clock, limit, (chunk) => void chunks.push(chunk));
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
}

/** Passes on the pieces of a body as they arrive. Rejects with a Refusal. */
export function readChunks(
  request: IncomingMessage,
  clock: Clock,
  limit: number,
  take: (chunk: Buffer) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let total = 0;
    const timer = clock.after(
      LIMITS.http.requestSeconds * 1000,
      () => finish(() => reject(new Refusal("request_timeout"))),
      { background: true },
    );
    const finish = (end: () => void): void => {
      timer.cancel();
      request.off("data", onData).off("end", onEnd).off("close", onClose);
      end();
    };
    const onData = (chunk: Buffer): void => {
      total += chunk.length;
      if (total > limit) finish(() => reject(tooLarge(limit)));
      else take(chunk);
    };
    const onEnd = (): void => finish(resolve);
    const onClose = (): void =>
      finish(() => reject(new Refusal("invalid_request", { specifics: "The request was cut off." })));
    // It may have ended before anyone read it.
    if (request.destroyed) onClose();
    else request.on("data", onData).on("end", onEnd).on("close", onClose);
  });
}

function tooLarge(limit: number): Refusal {
  return new Refusal("too_large", {
    specifics: `The body is larger than ${sizeWords(limit)}.`,
    details: { limit_bytes: limit },
  });
}
