/** The daemon's streams over the local socket, for programs that stay open. */
import { Agent } from "node:http";
import type { WebSocket } from "ws";
import type { OpensSocket, OpensStream } from "../../shared/stream-client/connect.ts";
import type { DaemonClient } from "../client.ts";
import { findEndpoint } from "../connection.ts";
import { readEvents } from "../events.ts";
import { DaemonUnreachable } from "../failures.ts";
import { watch } from "../patience.ts";

/**
 * A WebSocket to `path` at the daemon of the Home. It closes, too, when the daemon is there and
 * doesn't answer.
 */
export function localSocket(home: string, path: string): OpensSocket {
  return ({ opened, received, closed }) => {
    let socket: WebSocket | null = null;
    let isClosed = false;
    let why: unknown = new DaemonUnreachable(home, "it ended");
    const open = async (): Promise<void> => {
      // Loaded with the first stream.
      const { WebSocket } = await import("../web-socket.ts");
      if (isClosed) return;
      const { socketPath, credential } = findEndpoint(home);
      socket = new WebSocket(`ws://localhost${path}`, {
        agent: new Agent({ socketPath } as object),
        headers: credential,
        perMessageDeflate: false,
      });
      socket.on("open", opened);
      socket.on("message", (data: Buffer, isBinary) => received(isBinary ? data : data.toString("utf8")));
      socket.on("upgrade", (response) =>
        watch(
          home,
          () => findEndpoint(home),
          response.socket,
          (silence) => {
            why = silence ?? why;
            socket?.terminate();
          },
        ),
      );
      // "close" follows.
      socket.on("error", (error) => (why = new DaemonUnreachable(home, error.message, error)));
      socket.on("close", () => closed(why));
    };
    open().catch(closed);
    return {
      send: (text) => {
        if (socket !== null && socket.readyState === socket.OPEN) socket.send(text);
      },
      close: () => {
        isClosed = true;
        socket?.terminate();
      },
    };
  };
}

/** Server-sent events named `name` of `path`. */
export function localEvents(client: DaemonClient, path: string, name: string): OpensStream {
  return ({ opened, received, closed }) => {
    const ended = new AbortController();
    const read = async (): Promise<void> => {
      const response = await client.open(path, { accept: "text/event-stream" }, { signal: ended.signal });
      if (ended.signal.aborted) return;
      opened();
      for await (const { event, data } of readEvents(response)) if (event === name) received(data);
    };
    read()
      .catch(() => {})
      .finally(() => {
        if (!ended.signal.aborted) closed();
      });
    return { close: () => ended.abort() };
  };
}
