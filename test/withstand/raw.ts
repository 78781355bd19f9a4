/** Bytes to a socket as they are, and what comes back. */
import { connect, type NetConnectOpts, type Socket } from "node:net";

export interface Exchange {
  bytes: Buffer;
  /** The other side ended or reset the connection. */
  closed: boolean;
  /** Status codes of the answers, in order. */
  statuses: number[];
}

export interface ExchangeOptions {
  /** Ends our side behind the bytes. */
  halfClose?: boolean;
  /** Stop once so many answers have begun. */
  answers?: number;
  /** Stop once what came says that this is all; instead of `answers`. */
  isDone?: (text: string) => boolean;
  /** Stop waiting after this long. */
  milliseconds?: number;
}

/**
 * Writes `parts` one after the other and reads until the other side closes, enough answers came, or
 * the time is up.
 */
export function exchange(
  target: NetConnectOpts,
  parts: readonly (Buffer | string)[],
  { halfClose = false, answers = 1, isDone, milliseconds = 60_000 }: ExchangeOptions = {},
): Promise<Exchange> {
  return new Promise((resolve) => {
    const socket: Socket = connect({ ...target, allowHalfOpen: true });
    const chunks: Buffer[] = [];
    const finish = (closed: boolean): void => {
      clearTimeout(timer);
      socket.destroy();
      const bytes = Buffer.concat(chunks);
      resolve({ bytes, closed, statuses: statusesOf(bytes) });
    };
    const timer = setTimeout(() => finish(false), milliseconds);
    socket.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      const bytes = Buffer.concat(chunks);
      const done =
        isDone?.(bytes.toString("utf8")) ?? (statusesOf(bytes).length >= answers && isWhole(bytes));
      if (done) finish(false);
    });
    socket.on("end", () => finish(true));
    socket.on("error", () => finish(true));
    socket.on("connect", () => {
      for (const part of parts) socket.write(part);
      if (halfClose) socket.end();
    });
  });
}

function statusesOf(bytes: Buffer): number[] {
  return [...bytes.toString("latin1").matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((match) => Number(match[1]));
}

/** Whether the last answer has all its body. */
function isWhole(bytes: Buffer): boolean {
  const text = bytes.toString("latin1");
  const head = text.lastIndexOf("HTTP/1.1 ");
  const end = text.indexOf("\r\n\r\n", head);
  if (head === -1 || end === -1) return false;
  const length = /\r\ncontent-length: (\d+)/i.exec(text.slice(head, end));
  return length === null ? true : bytes.length >= end + 4 + Number(length[1]);
}

/** The JSON body of the last answer. */
export function lastBody(bytes: Buffer): unknown {
  const text = bytes.toString("utf8");
  return JSON.parse(text.slice(text.indexOf("\r\n\r\n", text.lastIndexOf("HTTP/1.1 ")) + 4));
}
