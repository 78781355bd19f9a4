/**
 * One hook event: turns the JSON object on standard input into one request to the daemon. It prints
 * nothing, always exits with 0 within 3 s, and loads next to nothing, because the runtime waits for
 * it at every tool use.
 */
import { connect, Socket } from "node:net";

// The same value as in shared/limits.ts. Loading that whole table isn't worth it here; a test
// compares them.
export const PAYLOAD_BYTES = 1024 * 1024;
export const WAIT_MS = 3000;

export interface Target {
  socket: string;
  /** Lines `Name: value`. */
  fields: readonly string[];
}

function end(): never {
  process.exit(0);
}

/** A plain socket if possible: the stream of `process.stdin` costs a millisecond more. */
function standardInput(): NodeJS.ReadableStream {
  try {
    return new Socket({ fd: 0, readable: true, writable: false });
  } catch {
    return process.stdin;
  }
}

/** Runs to the end of the process. */
export function serve(target: () => Target): void {
  setTimeout(end, WAIT_MS);
  process.on("uncaughtException", end);
  const { socket, fields } = target();
  const connection = connect(socket);
  connection.on("error", end);
  const chunks: Buffer[] = [];
  let bytes = 0;
  const input = standardInput();
  input.on("error", end).on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > PAYLOAD_BYTES) end();
    chunks.push(chunk);
  });
  input.on("end", () => {
    const head = `POST /op/hook_submit HTTP/1.1\r\nHost: localhost\r\n${fields.join("\r\n")}\r\nContent-Length: ${bytes}\r\n\r\n`;
    // Nothing here needs the answer. What the system has accepted reaches the daemon, in order.
    connection.write(Buffer.concat([Buffer.from(head, "latin1"), ...chunks]), end);
  });
}
