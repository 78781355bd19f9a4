/**
 * The connections of a port for browsers. When there are too many, one goes that nobody misses: the
 * oldest that waits for a request or for the rest of one. So whoever leaves requests unfinished
 * keeps nobody else out.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { LIMITS } from "../../shared/limits.ts";
import type { Descriptors } from "../descriptors.ts";

interface Connection {
  socket: Socket;
  /** What is being answered on it. */
  request: IncomingMessage | null;
  /** It belongs to a WebSocket. */
  upgraded: boolean;
}

/** The same for a connection and for the TLS on it. */
function keyOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

export class PortConnections {
  readonly #most: number;
  readonly #descriptors: Descriptors;
  /** In the order in which they came, a used one behind the others. */
  readonly #all = new Map<string, Connection>();

  constructor(most: number, descriptors: Descriptors) {
    this.#most = most;
    this.#descriptors = descriptors;
  }

  /** Takes a new connection, before any TLS on it. */
  add(socket: Socket): void {
    const key = keyOf(socket);
    const connection: Connection = { socket, request: null, upgraded: false };
    this.#all.set(key, connection);
    const closed = this.#descriptors.connected();
    socket.once("close", () => {
      closed();
      if (this.#all.get(key) === connection) this.#all.delete(key);
    });
    if (this.#all.size > this.#most) this.#makeRoom(socket);
  }

  /** A request's head has come on it. */
  begins(request: IncomingMessage, response: ServerResponse): void {
    const key = keyOf(request.socket);
    const connection = this.#all.get(key);
    if (connection === undefined) return;
    connection.request = request;
    response.once("close", () => {
      connection.request = null;
      if (this.#all.delete(key)) this.#all.set(key, connection);
    });
  }

  upgrades(socket: Socket): void {
    const connection = this.#all.get(keyOf(socket));
    if (connection !== undefined) connection.upgraded = true;
  }

  destroyAll(): void {
    for (const { socket } of this.#all.values()) socket.destroy();
  }

  #makeRoom(added: Socket): void {
    const all = [...this.#all].filter(([, { socket, upgraded }]) => !upgraded && socket !== added);
    const [key, goes] = all.find(([, { request }]) => request === null) ??
      all.find(([, { request }]) => request?.complete === false) ?? [keyOf(added), { socket: added }];
    this.#all.delete(key);
    goes.socket.destroy();
  }
}

/** Whether a Group may be opened: the ports may need what is free. */
export function hasRoomForGroup(descriptors: Descriptors): boolean {
  const { webShare, exhibitShare, localShare, freeForGroup } = LIMITS.descriptors;
  const [web, exhibit, local] = [webShare, exhibitShare, localShare].map((share) =>
    mostConnections(descriptors.limit, share),
  ) as [number, number, number];
  return descriptors.hasRoomBeside(web + exhibit + local, freeForGroup);
}

/**
 * The most connections of a port that may have this share of the descriptors; `limit` is the
 * process's, null if there is none. The rest is for its own files, connections and programs.
 */
export function mostConnections(limit: number | null, share: number): number {
  const { connections, fewestConnections } = LIMITS.http;
  if (limit === null) return connections;
  const free = limit - LIMITS.descriptors.reserved;
  return Math.min(connections, Math.max(fewestConnections, Math.floor(free * share)));
}
