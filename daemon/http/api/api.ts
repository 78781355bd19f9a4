/**
 * Builds the HTTP API for each listener: the local socket, the Web listener, the exhibit. The large
 * parts (Express, helmet, ws, the MCP SDK) come with this file, which is loaded when the first
 * request for it arrives.
 */
import { type IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Clock } from "../../../platform/clock.ts";
import { answer } from "../../../platform/http/answer.ts";
import { failureLimit } from "../../../platform/http/failure-limit.ts";
import { checkOrigin } from "../../../platform/http/origin.ts";
import type { RequestIds } from "../../../platform/http/request-id.ts";
import { type ListenerNames, siteOf } from "../../../platform/http/site.ts";
import type { Log } from "../../../platform/log.ts";
import { ERRORS, Refusal } from "../../../shared/errors.ts";
import { API_PREFIX } from "../../../shared/names.ts";
import type { Caller } from "../../../shared/operations/caller.ts";
import { type Dispatcher, foreignGroup, mayEnter, undecided } from "../../operations/dispatcher.ts";
import type { Frames } from "../../peers/https/frames.ts";
import { type Exchange, newExchange, notForActors, readerOfExchange } from "../exchange/exchange.ts";
import { type Route, specialRoutes } from "../exchange/routes.ts";
import type { LocalApp } from "../local/local-socket.ts";
import { type ActivityFeed, serveActivityStream } from "../streams/activity-stream.ts";
import { EventSockets } from "../streams/event-socket.ts";
import { GlobalStream } from "../streams/global-stream.ts";
import { serveLedgerStream } from "../streams/ledger-stream.ts";
import type { StreamHub } from "../streams/stream-hub.ts";
import { TerminalSockets, type Terminals, terminalAt } from "../streams/terminal-socket.ts";
import {
  authenticate,
  exhibitCaller,
  lapsedOf,
  type WebCredentials,
  webCaller,
} from "../web/authentication.ts";
import type { BrowserSessions } from "../web/browser-sessions.ts";
import { embeddingRefusal, takeFrame } from "../web/embedding.ts";
import { frameRoutes } from "../web/frame-routes.ts";
import type { LoginLinks } from "../web/login-links.ts";
import { sessionRoutes } from "../web/session-routes.ts";
import type { WebApp } from "../web/web-listener.ts";
import { type AppDependencies, createApp, introduce, type McpService } from "./app.ts";
import { type FileStore, serveBlob, serveUpload } from "./files.ts";
import { type MetricSources, metricsService } from "./metrics.ts";
import { operationRoutes } from "./operation-routes.ts";
import {
  type FramingPort,
  type PeerPort,
  serveFrameOpening,
  serveGroupCheck,
  serveIdentity,
  servePeer,
} from "./peers.ts";
import { type PresentationSource, servePresentation } from "./presentations.ts";

export interface ApiDependencies {
  dispatcher: Dispatcher;
  clock: Clock;
  log: Log;
  requestIds: RequestIds;
  tokens: WebCredentials["tokens"];
  sessions: BrowserSessions;
  links: LoginLinks;
  hub: StreamHub;
  files: FileStore;
  presentations: PresentationSource;
  terminals: Terminals;
  activity: ActivityFeed;
  peers: PeerPort;
  framing: FramingPort;
  frames: Frames;
  metrics: MetricSources;
  /** Whether requests are served: false until everything is open, and while it closes. */
  isReady(): boolean;
  /** Directory of the built Workbench; null where there is none. */
  workbench: string | null;
  /** Null where MCP over HTTP is off. */
  mcp: McpService | null;
}

export interface Api {
  local: LocalApp;
  upgradeLocal(
    request: IncomingMessage,
    socket: Socket,
    head: Buffer,
    caller: Caller,
    lapsed: () => Refusal | null,
  ): void;
  web(names: ListenerNames): WebApp;
  exhibit(names: ListenerNames, groups: readonly string[]): WebApp;
  /** A Group was added. */
  groupCreated(groupId: string): void;
}

const EVENT_SOCKET_PATH = `${API_PREFIX}/events/ws`;

