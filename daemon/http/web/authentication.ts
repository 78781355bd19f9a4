/**
 * The caller over the Web listener: an access token as the bearer token, or a browser's cookie
 * session.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Site } from "../../../platform/http/site.ts";
import { Refusal } from "../../../shared/errors.ts";
import { LIMITS } from "../../../shared/limits.ts";
import { accessCookieName, HEADERS, SIGNING_DOMAINS } from "../../../shared/names.ts";
import type { AccessToken } from "../../../shared/operations/access.ts";
import type { Caller } from "../../../shared/operations/caller.ts";
import type { BrowserSessions } from "./browser-sessions.ts";

export interface Authenticated {
  caller: Caller;
  /** The cookie's secret when the credential was a cookie. */
  sessionSecret: string | null;
}

export interface WebCredentials {
  tokens: { verify(token: string): AccessToken | null };
  /** Null where cookies count for nothing. */
  sessions: Pick<BrowserSessions, "find"> | null;
  /** The caller that a valid token makes on this listener; null if it isn't valid here. */
  callerOf(token: AccessToken): Caller | null;
}

const BEARER = /^Bearer ([A-Za-z0-9._~+/=-]{1,256})$/i;

/** The bearer token of a request, or null. */
export function bearerOf(request: IncomingMessage): string | null {
  return BEARER.exec(request.headers.authorization ?? "")?.[1] ?? null;
}

/** The session cookie for this site; of two with that name none counts. */
export function sessionCookie(request: IncomingMessage, site: Site): string | null {
  const name = accessCookieName(site.secure, site.port);
  const found = (request.headers.cookie ?? "")
    .split(";")
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`));
  return found.length === 1 ? found[0]!.slice(name.length + 1) : null;
}

/**
 * Null without any credential, a Refusal for an invalid one. An Authorization header always counts
 * before the cookie.
 */
export function authenticate(
  request: IncomingMessage,
  site: Site,
  credentials: WebCredentials,
): Authenticated | Refusal | null {
  if (request.headers.authorization !== undefined) {
    const token = bearerOf(request);
    const record = token === null ? null : credentials.tokens.verify(token);
    const caller = record === null ? null : credentials.callerOf(record);
    return caller === null ? new Refusal("unauthenticated") : { caller, sessionSecret: null };
  }
  const secret = credentials.sessions === null ? null : sessionCookie(request, site);
  if (secret === null) return null;
  const record = credentials.sessions?.find(secret) ?? null;
  const caller = record === null ? null : credentials.callerOf(record);
  if (caller === null) return new Refusal("unauthenticated");
  return { caller: caller.kind === "user" ? { ...caller, known: "browser" } : caller, sessionSecret: secret };
}

/** Why the credential of an accepted request is no longer valid; null if it is. */
export function lapsedOf(request: IncomingMessage, site: Site, credentials: WebCredentials): Refusal | null {
  const found = authenticate(request, site, credentials);
  if (found instanceof Refusal) return found;
  return found === null ? new Refusal("unauthenticated") : null;
}

/** The caller on the Web listener, where the exhibit's token isn't valid. */
export function webCaller(token: AccessToken): Caller | null {
  if (token.kind === "exhibit") return null;
  return token.kind === "administrator"
    ? {
        kind: "user",
        by: "user",
        via: "web",
        token_id: token.id,
        known: "token",
      }
    : { kind: "member", by: "user", token_id: token.id, groups: new Set(token.groups) };
}

/** The caller on the exhibit's listener: only its own tokens, for the Groups on show. */
export function exhibitCaller(token: AccessToken, onShow: readonly string[]): Caller | null {
  if (token.kind !== "exhibit") return null;
  const groups = new Set(token.groups.filter((groupId) => onShow.includes(groupId)));
  return { kind: "exhibit", by: "exhibit", token_id: token.id, groups };
}

/**
 * The double-submit token of a cookie session: derived from the cookie, which scripts can't read.
 */
export function csrfToken(sessionSecret: string): string {
  return createHmac("sha256", sessionSecret).update(SIGNING_DOMAINS.webCsrf).digest("base64url");
}

/** Cookie sessions must send their CSRF token with anything that may change something. */
export function checkCsrf(request: IncomingMessage, sessionSecret: string | null): Refusal | null {
  if (sessionSecret === null || request.method === "GET" || request.method === "HEAD") return null;
  const given = Buffer.from(String(request.headers[HEADERS.csrf] ?? ""));
  const expected = Buffer.from(csrfToken(sessionSecret));
  const equal = given.length === expected.length && timingSafeEqual(given, expected);
  return equal ? null : new Refusal("csrf_denied");
}

/**
 * `Set-Cookie` for a session (docs/core-model.md#ports); an empty secret removes it.
 * HTTPS: `__Host-`, Secure, SameSite=None, Partitioned. HTTP on loopback: SameSite=Lax.
 */
export function setCookie(site: Site, secret: string): string {
  const seconds = secret === "" ? 0 : LIMITS.http.sessionDays * 24 * 3600;
  const rest = site.secure ? "Secure; SameSite=None; Partitioned" : "SameSite=Lax";
  return `${accessCookieName(site.secure, site.port)}=${secret}; Max-Age=${seconds}; Path=/; HttpOnly; ${rest}`;
}
