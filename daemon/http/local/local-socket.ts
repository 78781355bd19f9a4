/**
 * The owner-only local socket. The fast reader serves operations. node:http serves everything else
 * (streams, uploads, the rest of the HTTP API, an Actor's lease) with the same authority. Every
 * request carries the key from the owner-only key file.
 */
import {
  createServer as createHttpServer,
  type Server as HttpServer,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import { createServer, type Server, type Socket } from "node:net";
import type { Clock } from "../../../platform/clock.ts";
import type { Descriptors } from "../../../platform/descriptors.ts";
import { answer, refuse } from "../../../platform/http/answer.ts";
import { readJson } from "../../../platform/http/body.ts";
import type { RequestIds } from "../../../platform/http/request-id.ts";
import { errorFields, type Log } from "../../../platform/log.ts";
import { Refusal } from "../../../shared/errors.ts";
import { LIMITS } from "../../../shared/limits.ts";
import { HEADERS, SOCKET_OPERATION_PREFIX } from "../../../shared/names.ts";
import type { Caller } from "../../../shared/operations/caller.ts";
import { failure } from "../../../shared/operations/outcome.ts";
import type { ActorCaller, Dispatcher } from "../../operations/dispatcher.ts";
import { IdleSweep, type Waiting } from "./idle-sweep.ts";
import type { Door, LocalCallers } from "./local-caller.ts";
import { Peer, type Watch } from "./peer.ts";
import { SocketConnection } from "./socket-connection.ts";

/** Serves a request whose caller is known. */
export type LocalApp = (
  request: IncomingMessage,
  response: ServerResponse,
  caller: Caller,
  id: string,
  lapsed: () => Refusal | null,
) => void;

export interface LocalSocketDependencies {
  dispatcher: Dispatcher;
  callers: LocalCallers;
  requestIds: RequestIds;
  clock: Clock;
  log: Log;
  /** How many connections the person's socket and each Actor's take. */
  most: { person: number; actor: number };
  descriptors: Descriptors;
  /** The HTTP API; loaded when the first request for it comes. */
  app(): Promise<LocalApp>;
  /** Serves an upgrade to a WebSocket. */
  upgrade(
    request: IncomingMessage,
    socket: Socket,
    head: Buffer,
    caller: Caller,
    lapsed: () => Refusal | null,
  ): void;
  /**
   * A connection starts to hold an Actor's session open. The returned function is called at its
   * end; `ended` ends it from here.
   */
  lease(caller: ActorCaller, ended: () => void): () => void;
  /** Null where the system doesn't say who is there. */
  watch: Watch;
}

/** A connection that node:http serves. */
class HandedOver {
  readonly #socket: Socket;
  #requests = 0;
  #open = 0;
  #upgraded = false;
  #ended = false;
  /** Bytes that had come when the last request was answered. */
  #answeredAt = -1;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  get waiting(): Waiting {
    const requests = this.#requests;
    const busy = this.#upgraded || this.#open > 0 || this.#socket.writableLength > 0;
    if (busy) return { for: null, requests };
    return { for: this.#socket.bytesRead > this.#answeredAt ? "rest" : "next", requests };
  }

  request(response: ServerResponse): void {
    this.#requests += 1;
    this.#open += 1;
    response.once("close", () => {
      this.#open -= 1;
      this.#answeredAt = this.#socket.bytesRead;
      if (this.#ended) this.finish();
    });
  }

  /** Ends the connection once its running requests have been answered. */
  finish(): void {
    this.#ended = true;
    const isBusy = this.#upgraded || this.#open > 0 || this.#socket.bytesRead > this.#answeredAt;
    if (!isBusy) this.#socket.end();
  }

  upgrade(): void {
    this.#upgraded = true;
  }
}

export class LocalSocket {
  readonly server: Server;
  readonly #deps: LocalSocketDependencies;
  readonly #sockets = new Map<Socket, SocketConnection | HandedOver>();
  readonly #ends = new WeakMap<Socket, { peer: Peer; door: Door | null }>();
  readonly #sweep: IdleSweep;
  readonly #http: HttpServer;
  #closing = false;

  constructor(deps: LocalSocketDependencies) {
    this.#deps = deps;
    this.#sweep = new IdleSweep(deps.clock);
    const http = createHttpServer({
      maxHeaderSize: LIMITS.body.headerBytes,
      // It looks after connections of its own listener only: ours are swept.
      requestTimeout: 0,
      keepAliveTimeout: 0,
      requireHostHeader: true,
    });
    http.on("request", (request, response) => {
      const handed = this.#sockets.get(request.socket);
      if (handed instanceof HandedOver) handed.request(response);
      void this.#serve(request, response);
    });
    http.on("upgrade", (request, socket, head) => {
      const handed = this.#sockets.get(socket as Socket);
      if (handed instanceof HandedOver) handed.upgrade();
      this.#upgrade(request, socket as Socket, head);
    });
    this.#http = http;
    this.server = this.listener(null);
    this.server.once("close", () => http.close());
  }

  /** A server of the same requests. With `door`, every caller there is that Actor or refused. */
  listener(door: Door | null): Server {
    const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) =>
      this.#accept(socket, door),
    );
    const { person, actor } = this.#deps.most;
    server.maxConnections = door === null ? person : actor;
    return server;
  }

  #accept(socket: Socket, door: Door | null): void {
    const { dispatcher, callers, requestIds, log, watch } = this.#deps;
    const peer = new Peer(socket, watch);
    this.#ends.set(socket, { peer, door });
    const connection = new SocketConnection(socket, {
      dispatcher,
      callers,
      requestIds,
      log,
      peer,
      door,
      handOver: (handed) => {
        const state = new HandedOver(handed);
        this.#sockets.set(handed, state);
        this.#sweep.watch(handed, () => state.waiting);
        this.#http.emit("connection", handed);
      },
    });
    this.#sockets.set(socket, connection);
    socket.once("close", this.#deps.descriptors.connected());
    this.#sweep.watch(socket, () => connection.waiting);
    socket.once("close", () => this.#sockets.delete(socket));
  }

  /**
   * Ends each connection once its running requests have been answered. Call `destroy` after a
   * while.
   */
  finish(): void {
    this.#closing = true;
    for (const connection of this.#sockets.values()) connection.finish();
  }

  /** Ends every connection now. */
  destroy(): void {
    for (const socket of this.#sockets.keys()) socket.destroy();
  }

  /** The caller of a request, at any time of it. */
  #identify(request: IncomingMessage): Caller | Refusal {
    const header = (name: string): string | undefined => {
      const value = request.headers[name];
      return typeof value === "string" ? value : undefined;
    };
    const end = this.#ends.get(request.socket);
    return this.#deps.callers.identify(
      header(HEADERS.socketKey),
      header(HEADERS.launchToken),
      header(HEADERS.session),
      end === undefined ? undefined : () => end.peer.standing,
      end?.door ?? null,
    );
  }

  /** On a connection that came with a launch token, a later request may have none. */
  async #ask({ headers, socket }: IncomingMessage): Promise<void> {
    const end = this.#ends.get(socket);
    if (end === undefined || end.door !== null || headers[HEADERS.launchToken] !== undefined) return;
    if (!end.peer.mustAsk(null)) return;
    await end.peer.ask();
    socket.resume();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const id = this.#deps.requestIds.next();
    if (this.#closing) response.setHeader("Connection", "close");
    try {
      await this.#ask(request);
      const caller = this.#identify(request);
      if (caller instanceof Refusal) refuse(request, response, caller, id);
      else await this.#serveCaller(request, response, caller, id);
    } catch (error) {
      if (!(error instanceof Refusal))
        this.#deps.log.error("unexpected", { request: id, ...errorFields(error) });
      const refusal =
        error instanceof Refusal ? error : new Refusal("internal_error", { details: { request_id: id } });
      refuse(request, response, refusal, id);
    }
  }

  async #serveCaller(
    request: IncomingMessage,
    response: ServerResponse,
    caller: Caller,
    id: string,
  ): Promise<void> {
    const url = request.url ?? "";
    if (request.method === "POST" && url.startsWith(SOCKET_OPERATION_PREFIX)) {
      const input = await readJson(request, this.#deps.clock);
      // The token may have been renewed while the body was on its way.
      const lapsed = this.#identify(request);
      if (lapsed instanceof Refusal) throw lapsed;
      const gone = new AbortController();
      response.once("close", () => gone.abort());
      const name = url.slice(SOCKET_OPERATION_PREFIX.length);
      answer(
        response,
        await this.#deps.dispatcher.call(name, input, { caller, signal: gone.signal, requestId: id }),
        id,
      );
    } else if (request.method === "GET" && url === "/session") this.#hold(request, response, caller, id);
    else {
      const app = await this.#deps.app();
      const lapsed = this.#identify(request);
      if (lapsed instanceof Refusal) throw lapsed;
      app(request, response, caller, id, () => this.#lapsed(request));
    }
  }

  /** `GET /session`: an answer without end. The Actor's session lives as long as it. */
  #hold(request: IncomingMessage, response: ServerResponse, caller: Caller, id: string): void {
    if (caller.kind !== "actor" || caller.session === null) {
      const specifics = "A session needs an Actor and a name.";
      answer(response, failure(new Refusal("invalid_request", { specifics })), id);
      return;
    }
    const end = this.#deps.lease(caller, () => response.end());
    response.once("close", end);
    response.writeHead(200, { "Content-Type": "text/plain", "Cache-Control": "no-store" });
    response.flushHeaders();
    const { socket } = request;
    void this.#ends
      .get(socket)
      ?.peer.connected(caller)
      .then(() => socket.resume());
  }

  #upgrade(request: IncomingMessage, socket: Socket, head: Buffer): void {
    const caller = this.#identify(request);
    if (caller instanceof Refusal) {
      socket.write("HTTP/1.1 401 Unauthorized\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
      // Also if its client never closes its own side.
      socket.destroySoon();
    } else this.#deps.upgrade(request, socket, head, caller, () => this.#lapsed(request));
  }

  /** Why the request's credential is no longer valid; null if it is. */
  #lapsed(request: IncomingMessage): Refusal | null {
    const found = this.#identify(request);
    return found instanceof Refusal ? found : null;
  }
}
