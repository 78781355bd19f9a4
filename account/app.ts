/**
 * The service as a listener of node:http. Every request passes in this order: request id, security
 * headers, operators' endpoints, Host, then the API of daemons or the pages of members.
 * Express serves the pages only: every daemon asks the API each minute, and Express took a tenth of
 * its time.
 */
import { IncomingMessage, type RequestListener, ServerResponse } from "node:http";
import { Socket } from "node:net";
import type { Express, Request, Response } from "express";
import helmet from "helmet";
import type { Clock } from "../platform/clock.ts";
import { expectedRefusal, strictApplication } from "../platform/http/application.ts";
import type { RequestIds } from "../platform/http/request-id.ts";
import { errorFields, type Log } from "../platform/log.ts";
import { Refusal } from "../shared/errors.ts";
import { HEADERS } from "../shared/names.ts";
import { type ApiDependencies, apiRoutes } from "./api.ts";
import { pathOf, prepareRefusal, requestId, send, sendJson } from "./http.ts";
import type { Metrics } from "./metrics.ts";
import { html } from "./pages/html.ts";
import { page } from "./pages/page.ts";
import { PASSKEY_SCRIPT } from "./pages/passkey-script.ts";
import { addPages, type Site, type SiteDependencies } from "./pages/site.ts";
import { ICON, STYLE } from "./pages/style.ts";
import { Routes } from "./routes.ts";
import { isUnavailable } from "./store/store.ts";

export interface AppDependencies extends ApiDependencies, SiteDependencies {
  clock: Clock;
  log: Log;
  requestIds: RequestIds;
  metrics: Metrics;
  site: Site;
  /** Why the service can't answer now; null when it can. */
  trouble: () => Promise<string | null>;
}

/** Answers every request that comes to the service, also with what refuses it. */
export function createApp(deps: AppDependencies): RequestListener {
  const { origin, clock, requestIds, metrics } = deps;
  const operation = operationRoutes(deps);
  const api = apiRoutes(deps);
  const pages = pagesOf(deps);
  const headers = securityHeaders(origin);
  const { host } = new URL(origin);
  return (request, response) => {
    response.setHeader(HEADERS.requestId, requestIds.next());
    for (const [name, value] of headers) response.setHeader(name, value);
    const begun = clock.monotonic();
    const path = pathOf(request);
    response.once("finish", () => {
      const route = operation.has(path) || api.has(path) ? path : pageRoute(request);
      metrics.request(route, response.statusCode, (clock.monotonic() - begun) / 1000);
    });
    const fail = (error: unknown): void => refuse(error, request, response, deps);
    if (operation.has(path)) operation.serve(path, request, response).catch(fail);
    else if (!isFor(host, request)) fail(wrongHost(origin));
    else if (api.has(path)) api.serve(path, request, response).catch(fail);
    else pages(request as Request, response as Response, fail);
  };
}

/** For load balancers and collectors, which ask by address. They tell nothing about members. */
function operationRoutes({ metrics, trouble }: AppDependencies): Routes {
  const routes = new Routes();
  routes.add("GET", "/health", async (_request, response) => sendJson(response, 200, { ok: true }));
  routes.add("GET", "/ready", async (_request, response) => {
    const reason = await trouble();
    sendJson(response, reason === null ? 200 : 503, reason === null ? { ok: true } : { ok: false, reason });
  });
  routes.add("GET", "/metrics", async (_request, response) => {
    const text = await metrics.text();
    response.setHeader("Content-Type", metrics.contentType);
    response.setHeader("Cache-Control", "no-store");
    response.end(text);
  });
  return routes;
}

function pagesOf(deps: AppDependencies): Express {
  const app = strictApplication();
  addFixedFiles(app);
  addPages(app, deps, deps.site);
  app.use(() => {
    throw new Refusal("not_found", { remedy: "Check the address." });
  });
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

/** The pattern of the path of a page, as Express found it. */
function pageRoute(request: IncomingMessage): string {
  const path = (request as { route?: { path?: unknown } }).route?.path;
  return typeof path === "string" ? path : "other";
}

/** A request for another host isn't for this service, whoever sent it here. */
function isFor(host: string, { rawHeaders, headers, url }: IncomingMessage): boolean {
  const given = rawHeaders.filter((name, index) => index % 2 === 0 && /^host$/iu.test(name));
  return given.length === 1 && headers.host?.toLowerCase() === host && url?.startsWith("/") === true;
}

function wrongHost(origin: string): Refusal {
  return new Refusal("wrong_host", {
    specifics: "The account service has another address.",
    remedy: `Use ${origin}.`,
  });
}

/**
 * What every answer has: no inline script, no inline style, no foreign source.
 * Helmet sets the same each time, so it is asked once.
 */
function securityHeaders(origin: string): [string, string][] {
  const sample = new ServerResponse(new IncomingMessage(new Socket()));
  const set = helmet({
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
  set(sample.req, sample, (error?: unknown) => {
    if (error !== undefined) throw error;
  });
  return Object.entries(sample.getHeaders()).map(([name, value]) => [name, String(value)]);
}

/** Reveals nothing internal. */
function refuse(
  error: unknown,
  request: IncomingMessage,
  response: ServerResponse,
  { log, metrics, origin }: AppDependencies,
): void {
  const refusal = refusalOf(error, response, log);
  metrics.refusal(refusal.code);
  if (response.headersSent) {
    response.destroy();
    return;
  }
  prepareRefusal(request, response, refusal);
  const { code, message } = refusal;
  if (pathOf(request).startsWith("/v1/")) sendJson(response, refusal.status, { error: { code, message } });
  else {
    const body = html`<p role="alert">${message}</p><p><a href="${origin}/">Back to the first page</a></p>`;
    send(response, refusal.status, "text/html", page("That didn't work", null, body));
  }
}

function refusalOf(error: unknown, response: ServerResponse, log: Log): Refusal {
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
