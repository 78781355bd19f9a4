/** Renders envelopes over node:http, the same for every listener. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Refusal } from "../../shared/errors.ts";
import { HEADERS } from "../../shared/names.ts";
import { hasAsciiJson, jsonOf } from "../../shared/operations/known-json.ts";
import { failure, type Outcome } from "../operations/dispatcher.ts";

const RETRY_SECONDS = 60;

export function envelope(outcome: Outcome): string {
  return outcome.ok
    ? `{"ok":true,"result":${jsonOf(outcome.result)}}`
    : `{"ok":false,"error":${JSON.stringify(outcome.error)}}`;
}

/** Of the envelope in UTF-8. */
export function envelopeBytes(outcome: Outcome, text: string): number {
  return outcome.ok && hasAsciiJson(outcome.result) ? text.length : Buffer.byteLength(text);
}

/** Answers once; does nothing when the answer has begun or the client is gone. */
export function answer(response: ServerResponse, outcome: Outcome, requestId: string): void {
  if (response.headersSent || response.destroyed) return;
  const body = Buffer.from(envelope(outcome));
  response.statusCode = outcome.ok ? 200 : outcome.refusal.status;
  response.setHeader("Content-Type", "application/json; charset=utf-8");
  response.setHeader("Content-Length", body.length);
  response.setHeader("Cache-Control", "no-store");
  response.setHeader(HEADERS.requestId, requestId);
  if (!outcome.ok) {
    if (outcome.refusal.status === 429 && !response.hasHeader("Retry-After")) {
      response.setHeader("Retry-After", RETRY_SECONDS);
    }
    if (outcome.refusal.status === 401) response.setHeader("WWW-Authenticate", "Bearer");
  }
  response.end(response.req.method === "HEAD" ? undefined : body);
}

/**
 * Answers a refusal before the request's body was read. The connection can't be used again then: what follows on it would be the body.
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
