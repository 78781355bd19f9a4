/**
 * A connection to one of the daemon's streams, as the clients of streams see it. A browser opens it
 * under the page's origin, an editor over the local socket.
 */

/** What happens to a connection. Nothing is reported before the function that opens it returns. */
export interface StreamEvents {
  opened: () => void;
  received: (data: string | Uint8Array) => void;
  /** It has ended, or couldn't be made; `why` as far as this is known. */
  closed: (why?: unknown) => void;
}

/** A stream that is only read. */
export interface OpenStream {
  close(): void;
}

/** A WebSocket. What is sent while it isn't open is dropped. */
export interface OpenSocket extends OpenStream {
  send(text: string): void;
}

export type OpensStream = (events: StreamEvents) => OpenStream;
export type OpensSocket = (events: StreamEvents) => OpenSocket;
