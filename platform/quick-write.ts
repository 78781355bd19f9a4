/**
 * Writes what is encoded once to many sockets, past each one's stream: one system call and none of the stream's bookkeeping, which costs as
 * much again. For plain sockets with nothing waiting; everybody else's bytes go the ordinary way.
 */
import { writeSync } from "node:fs";
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";

/** The part of a socket's handle that is looked at. Its descriptor may be another's as soon as the socket has let go of the handle. */
interface Handle {
  readonly fd?: number;
}

const NO_DESCRIPTOR = -1;

function handleOf(socket: Socket): Handle | null {
  return (socket as unknown as { _handle?: Handle | null })._handle ?? null;
}

export class QuickWriter {
  readonly #socket: Socket;
  readonly #handle: Handle | null;
  readonly #descriptor: number;

  constructor(socket: Socket) {
    this.#socket = socket;
    this.#handle = socket instanceof TLSSocket ? null : handleOf(socket);
    this.#descriptor = this.#handle?.fd ?? NO_DESCRIPTOR;
  }

  /** Bytes that the socket took; the caller writes the rest to its stream, where any failure shows. Nothing may wait in the stream. */
  write(bytes: Uint8Array): number {
    if (this.#descriptor < 0 || handleOf(this.#socket) !== this.#handle) return 0;
    try {
      return writeSync(this.#descriptor, bytes);
    } catch {
      // The reader is slow, or gone.
      return 0;
    }
  }
}
