/** Renders envelopes over node:http, the same for every listener. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { brotliCompress, constants, gzip } from "node:zlib";
import type { Refusal } from "../../shared/errors.ts";
import { HEADERS } from "../../shared/names.ts";
import { failure, type Outcome } from "../../shared/operations/outcome.ts";

const RETRY_SECONDS = 60;
/**
 * Shorter answers fit one packet anyway. Tokens and links, which are shown once, are far shorter.
 */
const COMPRESSED_FROM = 2048;
/** Chosen for the server's time: higher levels take several times as long to save a tenth. */
const BROTLI_QUALITY = 4;
const GZIP_LEVEL = 4;

/** Answers in progress, so that none is given twice. */
const answered = new WeakSet<ServerResponse>();

export type Encoding = "br" | "gzip";

/** The encoding that the client accepts; null for none. */
export function encodingFor(request: IncomingMessage): Encoding | null {
  const accepted = new Set(
    (request.headers["accept-encoding"] ?? "")
      .toLowerCase()
      .split(",")
      .filter((entry) => !/;\s*q=0(?:\.0*)?\s*$/.test(entry))
      .map((entry) => entry.split(";", 1)[0]!.trim()),
  );
  return accepted.has("br") ? "br" : accepted.has("gzip") ? "gzip" : null;
}

export function envelope(outcome: Outcome): string {
  return outcome.ok
    ? `{"ok":true,"result":${JSON.stringify(outcome.result)}}`
    : `{"ok":false,"error":${JSON.stringify(outcome.error)}}`;
}

/** Answers once. Does nothing if the answer has begun or the client is gone. */
export function answer(response: ServerResponse, outcome: Outcome, requestId: string): void {
  if (response.headersSent || response.destroyed || answered.has(response)) return;
  answered.add(response);
  const body = Buffer.from(envelope(outcome));
  response.statusCode = outcome.ok ? 200 : outcome.refusal.status;
  response.setHeader("Content-Type", "application/json; charset=utf-8");
  response.setHeader("Cache-Control", "no-store");
  response.setHeader(HEADERS.requestId, requestId);
  if (!outcome.ok) {
    if (outcome.refusal.status === 429 && !response.hasHeader("Retry-After")) {
      response.setHeader("Retry-After", RETRY_SECONDS);
    }
    if (outcome.refusal.status === 401) response.setHeader("WWW-Authenticate", "Bearer");
  }
  const encoding = body.length < COMPRESSED_FROM ? null : encodingFor(response.req);
  if (encoding === null) {
    end(response, body);
    return;
  }
  response.setHeader("Vary", "Accept-Encoding");
  compress(body, encoding, (error, packed) => {
    if (response.destroyed) return;
    if (error === null) response.setHeader("Content-Encoding", encoding);
    end(response, error === null ? packed : body);
  });
}

function end(response: ServerResponse, body: Buffer): void {
  response.setHeader("Content-Length", body.length);
  response.end(response.req.method === "HEAD" ? undefined : body);
}

/** Runs in Node's thread pool, so that other callers don't wait. */
function compress(
  body: Buffer,
  encoding: Encoding,
  done: (error: Error | null, packed: Buffer) => void,
): void {
  if (encoding === "gzip") gzip(body, { level: GZIP_LEVEL }, done);
  else
    brotliCompress(
      body,
      {
        params: {
          [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
          [constants.BROTLI_PARAM_SIZE_HINT]: body.length,
        },
      },
      done,
    );
}

/**
 * Answers a refusal before the request's body was read. The connection can't be reused, because the
 * body would be read as the next request.
 */
export function refuse(
  request: IncomingMessage,
  response: ServerResponse,
  refusal: Refusal,
  requestId: string,
): void {
  if (!request.complete && !response.headersSent) response.setHeader("Connection", "close");
  answer(response, failure(refusal), requestId);
}
