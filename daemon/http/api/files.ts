/** Files of messages over HTTP: streamed to disk and back, never whole in memory. */

import type { Clock } from "../../../platform/clock.ts";
import { answer } from "../../../platform/http/answer.ts";
import { queryFields, queryOf, wrongField } from "../../../platform/http/query.ts";
import { Refusal } from "../../../shared/errors.ts";
import { LIMITS } from "../../../shared/limits.ts";
import { type Attachment, GroupId, Sha256, text } from "../../../shared/model.ts";
import { overSize } from "../../../shared/size-words.ts";
import type { BlobReading } from "../../messaging/files/blobs.ts";
import { foreignGroup, mayEnter } from "../../operations/dispatcher.ts";
import { callerOfExchange, checkStillCaller, type Exchange, readerOfExchange } from "../exchange/exchange.ts";

/** What this needs of messaging. */
export interface FileStore {
  upload(
    groupId: string,
    chunks: AsyncIterable<Uint8Array>,
    /** `bytes` is how large it says it is. */
    file: { name: string; mime_type: string; bytes: number },
  ): Promise<Attachment>;
  openBlob(groupId: string, sha256: string, range?: { start: number; end: number }): BlobReading;
}

/** Types that a browser may show directly: images that can't contain scripts. */
const SHOWN_TYPES: ReadonlySet<string> = new Set([
  "image/png",
  "image/jpeg",
  "image/gif",
  "image/webp",
  "image/avif",
]);
const FileName = text(LIMITS.attachment.nameBytes);
const TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/;

/** The Group of the address, which the caller may enter. Throws invalid_args or group_not_found. */
export function groupOf(exchange: Exchange): string {
  const caller = readerOfExchange(exchange);
  const groupId = GroupId.safeParse(exchange.params["group_id"]).data;
  if (groupId === undefined) throw wrongField("group_id", "isn't a Group id (g_ followed by 12 hex digits)");
  if (!mayEnter(caller, groupId)) throw foreignGroup(groupId);
  return groupId;
}

/**
 * `POST G/uploads?name=...`: the body is the file, its type the Content-Type. Answers `{sha256,
 * bytes, name, mime_type, path}`.
 */
export async function serveUpload(store: FileStore, clock: Clock, exchange: Exchange): Promise<void> {
  const groupId = groupOf(exchange);
  if (callerOfExchange(exchange).kind === "exhibit") throw new Refusal("permission_denied");
  const name = queryFields(queryOf(exchange.request), ["name"]).get("name") ?? "file";
  if (name === "") throw wrongField("name", "is empty");
  if (name.includes("\0")) throw wrongField("name", "contains a NUL");
  if (!FileName.safeParse(name).success)
    throw wrongField("name", `is longer than ${LIMITS.attachment.nameBytes} bytes of UTF-8`);
  const { headers } = exchange.request;
  const length = headers["content-length"];
  if (length === undefined) throw new Refusal("length_required");
  const { uploadBytes } = LIMITS.attachment;
  if (Number(length) > uploadBytes) {
    throw new Refusal("too_large", {
      specifics: overSize("The file", Number(length), uploadBytes),
      remedy: "Send a smaller file.",
      details: { limit_bytes: uploadBytes },
    });
  }
  const type = (headers["content-type"] ?? "").split(";")[0]!.trim().toLowerCase();
  const mimeType = TYPE.test(type) ? type : "application/octet-stream";
  const chunks = withoutStall(exchange, clock, Number(length));
  const attachment = await store.upload(groupId, chunks, {
    name,
    mime_type: mimeType,
    bytes: Number(length),
  });
  answer(exchange.response, { ok: true, result: attachment }, exchange.id);
}

/**
 * The body's chunks. Throws if none comes for a while, if it ends early, or if the caller's
 * credential has ended.
 */
async function* withoutStall(exchange: Exchange, clock: Clock, length: number): AsyncGenerator<Uint8Array> {
  const { request } = exchange;
  const stalled = new Refusal("request_timeout");
  const arm = () =>
    clock.after(LIMITS.attachment.stallSeconds * 1000, () => request.destroy(stalled), { background: true });
  let timer = arm();
  let received = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      timer.cancel();
      received += chunk.length;
      checkStillCaller(exchange);
      yield chunk;
      timer = arm();
    }
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw new Refusal("invalid_request", { specifics: "The upload was cut off.", cause: error });
  } finally {
    timer.cancel();
  }
  if (received !== length) throw new Refusal("invalid_request", { specifics: "The upload was cut off." });
  checkStillCaller(exchange);
}

