/**
 * `HttpClient` over node:http and node:https. Global `fetch` inflates encoded answers before anyone
 * can count them, and takes no certificates.
 */

import { lookup as systemLookup } from "node:dns";
import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
} from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import type { LookupFunction, Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { sizeWords } from "../../shared/size-words.ts";
import type { Clock } from "../clock.ts";
import { errorCode } from "../durable.ts";
import type { HttpAsked, HttpClient, HttpFailure, HttpOutcome } from "./client.ts";
import { NOT_PUBLIC } from "./public-address.ts";
import { isLocalName } from "./site.ts";

interface Options {
  clock: Clock;
  /** PEM certificates that are trusted instead of the system's. */
  ca?: string;
  lookup?: LookupFunction;
}

/** Idle connections end before our own listeners, or any usual proxy, would end them. */
const IDLE_MS = 30_000;
const CERTIFICATE = /CERT|SELF_SIGNED|UNABLE_TO_(?:VERIFY|GET)|ERR_TLS/u;

export class RealHttpClient implements HttpClient {
  readonly #clock: Clock;
  readonly #http: HttpAgent;
  readonly #https: HttpsAgent;

  constructor({ clock, ca, lookup = lookupHere }: Options) {
    this.#clock = clock;
    const options = {
      keepAlive: true,
      timeout: IDLE_MS,
      noDelay: true,
      lookup,
    };
    this.#http = new HttpAgent(options);
    this.#https = new HttpsAgent({
      ...options,
      minVersion: "TLSv1.2",
      ...(ca === undefined ? {} : { ca }),
    });
  }

  async request(asked: HttpAsked): Promise<HttpOutcome> {
    const begun = this.#clock.monotonic();
    const exchange = new Exchange(asked, this.#clock, this.#begin(asked));
    const outcome = await exchange.outcome;
    // The other side may have ended an idle connection just then. A GET changes nothing.
    const isStale = outcome.kind === "failed" && outcome.why === "unreachable" && exchange.isReused;
    if (!isStale || asked.body !== null) return outcome;
    const left = asked.milliseconds - (this.#clock.monotonic() - begun);
    const again = { ...asked, milliseconds: Math.max(left, 0) };
    return new Exchange(again, this.#clock, this.#begin(again)).outcome;
  }

  close(): void {
    this.#http.destroy();
    this.#https.destroy();
  }

  #begin({ method, url, headers, body }: HttpAsked): ClientRequest {
    const options = {
      method,
      headers: {
        "accept-encoding": "identity",
        ...headers,
        ...(body === null ? {} : { "content-length": body.bytes }),
      },
    };
    return url.startsWith("https:")
      ? httpsRequest(url, { ...options, agent: this.#https })
      : httpRequest(url, { ...options, agent: this.#http });
  }
}

/** One request on its way, and what becomes of it. */
class Exchange {
  readonly outcome: Promise<HttpOutcome>;
  readonly #request: ClientRequest;
  readonly #limit: number;
  #settle: (outcome: HttpOutcome) => void = () => {};
  #escaped = false;
  #isSettled = false;

  constructor(asked: HttpAsked, clock: Clock, request: ClientRequest) {
    const { milliseconds, signal, body, limit } = asked;
    this.#request = request;
    this.#limit = limit;
    const isSecure = asked.url.startsWith("https:");
    const timer = clock.after(milliseconds, () => this.#fail("timeout", timeoutWords(milliseconds)));
    const abort = (): void => this.#fail("aborted", "The daemon is shutting down.");
    signal.addEventListener("abort", abort);
    this.outcome = new Promise<HttpOutcome>((resolve) => {
      this.#settle = resolve;
    }).finally(() => {
      timer.cancel();
      signal.removeEventListener("abort", abort);
    });
    request.on("socket", (socket) => this.#watch(socket, isSecure));
    request.on("response", (response) => this.#read(response));
    request.on("error", (error) => this.#fail(...failureOf(error)));
    request.on("close", () => this.#fail("unreachable", "The connection broke."));
    if (signal.aborted) abort();
    else this.#send(body?.parts ?? []).catch(() => this.#fail("unreachable", "A file couldn't be read."));
  }

  get isReused(): boolean {
    return this.#request.reusedSocket;
  }

  /** Nothing leaves before the connection is there, and, over TLS, trusted. */
  #watch(socket: Socket, isSecure: boolean): void {
    const isOpen = isSecure
      ? !(socket as TLSSocket & { secureConnecting: boolean }).secureConnecting
      : !socket.connecting;
    if (isOpen) this.#escaped = true;
    else
      socket.once(isSecure ? "secureConnect" : "connect", () => {
        this.#escaped = true;
      });
  }

  async #send(parts: Iterable<Uint8Array>): Promise<void> {
    const request = this.#request;
    for (const part of parts) {
      if (request.destroyed) return;
      // The part's bytes change with the next one.
      if (!request.write(Buffer.from(part))) await drained(request);
    }
    request.end();
  }

  #read(response: IncomingMessage): void {
    const { statusCode: status = 0, headers } = response;
    if (status >= 300 && status < 400) {
      return this.#fail("invalid", `It answers with a redirect (${status}), which isn't followed.`);
    }
    if ((headers["content-encoding"] ?? "identity") !== "identity") {
      return this.#fail("invalid", "Its answer has a content encoding.");
    }
    const large = `Its answer is larger than ${sizeWords(this.#limit)}.`;
    if (Number(headers["content-length"] ?? 0) > this.#limit) return this.#fail("invalid", large);
    const pieces: Buffer[] = [];
    let bytes = 0;
    response.on("data", (piece: Buffer) => {
      bytes += piece.length;
      if (bytes > this.#limit) this.#fail("invalid", large);
      else pieces.push(piece);
    });
    response.on("error", (error) => this.#fail(...failureOf(error)));
    response.on("end", () => {
      if (!response.complete) return this.#fail("unreachable", "Its answer was cut off.");
      const plain = Object.entries(headers).map(([name, value]) => [name, String(value ?? "")] as const);
      this.#end({
        kind: "answered",
        status,
        headers: Object.fromEntries(plain),
        body: Buffer.concat(pieces),
      });
      // A refusal may come before the body was read. Nobody will read the rest.
      if (!this.#request.writableFinished) this.#request.destroy();
    });
  }

  #fail(why: HttpFailure, reason: string): void {
    if (this.#isSettled) return;
    const escaped = this.#escaped || this.#request.reusedSocket;
    this.#end({ kind: "failed", why, escaped, reason });
    this.#request.destroy();
  }

  #end(outcome: HttpOutcome): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#settle(outcome);
  }
}

/** The system's lookup, which doesn't know the names below localhost everywhere. */
const lookupHere: LookupFunction = (hostname, options, callback) =>
  systemLookup(isLocalName(hostname) ? "127.0.0.1" : hostname, options, callback);

function drained(request: ClientRequest): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      request.off("drain", done).off("close", done);
      resolve();
    };
    request.on("drain", done).on("close", done);
  });
}

function timeoutWords(milliseconds: number): string {
  return `It didn't answer within ${Math.round(milliseconds / 1000)} seconds.`;
}

/** What is wrong with it, and what helps. */
function certificateWords(code: string): string {
  switch (code) {
    case "CERT_HAS_EXPIRED":
      return "Its certificate has expired. Renew it there, or set this machine's clock right if that is ahead";
    case "CERT_NOT_YET_VALID":
      return "Its certificate isn't valid yet. Set this machine's clock right if that is behind";
    case "ERR_TLS_CERT_ALTNAME_INVALID":
      return "Its certificate is for another name. Use the name that it is for, or replace it there";
    default:
      return "Its certificate isn't trusted here. If a private authority signed it, name that in NODE_EXTRA_CA_CERTS and restart the daemon";
  }
}

/** A system error in words. The code is all that is told of it. */
function failureOf(error: unknown): [why: HttpFailure, reason: string] {
  const code = errorCode(error) ?? "unknown";
  if (code === "ENOTFOUND" || code === "EAI_AGAIN")
    return ["unreachable", `Its name can't be resolved here (${code}).`];
  if (code === NOT_PUBLIC) return ["unreachable", "Its name leads to a private address."];
  if (code === "ECONNREFUSED") return ["unreachable", `Nothing listens at its address (${code}).`];
  if (CERTIFICATE.test(code)) return ["untrusted", `${certificateWords(code)} (${code}).`];
  if (code === "EPROTO" || code.startsWith("ERR_SSL"))
    return ["untrusted", `It doesn't speak TLS. Check its address and port (${code}).`];
  if (code.startsWith("HPE_")) return ["invalid", `Its answer isn't HTTP (${code}).`];
  return ["unreachable", `It can't be reached (${code}).`];
}
