/** The daemon's streams as a browser opens them. */
import type { OpensSocket, OpensStream } from "../../../shared/stream-client/connect.ts";

/** A WebSocket to `url`. */
export function browserSocket(url: string): OpensSocket {
  return ({ opened, received, closed }) => {
    const socket = new WebSocket(url);
    socket.binaryType = "arraybuffer";
    socket.onopen = opened;
    socket.onmessage = ({ data }: MessageEvent<ArrayBuffer | string>) =>
      received(typeof data === "string" ? data : new Uint8Array(data));
    socket.onclose = closed;
    return {
      send: (text) => {
        if (socket.readyState === WebSocket.OPEN) socket.send(text);
      },
      close: () => socket.close(),
    };
  };
}

/**
 * Server-sent events named `name` of `url`. A break ends it: the browser would reconnect by itself,
 * but not after a refusal, and without a snapshot.
 */
export function serverSentEvents(url: string, name: string): OpensStream {
  return ({ opened, received, closed }) => {
    const source = new EventSource(url);
    source.addEventListener(name, ({ data }: MessageEvent<string>) => received(data));
    source.onopen = opened;
    source.onerror = () => {
      source.close();
      closed();
    };
    return { close: () => source.close() };
  };
}