/**
 * `GET G/blobs/{sha256}?name=&type=`: serves one range. The bytes may come from anyone, so they are
 * a download without scripts, plugins or sniffing, except for images that the caller names as such.
 * `HEAD` answers once the whole file was checked.
 */
export async function serveBlob(store: FileStore, exchange: Exchange): Promise<void> {
  const groupId = groupOf(exchange);
  const { request, response } = exchange;
  const sha256 = Sha256.safeParse(exchange.params["sha256"]).data;
  if (sha256 === undefined) throw wrongField("sha256", "isn't a SHA-256 in lowercase hex");
  const fields = queryFields(queryOf(exchange.request), ["name", "type"]);
  const type = fields.get("type") ?? "";
  const shown = SHOWN_TYPES.has(type);
  const whole = store.openBlob(groupId, sha256, { start: 0, end: 0 }).bytes;
  const range = rangeOf(request.headers.range, request.headers["if-range"], `"${sha256}"`, whole);
  response.setHeader("Cache-Control", "private, no-store");
  response.setHeader("Content-Type", shown ? type : "application/octet-stream");
  response.setHeader("Content-Disposition", disposition(shown, fields.get("name")));
  response.setHeader("Content-Security-Policy", "sandbox; default-src 'none'");
  response.setHeader("X-Content-Type-Options", "nosniff");
  response.setHeader("Cross-Origin-Resource-Policy", "same-origin");
  response.setHeader("Accept-Ranges", "bytes");
  response.setHeader("ETag", `"${sha256}"`);
  if (range === "unsatisfiable") {
    response.writeHead(416, { "Content-Range": `bytes */${whole}`, "Content-Length": 0 });
    response.end();
    return;
  }
  const { start, end } = range ?? { start: 0, end: whole };
  const reading = store.openBlob(groupId, sha256, { start, end });
  await reading.ready(request.method === "HEAD");
  if (range !== null) {
    response.statusCode = 206;
    response.setHeader("Content-Range", `bytes ${start}-${end - 1}/${whole}`);
  }
  response.setHeader("Content-Length", end - start);
  await sendWhole(exchange, reading);
}

/** Sends what is being read, under headers that are set already. */
export async function sendWhole(exchange: Exchange, { start, end, chunks }: BlobReading): Promise<void> {
  const { request, response } = exchange;
  if (request.method === "HEAD" || end === start) {
    response.end();
    return;
  }
  for await (const chunk of chunks) {
    if (response.destroyed) return;
    // Nothing more is sent to a caller that lost access.
    if (exchange.lapsed() !== null) return void response.destroy();
    if (!response.write(chunk)) await drained(exchange);
  }
  response.end();
}

function drained({ response }: Exchange): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off("drain", done).off("close", done);
      resolve();
    };
    response.on("drain", done).on("close", done);
  });
}

/**
 * One byte range, null for the whole, as RFC 9110 section 14 has it; several ranges count as none.
 */
function rangeOf(
  header: string | undefined,
  ifRange: string | string[] | undefined,
  tag: string,
  size: number,
): { start: number; end: number } | "unsatisfiable" | null {
  if (header === undefined || (ifRange !== undefined && ifRange !== tag)) return null;
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header);
  if (match === null || (match[1] === "" && match[2] === "")) return null;
  if (match[1] === "") {
    const suffix = Math.min(Number(match[2]), size);
    return suffix === 0 ? "unsatisfiable" : { start: size - suffix, end: size };
  }
  const start = Number(match[1]);
  const end = match[2] === "" ? size : Math.min(Number(match[2]) + 1, size);
  if (match[2] !== "" && Number(match[2]) < start) return null;
  return start >= size ? "unsatisfiable" : { start, end };
}

/** RFC 6266, with the name in RFC 8187's form only where it isn't plain. */
function disposition(shown: boolean, name: string | undefined): string {
  const kind = shown ? "inline" : "attachment";
  if (name === undefined || name === "") return kind;
  const plain = name.replaceAll(/[^A-Za-z0-9 ._()-]/g, "_");
  const encoded = encodeURIComponent(name.toWellFormed()).replaceAll(
    /['()*]/g,
    (c) => `%${c.charCodeAt(0).toString(16)}`,
  );
  return `${kind}; filename="${plain}"; filename*=UTF-8''${encoded}`;
}
