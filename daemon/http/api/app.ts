/**
 * The HTTP API as an Express application: `createApp(deps)` needs no port. Every request passes in
 * this order: request id, Host, Origin, security headers, size, authentication, CSRF, route.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Express, NextFunction, Request, RequestHandler, Response } from "express";
import helmet from "helmet";
import { answer, refuse } from "../../../platform/http/answer.ts";
import { expectedRefusal, strictApplication } from "../../../platform/http/application.ts";
import { checkLength } from "../../../platform/http/body.ts";
import type { RefuseFailure } from "../../../platform/http/failure-limit.ts";
import { checkOrigin } from "../../../platform/http/origin.ts";
import type { RequestIds } from "../../../platform/http/request-id.ts";
import { type ListenerNames, siteOf } from "../../../platform/http/site.ts";
import { errorFields, type Log } from "../../../platform/log.ts";
import { ERRORS, Refusal } from "../../../shared/errors.ts";
import { LIMITS } from "../../../shared/limits.ts";
import { FRAME_PATH } from "../../../shared/names.ts";
import type { Caller } from "../../../shared/operations/caller.ts";
import { failure } from "../../../shared/operations/outcome.ts";
import { type Exchange, newExchange } from "../exchange/exchange.ts";
import { isPageWanted, plainPage } from "../exchange/plain-page.ts";
import { PEER_PATH, type Route } from "../exchange/routes.ts";
import { authenticate, checkCsrf, lapsedOf, type WebCredentials } from "../web/authentication.ts";
import { embeddingRefusal, type LiveFrames, takeFrame } from "../web/embedding.ts";
import { serveWorkbench } from "../web/workbench-files.ts";

export interface AppDependencies {
  log: Log;
  requestIds: RequestIds;
  routes: readonly Route[];
  /**
   * How the Web listener identifies its callers; null on the local socket, which says who calls.
   */
  web: {
    names: ListenerNames;
    credentials: WebCredentials;
    refuseFailure: RefuseFailure;
    /** Null where nothing is shown in frames. */
    frames: LiveFrames | null;
  } | null;
  /**
   * The built Workbench, and the origins of other instances that a page of this origin may frame.
   * Null where there is none.
   */
  workbench: { directory: string; framed: (pageOrigin: string) => readonly string[] } | null;
  /** Serves `/mcp`; null where there is none. */
  mcp: McpService | null;
}

/**
 * Authenticates by itself, accepting only a launch token. Invalid credentials go to
 * `refuseFailure`.
 */
export type McpService = (
  request: IncomingMessage,
  response: ServerResponse,
  refuseFailure: (refusal: Refusal) => void,
) => Promise<void>;

const POLICY = "Content-Security-Policy";
const exchanges = new WeakMap<IncomingMessage, Exchange>();
/** Refusals of a request's credentials. Open routes ignore them. */
const refusals = new WeakMap<IncomingMessage, Refusal>();

/**
 * The exchange of a request over the local socket, whose caller is known before the application
 * sees it.
 */
export function introduce(
  request: IncomingMessage,
  response: ServerResponse,
  caller: Caller,
  lapsed: () => Refusal | null,
  id: string,
): void {
  const exchange = newExchange(request, response, id);
  exchange.caller = caller;
  exchange.lapsed = lapsed;
  exchanges.set(request, exchange);
}

export function createApp(deps: AppDependencies): Express {
  const app = strictApplication();

  app.use(identify(deps.requestIds));
  if (deps.web !== null) app.use(checkSite(deps.web.names));
  app.use(securityHeaders());
  app.use(limitLength);
  if (deps.web !== null) app.use(knowCaller(deps.web.credentials));
  if (deps.web?.frames) app.use(knowFrame(deps.web.frames));
  const { mcp, web } = deps;
  if (mcp !== null) {
    app.all("/mcp", (request, response) =>
      mcp(request, response, (refusal) => {
        const exchange = exchangeOf(request);
        if (web === null) refuse(request, response, refusal, exchange.id);
        else web.refuseFailure(exchange, refusal);
      }),
    );
  }
  addRoutes(app, deps);
  const { workbench } = deps;
  if (workbench !== null)
    serveWorkbench(app, workbench.directory, (request, response) =>
      allowFrames(request, response, workbench),
    );
  app.use((request: Request, response: Response) => {
    const isRead = request.method === "GET" || request.method === "HEAD";
    if (isRead && isPageWanted(request)) {
      const link = deps.workbench === null ? null : { href: "/", text: "Open the Workbench" };
      const { sentence } = ERRORS.not_found;
      response
        .status(404)
        .type("html")
        .send(plainPage("Not found", sentence, link));
      return;
    }
    throw new Refusal("not_found", { details: { path: request.path.slice(0, 256) } });
  });
  app.use(errorHandler(deps.log));
  return app;
}

function exchangeOf(request: IncomingMessage): Exchange {
  return exchanges.get(request)!;
}

function identify(ids: RequestIds): RequestHandler {
  return (request, response, next) => {
    if (!exchanges.has(request)) exchanges.set(request, newExchange(request, response, ids.next()));
    next();
  };
}

function checkSite(names: ListenerNames): RequestHandler {
  return (request, _response, next) => {
    const site = siteOf(request, names);
    if (site === null) throw new Refusal("wrong_host");
    exchangeOf(request).site = site;
    // Another origin's page opens this one. Its proof says which, and no cookie counts there.
    const refusal = request.path === FRAME_PATH ? null : checkOrigin(request, site);
    if (refusal !== null) throw refusal;
    next();
  };
}

/**
 * No inline script, no foreign source. The hash is the empty style's, which the toolkit's focus
 * handling sets.
 */
