/**
 * One open `text/event-stream` answer. The body has no chunks and ends with the connection, so that
 * events that were encoded once can be written unchanged to a thousand sockets. The unread data of
 * a slow client is bounded.
 */
import type { Socket } from "node:net";
import { LIMITS } from "../../../shared/limits.ts";
import type { Exchange } from "../exchange/exchange.ts";
import { eventText, HEARTBEAT } from "./event-text.ts";

export class SseStream {
  readonly #socket: Socket;
  #ended = false;
  #drained: (() => void) | null = null;

  constructor(exchange: Exchange, closed: () => void) {
    const { response } = exchange;
    this.#socket = response.socket!;
    response.removeHeader("Transfer-Encoding");
    response.shouldKeepAlive = false;
    response.writeHead(200, {
      "Content-Type": "text/event-stream; charset=utf-8",
      "Cache-Control": "no-store",
      "X-Accel-Buffering": "no",
      Connection: "close",
    });
    response.flushHeaders();
    // Proxies and clients see only with the first bytes that the stream is open.
    this.#socket.write(HEARTBEAT);
    this.#socket.setTimeout(0);
    response.once("close", () => {
      this.#ended = true;
      closed();
    });
    this.#socket.on("drain", () => {
      const drained = this.#drained;
      this.#drained = null;
      drained?.();
    });
  }

  /**
   * Whether so much waits already that the past should wait, too; `drained` is called once when
   * that is over.
   */
  isFull(drained: () => void): boolean {
    if (!this.#socket.writableNeedDrain) return false;
    this.#drained = drained;
    return true;
  }

  /** Something of the past, after `isFull` was asked. */
  push(text: string): void {
    if (!this.#ended) this.#socket.write(text);
  }

  /**
   * False if the client is too slow; nothing was written then. A client that has read everything is
   * never too slow, however much comes at once.
   */
  write(content: Buffer | string): boolean {
    if (this.#ended) return true;
    const waiting = this.#socket.writableLength;
    if (waiting > 0 && waiting + content.length > LIMITS.stream.bufferBytes) return false;
    this.#socket.write(content);
    return true;
  }

  heartbeat(): void {
    if (!this.#ended && this.#socket.writableLength === 0) this.#socket.write(HEARTBEAT);
  }

  /** Tells a slow client which event to resume after, and closes. */
  resume(after: string | null): void {
    this.end(eventText("resume", { after }));
  }

  end(last = ""): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#socket.end(last);
  }

  /** A client that lost access gets nothing more, not even waiting data. */
  cut(): void {
    this.#socket.destroy();
  }
}
