/** The terminals that are attached now, which try again and end together. */
import type { OpensSocket } from "./connect.ts";
import type { TerminalLink, TerminalListener } from "./listeners.ts";
import { TerminalSocket } from "./terminal-socket.ts";

export class TerminalSockets {
  readonly #open = new Set<TerminalSocket>();

  /** Attaches one, until it is closed. `refused` is TerminalSocket's. */
  attach(opens: OpensSocket, listener: TerminalListener, refused: () => void): TerminalLink {
    const socket = new TerminalSocket(opens, listener, refused);
    this.#open.add(socket);
    return {
      send: (request) => socket.send(request),
      close: () => {
        this.#open.delete(socket);
        socket.close();
      },
    };
  }

  /** Those that are broken try now. */
  retry(): void {
    for (const socket of this.#open) socket.retry();
  }

  close(): void {
    for (const socket of this.#open) socket.close();
    this.#open.clear();
  }
}
