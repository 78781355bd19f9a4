/**
 * The service as an Express application. Every request passes in this order: request id, operators'
 * endpoints, security headers, Host, then the API of daemons or the pages of members.
 */
import type { Express, NextFunction, Request, RequestHandler, Response } from "express";
import helmet from "helmet";
import type { Clock } from "../platform/clock.ts";
import { expectedRefusal, strictApplication } from "../platform/http/application.ts";
import type { RequestIds } from "../platform/http/request-id.ts";
import { errorFields, type Log } from "../platform/log.ts";
import { Refusal } from "../shared/errors.ts";
import { HEADERS } from "../shared/names.ts";
import { type ApiDependencies, addApi } from "./api.ts";
import { prepareRefusal, requestId, send, sendJson } from "./http.ts";
import type { Metrics } from "./metrics.ts";
import { html } from "./pages/html.ts";
import { page } from "./pages/page.ts";
import { PASSKEY_SCRIPT } from "./pages/passkey-script.ts";
import { addPages, type Site, type SiteDependencies } from "./pages/site.ts";
import { ICON, STYLE } from "./pages/style.ts";
import { isUnavailable } from "./store/store.ts";

export interface AppDependencies extends ApiDependencies, SiteDependencies {
  clock: Clock;
  log: Log;
  requestIds: RequestIds;
  metrics: Metrics;
  /** Proxies whose `X-Forwarded-For` is believed. */
  proxies: number;
  site: Site;
  /** Why the service can't answer now; null when it can. */
  trouble: () => Promise<string | null>;
}

export function createApp(deps: AppDependencies): Express {
  const app = strictApplication();
  app.set("trust proxy", deps.proxies);

  app.use(identify(deps));
  addOperation(app, deps);
  app.use(securityHeaders(deps.origin));
  app.use(checkHost(deps.origin));
  addApi(app, deps);
  addFixedFiles(app);
  addPages(app, deps, deps.site);
  app.use(() => {
    throw new Refusal("not_found", { remedy: "Check the address." });
  });
  app.use(errorHandler(deps));
  return app;
}

/** What pages load. It is the same for everybody. */
function addFixedFiles(app: Express): void {
  for (const [path, type, text] of [
    ["/style.css", "css", STYLE],
    ["/icon.svg", "svg", ICON],
    ["/passkeys.js", "js", PASSKEY_SCRIPT],
  ] as const) {
    app.get(path, (_request, response) => {
      response.setHeader("Cache-Control", "public, max-age=300");
      response.type(type).end(text);
    });
  }
}

function identify({ requestIds, metrics, clock }: AppDependencies): RequestHandler {
  return (request, response, next) => {
    response.setHeader(HEADERS.requestId, requestIds.next());
    const begun = clock.monotonic();
    response.once("finish", () => {
      const route = (request.route as { path?: unknown } | undefined)?.path;
      const seconds = (clock.monotonic() - begun) / 1000;
      metrics.request(typeof route === "string" ? route : "other", response.statusCode, seconds);
    });
    next();
  };
}

/** For load balancers and collectors, which ask by address. They tell nothing about members. */
function addOperation(app: Express, { metrics, trouble }: AppDependencies): void {
  app.get("/health", (_request, response) => sendJson(response, 200, { ok: true }));
  app.get("/ready", async (_request, response) => {
    const reason = await trouble();
    sendJson(response, reason === null ? 200 : 503, reason === null ? { ok: true } : { ok: false, reason });
  });
  app.get("/metrics", async (_request, response) => {
    response.setHeader("Content-Type", metrics.contentType);
    response.setHeader("Cache-Control", "no-store");
    response.end(await metrics.text());
  });
}

/** A request for another host isn't for this service, whoever sent it here. */
function checkHost(origin: string): RequestHandler {
  const { host } = new URL(origin);
  return (request, _response, next) => {
    const given = request.rawHeaders.filter((name, index) => index % 2 === 0 && /^host$/iu.test(name));
    if (given.length !== 1 || request.headers.host?.toLowerCase() !== host || !request.url.startsWith("/"))
      throw new Refusal("wrong_host", {
        specifics: "The account service has another address.",
        remedy: `Use ${origin}.`,
      });
    next();
  };
}

/** No inline script, no inline style, no foreign source. */
function securityHeaders(origin: string): RequestHandler {
  return helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'"],
        "frame-ancestors": ["'none'"],
        "base-uri": ["'none'"],
        "form-action": ["'self'"],
      },
    },
    // Browsers leave out the origin of a form without it.
    referrerPolicy: { policy: "same-origin" },
    strictTransportSecurity: origin.startsWith("https:") ? { includeSubDomains: false } : false,
    xFrameOptions: { action: "deny" },
  });
}

/** Four arguments make it Express's error handler. It reveals nothing internal. */
function errorHandler({ log, metrics, origin }: AppDependencies) {
  return (error: unknown, request: Request, response: Response, _next: NextFunction): void => {
    const refusal = refusalOf(error, response, log);
    metrics.refusal(refusal.code);
    if (response.headersSent) {
      response.destroy();
      return;
    }
    prepareRefusal(request, response, refusal);
    const { code, message } = refusal;
    if (request.path.startsWith("/v1/")) sendJson(response, refusal.status, { error: { code, message } });
    else {
      const body = html`<p role="alert">${message}</p><p><a href="${origin}/">Back to the first page</a></p>`;
      send(response, refusal.status, "text/html", page("That didn't work", null, body));
    }
  };
}

function refusalOf(error: unknown, response: Response, log: Log): Refusal {
  const expected = expectedRefusal(error);
  if (expected !== null) return expected;
  const request = requestId(response);
  if (isUnavailable(error)) {
    log.warn("database unavailable", { request, ...errorFields(error) });
    return new Refusal("overloaded", {
      specifics: "The account service can't use its database right now.",
      cause: error,
    });
  }
  log.error("unexpected", { request, ...errorFields(error) });
  return new Refusal("internal_error", {
    specifics: "Something went wrong in the account service.",
    remedy: `Its log has it under ${request}.`,
  });
}
