/** A WebSocket among the hub's clients: how it lives and ends, and how its requests come in. */
import { type WebSocket, WebSocketServer } from "ws";
import type { ZodType } from "zod";
import { Refusal } from "../../../shared/errors.ts";
import type { Caller } from "../../../shared/operations/caller.ts";
import { parseStrictJsonBytes } from "../../../shared/strict-json.ts";
import { invalidArguments } from "../../operations/failures.ts";
import type { StreamClient, StreamHub } from "./stream-hub.ts";

const POLICY_VIOLATION = 1008;
const GOING_AWAY = 1001;

export abstract class StreamSocket implements StreamClient {
  readonly caller: Caller;
  readonly isAllowed: () => boolean;
  protected readonly socket: WebSocket;
  protected readonly hub: StreamHub;
  #alive = true;

  constructor(socket: WebSocket, hub: StreamHub, caller: Caller, isAllowed: () => boolean) {
    this.socket = socket;
    this.hub = hub;
    this.caller = caller;
    this.isAllowed = isAllowed;
  }

  /** Does what a request asks for; what it throws goes to `refuse`. */
  protected abstract serve(request: unknown): void;
  /** Answers a refusal; `request` is undefined when it couldn't be read. */
  protected abstract refuse(refusal: Refusal, request: unknown): void;
  /** The connection is gone. */
  protected abstract left(): void;

  /** Joins the hub. Throws `overloaded`. */
  join(): void {
    const { socket, hub } = this;
    socket.on("error", () => socket.terminate());
    hub.add(this);
    socket.on("close", () => {
      this.left();
      hub.remove(this);
    });
    socket.on("pong", () => (this.#alive = true));
    socket.on("message", (data, binary) => this.#receive(data as Buffer, binary));
  }

  heartbeat(): void {
    if (!this.#alive) {
      this.socket.terminate();
      return;
    }
    this.#alive = false;
    this.socket.ping();
  }

  cut(): void {
    this.socket.close(POLICY_VIOLATION, "unauthenticated");
    this.socket.terminate();
  }

  goodbye(): void {
    this.socket.close(GOING_AWAY, "shutting_down");
  }

  #receive(data: Buffer, binary: boolean): void {
    if (this.socket.readyState !== this.socket.OPEN) return;
    if (!this.isAllowed()) return this.cut();
    let request: unknown;
    try {
      if (binary) throw new Refusal("invalid_request");
      try {
        request = parseStrictJsonBytes(data);
      } catch {
        throw new Refusal("invalid_request");
      }
      this.serve(request);
    } catch (error) {
      this.refuse(error instanceof Refusal ? error : new Refusal("internal_error"), request);
    }
  }
}

/** Completes upgrades; a message of more bytes than `maxPayload` ends its connection. */
export function upgradesOf(maxPayload: number): WebSocketServer {
  return new WebSocketServer({
    noServer: true,
    maxPayload,
    perMessageDeflate: false,
    clientTracking: false,
    skipUTF8Validation: false,
  });
}

/** A request as its schema has it. Throws `invalid_args`. */
export function parseRequest<Request>(schema: ZodType<Request>, request: unknown): Request {
  const parsed = schema.safeParse(request);
  if (!parsed.success) throw invalidArguments(parsed.error);
  return parsed.data;
}