export function createApi(deps: ApiDependencies): Api {
  const { dispatcher, clock, log, requestIds, hub } = deps;
  const globalStream = new GlobalStream(hub);
  const eventSockets = new EventSockets(hub);
  const terminalSockets = new TerminalSockets(hub, deps.terminals);
  /**
   * A WebSocket of an authenticated caller. Terminals are only for the user, because typing there
   * can do anything.
   */
  const upgrade = (
    request: IncomingMessage,
    socket: Socket,
    head: Buffer,
    caller: Caller,
    isAllowed: () => boolean,
  ): void => {
    const path = pathOf(request);
    const terminal = terminalAt(path);
    if (path !== EVENT_SOCKET_PATH && terminal === null) refuseUpgrade(socket, new Refusal("not_found"));
    else if (caller.kind === "actor") refuseUpgrade(socket, notForActors());
    else if (terminal === null) eventSockets.accept(request, socket, head, caller, isAllowed);
    else if (caller.kind !== "user") refuseUpgrade(socket, new Refusal("permission_denied"));
    else if (undecided(caller) !== null) refuseUpgrade(socket, undecided(caller)!);
    else terminalSockets.accept(request, socket, head, terminal, caller, isAllowed);
  };

  const isAllowed = (exchange: Exchange) => (): boolean => exchange.lapsed() === null;
  const routes: Route[] = [
    ...operationRoutes(dispatcher, clock),
    ...specialRoutes({
      health: (exchange) => answer(exchange.response, { ok: true, result: { alive: true } }, exchange.id),
      ready(exchange) {
        if (!deps.isReady()) throw new Refusal("shutting_down");
        answer(exchange.response, { ok: true, result: { ready: true } }, exchange.id);
      },
      metrics: metricsService(deps.metrics),
      upload: (exchange) => serveUpload(deps.files, clock, exchange),
      blob: (exchange) => serveBlob(deps.files, exchange),
      presentation: (exchange) => servePresentation(deps.presentations, exchange),
      ledgerStream: (exchange) => serveLedgerStream(hub, exchange, isAllowed(exchange)),
      activityStream: (exchange) => serveActivityStream(deps.activity, hub, exchange, isAllowed(exchange)),
      globalStream: (exchange) => globalStream.serve(exchange, isAllowed(exchange)),
      peerIdentity: (exchange) => serveIdentity(deps.peers, exchange),
      peerRequest: (exchange) => servePeer(deps.peers, exchange),
      groupCheck: (exchange) => serveGroupCheck(deps.peers, exchange),
      frameOpening: (exchange) => serveFrameOpening(deps.framing, clock, exchange),
      webSocketByPlainGet(exchange) {
        const group = exchange.params["group_id"];
        if (group !== undefined && !mayEnter(readerOfExchange(exchange), group)) throw foreignGroup(group);
        throw new Refusal("invalid_request", { specifics: "This address accepts only WebSockets." });
      },
    }),
  ];

  const localApp = createApp({
    log,
    requestIds,
    routes,
    web: null,
    workbench: null,
    mcp: deps.mcp,
  });

  return {
    local(request, response, caller, id, lapsed) {
      introduce(request, response, caller, lapsed, id);
      localApp(request, response);
    },
    upgradeLocal(request, socket, head, caller, lapsed) {
      // The code that serves upgrades may have been loaded in the meantime.
      const refusal = lapsed();
      if (refusal !== null) refuseUpgrade(socket, refusal);
      else upgrade(request, socket, head, caller, () => lapsed() === null);
    },
    web(names) {
      const credentials: WebCredentials = {
        tokens: deps.tokens,
        sessions: deps.sessions,
        callerOf: webCaller,
      };
      const refuseFailure = failureLimit(clock);
      const signIn = sessionRoutes({
        clock,
        credentials,
        sessions: deps.sessions,
        links: deps.links,
        refuseFailure,
        sessionEnded: () => hub.recheck(),
      });
      const { frames, workbench } = deps;
      const framed = workbench === null ? [] : frameRoutes({ clock, frames, workbench });
      return {
        request: createApp({
          log,
          requestIds,
          routes: [...routes, ...signIn, ...framed],
          web: { names, credentials, refuseFailure, frames },
          workbench: workbenchOf(deps),
          mcp: deps.mcp,
        }),
        upgrade(request, socket, head) {
          const site = siteOf(request, names);
          const refusal = site === null ? new Refusal("wrong_host") : checkOrigin(request, site);
          if (site === null || refusal !== null)
            return refuseUpgrade(socket, refusal ?? new Refusal("wrong_host"));
          const found = authenticate(request, site, credentials);
          if (found === null) return refuseUpgrade(socket, new Refusal("unauthenticated"));
          if (found instanceof Refusal) {
            const exchange = newExchange(request, answerOnly(request, socket), requestIds.next());
            return refuseFailure(exchange, found);
          }
          const { caller } = found;
          const frameId = takeFrame(request);
          const unframed = () => (frameId === null ? null : embeddingRefusal(frames, frameId, caller));
          const foreign = unframed();
          if (foreign !== null) return refuseUpgrade(socket, foreign);
          const isAllowed = () => lapsedOf(request, site, credentials) === null && unframed() === null;
          upgrade(request, socket, head, caller, isAllowed);
        },
      };
    },
    exhibit(names, groups) {
      const credentials: WebCredentials = {
        tokens: deps.tokens,
        sessions: null,
        callerOf: (token) => exhibitCaller(token, groups),
      };
      return {
        request: createApp({
          log,
          requestIds,
          routes: routes.filter(({ method, exhibited }) => method === "GET" && exhibited === true),
          web: { names, credentials, refuseFailure: failureLimit(clock), frames: null },
          workbench: null,
          mcp: null,
        }),
        upgrade: (_request, socket) => refuseUpgrade(socket, new Refusal("not_found")),
      };
    },
    groupCreated: (groupId) => globalStream.groupCreated(groupId),
  };
}

function workbenchOf({ workbench, framing }: ApiDependencies): AppDependencies["workbench"] {
  return workbench === null ? null : { directory: workbench, framed: (origin) => framing.origins(origin) };
}

function pathOf(request: IncomingMessage): string {
  return (request.url ?? "").split("?", 1)[0]!;
}

/** An ordinary answer to a request for an upgrade. The connection ends with it. */
function answerOnly(request: IncomingMessage, socket: Socket): ServerResponse {
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket);
  response.once("finish", () => socket.destroySoon());
  return response;
}

/** The connection ends, whether or not its client ever closes its own side. */
function refuseUpgrade(socket: Socket, refusal: Refusal): void {
  const body = JSON.stringify({ ok: false, error: refusal.body() });
  const { status } = ERRORS[refusal.code];
  socket.write(
    `HTTP/1.1 ${status} Refused\r\nConnection: close\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
  socket.destroySoon();
}
