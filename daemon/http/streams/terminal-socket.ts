/**
 * `GET G/actors/{id}/term`: an Actor's terminal over a WebSocket (shared/terminal.ts). Typing there
 * means acting as that user of the machine.
 */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { Refusal } from "../../../shared/errors.ts";
import { LIMITS } from "../../../shared/limits.ts";
import type { Caller } from "../../../shared/operations/caller.ts";
import { type TerminalMessage, TerminalRequest } from "../../../shared/terminal.ts";
import type { AttachedViewer, ViewerPort } from "../../runtimes/terminal/terminal.ts";
import type { StreamHub } from "./stream-hub.ts";
import { parseRequest, StreamSocket, upgradesOf } from "./stream-socket.ts";

export interface Terminals {
  /** Throws group_not_found, actor_not_found, runner_mismatch or limit_reached. */
  attach(groupId: string, actorId: string, port: ViewerPort): AttachedViewer;
}

export interface TerminalAddress {
  group_id: string;
  actor_id: string;
}

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
  // Text of JSON may take six bytes for one.
  readonly #server = upgradesOf(6 * LIMITS.terminal.inputBytes + 1024);

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

class TerminalSocket extends StreamSocket implements ViewerPort {
  #viewer: AttachedViewer | null = null;

  /** Throws what `attach` throws, and `overloaded`. */
  start(attach: (port: ViewerPort) => AttachedViewer): void {
    this.join();
    this.#viewer = attach(this);
  }

  protected left(): void {
    this.#viewer?.detach();
    this.#viewer = null;
  }

  output(bytes: Uint8Array): void {
    if (this.socket.readyState === this.socket.OPEN) this.socket.send(bytes, { binary: true });
  }

  message(message: TerminalMessage): void {
    if (this.socket.readyState !== this.socket.OPEN) return;
    // Screens and output wait for acknowledgements. A client that reads nothing at all is cut off.
    if (this.socket.bufferedAmount > 16 * LIMITS.terminal.windowBytes) this.socket.terminate();
    else this.socket.send(JSON.stringify(message));
  }

  protected serve(request: unknown): void {
    this.#viewer?.request(parseRequest(TerminalRequest, request));
  }

  protected refuse(refusal: Refusal): void {
    this.message({ type: "error", error: refusal.body() });
  }
}
