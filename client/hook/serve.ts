/**
 * One hook event: the JSON object on standard input becomes one request to the daemon. It prints nothing, ends within 3 s with 0 whatever
 * happens, and loads next to nothing: the runtime waits for it at every tool that it uses.
 */
import { connect, Socket } from "node:net";

// The same as in shared/limits.ts, whose whole table isn't worth loading here; a test compares them.
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

/** As a plain socket where that can be: the stream of `process.stdin` costs a millisecond more. */
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
    // The answer says nothing that anybody here wants: what the system has taken reaches the daemon, in order.
    connection.write(Buffer.concat([Buffer.from(head, "latin1"), ...chunks]), end);
  });
}
