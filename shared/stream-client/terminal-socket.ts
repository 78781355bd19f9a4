/**
 * One Actor's terminal over a WebSocket. It reconnects after a break, and the daemon then begins
 * with the whole screen.
 */
import type { TerminalMessage, TerminalRequest } from "../terminal.ts";
import type { OpenSocket, OpensSocket } from "./connect.ts";
import type { TerminalLink, TerminalListener } from "./listeners.ts";

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 5000;

export class TerminalSocket implements TerminalLink {
  readonly #open: OpensSocket;
  readonly #listener: TerminalListener;
  readonly #refused: () => void;
  #socket: OpenSocket | null = null;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #pause = FIRST_PAUSE_MS;
  #closed = false;

  /**
   * `refused` is called when the connection couldn't be made or ended: perhaps the session has
   * ended.
   */
  constructor(open: OpensSocket, listener: TerminalListener, refused: () => void) {
    this.#open = open;
    this.#listener = listener;
    this.#refused = refused;
    this.#connect();
  }

  send(request: TerminalRequest): void {
    this.#socket?.send(JSON.stringify(request));
  }

  retry(): void {
    if (this.#closed || this.#socket !== null) return;
    this.#pause = FIRST_PAUSE_MS;
    this.#connect();
  }

  close(): void {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#socket?.close();
    this.#socket = null;
  }

  #connect(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const socket = this.#open({
      opened: () => {},
      received: (data) => {
        if (this.#socket !== socket) return;
        this.#pause = FIRST_PAUSE_MS;
        if (typeof data === "string") this.#listener.message(JSON.parse(data) as TerminalMessage);
        else this.#listener.output(data);
      },
      closed: () => this.#lost(socket),
    });
    this.#socket = socket;
  }

  #lost(socket: OpenSocket): void {
    if (this.#socket !== socket || this.#closed) return;
    this.#socket = null;
    this.#listener.lost();
    this.#refused();
    this.#timer = setTimeout(() => this.#connect(), this.#pause * (0.75 + Math.random() / 2));
    this.#pause = Math.min(LONGEST_PAUSE_MS, this.#pause * 2);
  }
}
