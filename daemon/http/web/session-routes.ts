/** Signing in and out of a browser (docs/core-model.md#ports; docs/core-model.md#ports). */
import * as z from "zod";
import type { Clock } from "../../../platform/clock.ts";
import { answer } from "../../../platform/http/answer.ts";
import { readJson } from "../../../platform/http/body.ts";
import type { RefuseFailure } from "../../../platform/http/failure-limit.ts";
import { keepsSessions, type Site } from "../../../platform/http/site.ts";
import { Refusal } from "../../../shared/errors.ts";
import { API_PREFIX } from "../../../shared/names.ts";
import { failure } from "../../../shared/operations/outcome.ts";
import { invalidArguments } from "../../operations/failures.ts";
import { callerOfExchange, type Exchange } from "../exchange/exchange.ts";
import type { Route } from "../exchange/routes.ts";
import { csrfToken, setCookie, type WebCredentials } from "./authentication.ts";
import { browserName } from "./browser-name.ts";
import type { BrowserSessions } from "./browser-sessions.ts";
import type { LoginLinks } from "./login-links.ts";

export interface SessionRouteDependencies {
  clock: Clock;
  credentials: WebCredentials;
  sessions: BrowserSessions;
  links: LoginLinks;
  refuseFailure: RefuseFailure;
  /** Realtime connections of the session end at once. */
  sessionEnded(sessionSecret: string): void;
}

const SignIn = z.union([
  z.strictObject({ login_link_code: z.string().min(1).max(128) }),
  z.strictObject({ token: z.string().min(1).max(256) }),
]);
const PATH = `${API_PREFIX}/web-access/session`;

export function sessionRoutes(deps: SessionRouteDependencies): Route[] {
  return [
    { method: "POST", path: PATH, open: true, serve: (exchange) => signIn(deps, exchange) },
    { method: "GET", path: PATH, serve: (exchange) => showSession(deps, exchange) },
    {
      method: "POST",
      path: `${API_PREFIX}/web-access/logout`,
      serve: (exchange) => signOut(deps, exchange),
    },
  ];
}

/** `{login_link_code}` or `{token}` → the cookie, and `{csrf_token, kind, token_id}`. */
async function signIn(deps: SessionRouteDependencies, exchange: Exchange): Promise<void> {
  const site = siteOfSession(exchange);
  const parsed = SignIn.safeParse(await readJson(exchange.request, deps.clock));
  if (!parsed.success) throw invalidArguments(parsed.error);
  const previous = exchange.sessionSecret;
  let secret: string;
  let kind: "user" | "member";
  if ("login_link_code" in parsed.data) {
    if (!deps.links.redeem(parsed.data.login_link_code)) {
      deps.refuseFailure(exchange, new Refusal("login_link_invalid"));
      return;
    }
    secret = await deps.sessions.openForOwner(browserName(exchange.request.headers["user-agent"]));
    kind = "user";
  } else {
    const record = deps.credentials.tokens.verify(parsed.data.token);
    const caller = record === null ? null : deps.credentials.callerOf(record);
    if (record === null || (caller?.kind !== "user" && caller?.kind !== "member")) {
      deps.refuseFailure(exchange, new Refusal("unauthenticated"));
      return;
    }
    secret = await deps.sessions.openWithToken(record.id);
    kind = caller.kind;
  }
  if (previous !== null) await deps.sessions.end(previous);
  exchange.response.setHeader("Set-Cookie", setCookie(site, secret));
  answer(exchange.response, { ok: true, result: sessionOf(deps, secret, kind) }, exchange.id);
}

/** What a page knows of its session. `token_id` names its access token in lists. */
function sessionOf({ sessions }: SessionRouteDependencies, secret: string, kind: string) {
  return { csrf_token: csrfToken(secret), kind, token_id: sessions.tokenId(secret) };
}

/** For a reloaded page: its CSRF token, which only a page of this origin can read. */
function showSession(deps: SessionRouteDependencies, exchange: Exchange): void {
  const { kind } = callerOfExchange(exchange);
  if (exchange.sessionSecret === null) throw new Refusal("unauthenticated");
  const result = sessionOf(deps, exchange.sessionSecret, kind);
  answer(exchange.response, { ok: true, result }, exchange.id);
}

async function signOut(deps: SessionRouteDependencies, exchange: Exchange): Promise<void> {
  const site = siteOfSession(exchange);
  callerOfExchange(exchange);
  if (exchange.sessionSecret === null) {
    const specifics = "The request has no session to end.";
    answer(exchange.response, failure(new Refusal("invalid_request", { specifics })), exchange.id);
    return;
  }
  await deps.sessions.end(exchange.sessionSecret);
  deps.sessionEnded(exchange.sessionSecret);
  exchange.response.setHeader("Set-Cookie", setCookie(site, ""));
  answer(exchange.response, { ok: true, result: { signed_out: true } }, exchange.id);
}

/** A cookie over plain HTTP from elsewhere could be read on the way. */
function siteOfSession(exchange: Exchange): Site {
  if (exchange.site !== null && keepsSessions(exchange.site)) return exchange.site;
  throw new Refusal("permission_denied", {
    specifics: "Browser sessions need HTTPS, or this machine's own address.",
  });
}