function securityHeaders(): RequestHandler {
  return helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'", "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"],
        "img-src": ["'self'", "blob:", "data:"],
        "font-src": ["'self'"],
        "connect-src": ["'self'"],
        // What a slot shows. A page in there can't lead its frame anywhere else.
        "frame-src": ["'self'"],
        "manifest-src": ["'self'"],
        "frame-ancestors": ["'none'"],
        "base-uri": ["'none'"],
        "form-action": ["'self'"],
        "object-src": ["'none'"],
      },
    },
    // A listener on localhost must not decide for other programs on other ports.
    strictTransportSecurity: false,
    xFrameOptions: { action: "deny" },
  });
}

/**
 * An administrator's page may also frame the account's other instances, and nothing else. Nobody
 * else learns their origins.
 */
function allowFrames(
  request: Request,
  response: Response,
  { framed }: NonNullable<AppDependencies["workbench"]>,
): void {
  const { caller, site } = exchangeOf(request);
  if (caller?.kind !== "user" || site === null) return;
  // A page that was kept would keep the origins of then.
  response.setHeader("Cache-Control", "no-store");
  delete request.headers["if-none-match"];
  delete request.headers["if-modified-since"];
  const origins = framed(site.origin).join(" ");
  if (origins === "") return;
  const policy = String(response.getHeader(POLICY));
  response.setHeader(POLICY, policy.replaceAll(/(?:form-action|frame-src) 'self'/g, `$& ${origins}`));
}

function limitLength(request: Request, _response: Response, next: NextFunction): void {
  const refusal = checkLength(request, lengthLimit(request));
  if (refusal !== null) throw refusal;
  next();
}

function lengthLimit({ method, path }: Request): number {
  if (method === "POST" && path.endsWith("/uploads")) return LIMITS.attachment.uploadBytes;
  return method === "POST" && path === PEER_PATH ? LIMITS.connect.bodyBytes : LIMITS.body.jsonBytes;
}

function knowCaller(credentials: WebCredentials): RequestHandler {
  return (request, _response, next) => {
    const exchange = exchangeOf(request);
    const found = authenticate(request, exchange.site!, credentials);
    if (found instanceof Refusal) refusals.set(request, found);
    else if (found !== null) {
      exchange.caller = found.caller;
      exchange.lapsed = () => lapsedOf(request, exchange.site!, credentials);
      exchange.sessionSecret = found.sessionSecret;
    }
    next();
  };
}

/** A caller in a frame may call as long as the frame lives, too. */
function knowFrame(frames: LiveFrames): RequestHandler {
  return (request, _response, next) => {
    const frameId = takeFrame(request);
    const exchange = exchangeOf(request);
    const { caller, lapsed } = exchange;
    if (frameId !== null && caller !== null) {
      const refusal = embeddingRefusal(frames, frameId, caller);
      if (refusal !== null) throw refusal;
      exchange.lapsed = () => lapsed() ?? embeddingRefusal(frames, frameId, caller);
    }
    next();
  };
}

/** Every path of the table, with its methods. For another method, the refusal names them. */
function addRoutes(app: Express, deps: AppDependencies): void {
  const byPath = new Map<string, Route[]>();
  for (const route of deps.routes) byPath.set(route.path, [...(byPath.get(route.path) ?? []), route]);
  for (const [path, routes] of byPath) {
    const pattern = path.replaceAll(/\{(\w+)\}/g, ":$1");
    const methods = new Set<string>();
    for (const route of routes) {
      methods.add(route.method);
      if (route.method === "GET") methods.add("HEAD");
      app[methodOf(route)](
        pattern,
        guard(route, deps),
        served((exchange) => route.serve(exchange)),
      );
    }
    app.all(pattern, (_request, response) => {
      response.setHeader("Allow", [...methods].join(", "));
      throw new Refusal("method_not_allowed", { details: { allow: [...methods] } });
    });
  }
}

function methodOf(route: Route): "get" | "post" | "put" | "patch" | "delete" {
  return route.method.toLowerCase() as "get" | "post" | "put" | "patch" | "delete";
}

/** Authentication and CSRF, before anything of a route runs. */
function guard(route: Route, deps: AppDependencies): RequestHandler {
  return (request, _response, next) => {
    const exchange = exchangeOf(request);
    exchange.params = request.params as Record<string, string>;
    if (route.open === true || deps.web === null) {
      next();
      return;
    }
    if (exchange.caller === null) {
      const refusal = refusals.get(request);
      if (refusal === undefined) throw new Refusal("unauthenticated");
      deps.web.refuseFailure(exchange, refusal);
      return;
    }
    const refusal = checkCsrf(request, exchange.sessionSecret);
    if (refusal !== null) throw refusal;
    next();
  };
}

function served(serve: (exchange: Exchange) => void | Promise<void>): RequestHandler {
  return async (request, _response) => {
    await serve(exchangeOf(request));
  };
}

/** Four arguments make it Express's error handler. It reveals nothing internal. */
function errorHandler(log: Log) {
  return (error: unknown, request: Request, response: Response, _next: NextFunction): void => {
    const id = exchanges.get(request)?.id ?? "";
    if (response.headersSent) {
      response.destroy();
      if (!(error instanceof Refusal)) log.error("unexpected", { request: id, ...errorFields(error) });
      return;
    }
    const refusal = refusalOfError(error, id, log);
    if (request.complete) answer(response, failure(refusal), id);
    else refuse(request, response, refusal, id);
  };
}

function refusalOfError(error: unknown, id: string, log: Log): Refusal {
  const expected = expectedRefusal(error);
  if (expected !== null) return expected;
  log.error("unexpected", { request: id, ...errorFields(error) });
  return new Refusal("internal_error", { details: { request_id: id } });
}
