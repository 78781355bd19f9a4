/** What API and pages have in common: who asks, and how answers and refusals go out. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { isIP } from "node:net";
import { ipKeyGenerator } from "express-rate-limit";
import proxyAddress from "proxy-addr";
import { Refusal } from "../shared/errors.ts";
import { HEADERS } from "../shared/names.ts";
import { JsonText } from "./json-text.ts";

const RETRY_SECONDS = 5;
/** Content type of a form. */
export const FORM_TYPE = /^application\/x-www-form-urlencoded(?:\s*;\s*charset\s*=\s*"?utf-8"?)?$/i;

/** Answers the address that a request came from. */
export type AddressOf = (request: IncomingMessage) => string;

/**
 * Takes the address that the outermost of `proxies` wrote into `X-Forwarded-For`, without the form
 * of IPv4 inside IPv6. What a proxy forwards that isn't an address counts as the proxy's own:
 * otherwise it could be another one every time. Some proxies forward the port as well.
 */
export function addressReader(proxies: number): AddressOf {
  return (request) => {
    // Undefined, whatever its type says, once the connection has ended.
    const forwarded: string | undefined = proxyAddress(request, (_address, hop) => hop < proxies);
    const named = (forwarded ?? "").replace(/^(?:\[(.+)\](?::\d+)?|([^:]+):\d+)$/u, "$1$2");
    const address = isIP(named) === 0 ? (request.socket.remoteAddress ?? "") : named;
    return address.replace(/^::ffff:(?=[0-9.]+$)/u, "");
  };
}

/** The path that a request names, without its query. */
export function pathOf({ url = "" }: IncomingMessage): string {
  const mark = url.indexOf("?");
  return mark === -1 ? url : url.slice(0, mark);
}

/** What is counted for an address: an IPv6 network counts as one. */
export function addressKey(address: string): string {
  return ipKeyGenerator(address);
}

/** The value of a header that may be given once; undefined if it isn't there. */
export function headerOf(request: IncomingMessage, name: string): string | undefined {
  const values = request.headersDistinct[name];
  return values?.length === 1 ? values[0] : undefined;
}

/** Ends a response with a body that no cache keeps. */
export function send(response: ServerResponse, status: number, type: string, body: string): void {
  response.statusCode = status;
  response.setHeader("Content-Type", `${type}; charset=utf-8`);
  response.setHeader("Cache-Control", "no-store");
  response.end(response.req.method === "HEAD" ? undefined : body);
}

/** A bare object, or an error object. */
export function sendJson(response: ServerResponse, status: number, body: object): void {
  send(response, status, "application/json", body instanceof JsonText ? body.text : JSON.stringify(body));
}

/**
 * Headers of a refusal, whatever its body is. A body that wasn't read can't be followed by a
 * request.
 */
export function prepareRefusal(request: IncomingMessage, response: ServerResponse, refusal: Refusal): void {
  if (!request.complete) response.setHeader("Connection", "close");
  if (refusal.status === 401) response.setHeader("WWW-Authenticate", "Bearer");
  if (refusal.status === 429 || refusal.status === 503) {
    const seconds = refusal.details["retry_after_seconds"];
    response.setHeader("Retry-After", typeof seconds === "number" ? seconds : RETRY_SECONDS);
  }
}

/** The request id, under which an unexpected error is in the log. */
export function requestId(response: ServerResponse): string {
  const id = response.getHeader(HEADERS.requestId);
  return typeof id === "string" ? id : "";
}

/** Throws `invalid_request` for NUL, which PostgreSQL can't even look for. */
export function checkStorable(values: Iterable<string>): void {
  for (const value of values) {
    if (value.includes("\0"))
      throw new Refusal("invalid_request", { specifics: "A value has a NUL character." });
  }
}

/** Fields of a form or a query, each at most once. Throws `invalid_request`. */
export function fieldsOf(encoded: string): Record<string, string> {
  const fields: Record<string, string> = {};
  for (const [name, value] of new URLSearchParams(encoded)) {
    if (Object.hasOwn(fields, name) || name === "__proto__")
      throw new Refusal("invalid_request", { specifics: "A field of the form is repeated." });
    fields[name] = value;
  }
  checkStorable(Object.values(fields));
  return fields;
}
