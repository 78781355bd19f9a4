/**
 * HTTP requests to other machines as the daemon sees them, so that the simulation can answer them.
 * A request follows no redirect, accepts no content encoding, and is bounded in time and size.
 */

export interface HttpAsked {
  method: "GET" | "POST";
  /** Absolute, `https:` or `http:`. */
  url: string;
  headers: Readonly<Record<string, string>>;
  /** Each part is valid until the next one is requested. */
  body: { bytes: number; parts: Iterable<Uint8Array> } | null;
  /** An answer with a larger body is none. */
  limit: number;
  /** For the whole: connecting, TLS, and both bodies. */
  milliseconds: number;
  signal: AbortSignal;
}

/**
 * - `timeout`: the time was over.
 * - `unreachable`: the connection couldn't be made, or it broke.
 * - `untrusted`: the certificate isn't valid for this host here.
 * - `invalid`: what came isn't an answer that is accepted: a redirect, an encoding, too many bytes.
 * - `aborted`: `signal` ended it.
 */
export type HttpFailure = "timeout" | "unreachable" | "untrusted" | "invalid" | "aborted";

/**
 * `answered` has the whole body. `failed` has a `reason` for people, and `escaped` says whether
 * anything of the request may have left this process.
 */
export type HttpOutcome =
  | { kind: "answered"; status: number; headers: Readonly<Record<string, string>>; body: Buffer }
  | { kind: "failed"; why: HttpFailure; escaped: boolean; reason: string };

export interface HttpClient {
  /** Never rejects. */
  request(asked: HttpAsked): Promise<HttpOutcome>;
  /** Ends idle connections. */
  close(): void;
}
