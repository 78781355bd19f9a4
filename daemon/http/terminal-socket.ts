/** `GET G/actors/{id}/term`: an Actor's terminal over a WebSocket (shared/terminal.ts). Whoever types there acts as that user of the machine. */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import { Refusal } from "../../shared/errors.ts";
import { LIMITS } from "../../shared/limits.ts";
import type { Caller } from "../../shared/operations/caller.ts";
import { parseStrictJsonBytes } from "../../shared/strict-json.ts";
import { type TerminalMessage, TerminalRequest } from "../../shared/terminal.ts";
import { invalidArguments } from "../operations/failures.ts";
import type { AttachedViewer, ViewerPort } from "../runtimes/terminal.ts";
import type { StreamClient, StreamHub } from "./stream-hub.ts";

export interface Terminals {
  /** Throws group_not_found, actor_not_found, runner_mismatch or limit_reached. */
  attach(group_id: string, actor_id: string, port: ViewerPort): AttachedViewer;
}

export interface TerminalAddress {
  group_id: string;
  actor_id: string;
}

const POLICY_VIOLATION = 1008;
const GOING_AWAY = 1001;
const TRY_LATER = 1013;
const NORMAL = 1000;
const PATH = /^\/api\/v1\/groups\/(g_[0-9a-f]{12})\/actors\/([A-Za-z0-9][A-Za-z0-9_-]{0,31})\/term$/;

/** The terminal that a path names; null when it names none. */
export function terminalAt(path: string): TerminalAddress | null {
  const found = PATH.exec(path);
  return found === null ? null : { group_id: found[1]!, actor_id: found[2]! };
}

export class TerminalSockets {
  readonly #hub: StreamHub;
  readonly #terminals: Terminals;
  readonly #server = new WebSocketServer({
    noServer: true,
    // Text of JSON may take six bytes for one.
    maxPayload: 6 * LIMITS.terminal.inputBytes + 1024,
    perMessageDeflate: false,
    clientTracking: false,
    skipUTF8Validation: false,
  });

  constructor(hub: StreamHub, terminals: Terminals) {
    this.#hub = hub;
    this.#terminals = terminals;
  }

  /** Completes the upgrade of a caller who was let in. */
  accept(
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    address: TerminalAddress,
    caller: Caller,
    isAllowed: () => boolean,
  ): void {
    this.#server.handleUpgrade(request, socket, head, (webSocket) => {
      const client = new TerminalSocket(webSocket, this.#hub, caller, isAllowed);
      try {
        client.start((port) => this.#terminals.attach(address.group_id, address.actor_id, port));
      } catch (error) {
        const refusal = error instanceof Refusal ? error : new Refusal("internal_error");
        client.message({ type: "error", error: refusal.body() });
        webSocket.close(refusal.code === "overloaded" ? TRY_LATER : NORMAL, refusal.code);
      }
    });
  }
}

class TerminalSocket implements StreamClient, ViewerPort {
  readonly caller: Caller;
  readonly isAllowed: () => boolean;
  readonly #socket: WebSocket;
  readonly #hub: StreamHub;
  #viewer: AttachedViewer | null = null;
  #alive = true;

  constructor(socket: WebSocket, hub: StreamHub, caller: Caller, isAllowed: () => boolean) {
    this.#socket = socket;
    this.#hub = hub;
    this.caller = caller;
    this.isAllowed = isAllowed;
  }

  /** Throws what `attach` throws, and `overloaded`. */
  start(attach: (port: ViewerPort) => AttachedViewer): void {
    const socket = this.#socket;
    socket.on("error", () => socket.terminate());
    this.#hub.add(this);
    socket.on("close", () => {
      this.#viewer?.detach();
      this.#viewer = null;
      this.#hub.remove(this);
    });
    socket.on("pong", () => (this.#alive = true));
    socket.on("message", (data, binary) => this.#receive(data as Buffer, binary));
    this.#viewer = attach(this);
  }

  output(bytes: Uint8Array): void {
    if (this.#socket.readyState === this.#socket.OPEN) this.#socket.send(bytes, { binary: true });
  }

  message(message: TerminalMessage): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    // Screens and output wait for acknowledgements; who reads nothing at all is cut off.
    if (this.#socket.bufferedAmount > 16 * LIMITS.terminal.windowBytes) this.#socket.terminate();
    else this.#socket.send(JSON.stringify(message));
  }

  heartbeat(): void {
    if (!this.#alive) {
      this.#socket.terminate();
      return;
    }
    this.#alive = false;
    this.#socket.ping();
  }

  cut(): void {
    this.#socket.close(POLICY_VIOLATION, "unauthenticated");
    this.#socket.terminate();
  }

  goodbye(): void {
    this.#socket.close(GOING_AWAY, "shutting_down");
  }

  /** What other streams tell isn't for this one. */
  group(): void {}
  actors(): void {}

  #receive(data: Buffer, binary: boolean): void {
    try {
      if (binary) throw new Refusal("invalid_request");
      let value: unknown;
      try {
        value = parseStrictJsonBytes(data);
      } catch {
        throw new Refusal("invalid_request");
      }
      const parsed = TerminalRequest.safeParse(value);
      if (!parsed.success) throw invalidArguments(parsed.error);
      this.#viewer?.request(parsed.data);
    } catch (error) {
      const refusal = error instanceof Refusal ? error : new Refusal("internal_error");
      this.message({ type: "error", error: refusal.body() });
    }
  }
}
