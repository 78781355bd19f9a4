/** An HTTP or HTTPS listener for an application that is loaded with the first request. */
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
} from "node:http";
import type { Socket } from "node:net";
import type { Clock } from "../../../platform/clock.ts";
import type { Descriptors } from "../../../platform/descriptors.ts";
import { PortConnections } from "../../../platform/http/connections.ts";
import type { ListenerNames } from "../../../platform/http/site.ts";
import { errorFields, type Log } from "../../../platform/log.ts";
import type { Network } from "../../../platform/network.ts";
import { Refusal } from "../../../shared/errors.ts";
import { LIMITS } from "../../../shared/limits.ts";

/** Serves requests and upgrades; its parts may be heavy. */
export interface WebApp {
  request: RequestListener;
  upgrade(request: IncomingMessage, socket: Socket, head: Buffer): void;
}

export interface WebListenerOptions {
  network: Network;
  clock: Clock;
  log: Log;
  host: string;
  port: number;
  /** How many connections it takes. */
  most: number;
  descriptors: Descriptors;
  /** PEM texts; HTTPS with them. */
  tls: { cert: string; key: string } | null;
  manualOrigin(): string | null;
  app(names: ListenerNames): Promise<WebApp>;
}

/** How often node:http looks for requests whose head doesn't come to an end. */
const CHECK_MS = 30_000;

export class WebListener {
  readonly names: ListenerNames;
  readonly #server: Server;
  readonly #network: Network;
  readonly #clock: Clock;
  readonly #connections: PortConnections;

  private constructor(
    server: Server,
    names: ListenerNames,
    { network, clock, connections }: WebListenerOptions & { connections: PortConnections },
  ) {
    this.#server = server;
    this.names = names;
    this.#network = network;
    this.#clock = clock;
    this.#connections = connections;
  }

  /**
   * Listens; rejects with Node's error when it can't (EADDRINUSE, EACCES, a key that doesn't fit
   * its certificate).
   */
  static async open(options: WebListenerOptions): Promise<WebListener> {
    const server = await createServer(options.tls);
    const connections = new PortConnections(options.most, options.descriptors);
    server.on("connection", (socket: Socket) => connections.add(socket));
    const address = await options.network.listen(server, { host: options.host, port: options.port });
    if (!("port" in address)) throw new Error("a Web listener has a port");
    const names: ListenerNames = {
      secure: options.tls !== null,
      host: options.host,
      port: address.port,
      manualOrigin: () => options.manualOrigin(),
    };
    let loading: Promise<WebApp> | undefined;
    const app = (): Promise<WebApp> => (loading ??= options.app(names));
    server.on("request", (request, response) => {
      connections.begins(request, response);
      if (hasTooManyFields(request)) {
        response.writeHead(431, { Connection: "close", "Content-Length": 0 });
        response.end();
        return;
      }
      app().then(
        (loaded) => loaded.request(request, response),
        (error: unknown) => {
          options.log.error("web application", errorFields(error));
          const refusal = error instanceof Refusal ? error : new Refusal("internal_error");
          response.writeHead(refusal.status, { Connection: "close", "Content-Type": "text/plain" });
          response.end(`${refusal.message}\n`);
        },
      );
    });
    server.on("upgrade", (request, socket, head) => {
      connections.upgrades(socket as Socket);
      socket.on("error", () => socket.destroy());
      app().then(
        (loaded) => loaded.upgrade(request, socket as Socket, head),
        () => socket.destroy(),
      );
    });
    return new WebListener(server, names, { ...options, connections });
  }

  /** Where a browser on this machine reaches it. */
  get origin(): string {
    const { secure, host, port } = this.names;
    const reached = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
    const scheme = secure ? "https" : "http";
    return new URL(`${scheme}://${reached.includes(":") ? `[${reached}]` : reached}:${port}`).origin;
  }

  /** Stops accepting and ends what is idle; streams must have been told before. */
  async close(graceMs: number): Promise<void> {
    const closed = this.#network.close(this.#server);
    this.#server.closeIdleConnections();
    const timer = this.#clock.after(graceMs, () => this.#connections.destroyAll());
    await closed;
    timer.cancel();
  }
}

/**
 * Node counts the bytes of fields without their separators, so many tiny ones would pass its limit.
 */
function hasTooManyFields(request: IncomingMessage): boolean {
  return request.rawHeaders.length > 2 * LIMITS.body.headerFields;
}

async function createServer(tls: { cert: string; key: string } | null): Promise<Server> {
  const options = {
    maxHeaderSize: LIMITS.body.headerBytes,
    requestTimeout: 0,
    headersTimeout: LIMITS.http.requestSeconds * 1000,
    keepAliveTimeout: LIMITS.http.keepAliveSeconds * 1000,
    connectionsCheckingInterval: CHECK_MS,
    requireHostHeader: true,
  };
  if (tls === null) return createHttpServer(options);
  const https = await import("node:https");
  const handshakeTimeout = LIMITS.http.requestSeconds * 1000;
  return https.createServer({ ...options, ...tls, minVersion: "TLSv1.2", handshakeTimeout });
}
