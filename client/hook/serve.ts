/**
 * One hook event: turns the JSON object on standard input into one request to the daemon. It prints
 * nothing, always exits with 0 within 3 s, and loads next to nothing, because the runtime waits for
 * it at every tool use. Only `decide` waits for an answer and prints it.
 */
import { connect, Socket } from "node:net";

// The same values as in shared/limits.ts. Loading that whole table isn't worth it here; a test
// compares them.
export const PAYLOAD_BYTES = 1024 * 1024;
export const WAIT_MS = 3000;
export const DECIDE_MS = (12 * 3600 + 30) * 1000;

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
  // Nothing here needs the answer. What the system has accepted reaches the daemon, in order.
  request(target, "hook_submit", WAIT_MS, end);
}

/**
 * Waits for the daemon's answer and prints the decision in it. Runs to the end of the process,
 * which succeeds and prints nothing if there is no decision.
 */
export function decide(target: () => Target): void {
  for (const signal of ["SIGTERM", "SIGHUP", "SIGINT"] as const) process.on(signal, end);
  const connection = request(target, "hook_decide", DECIDE_MS, () => {});
  let answer = "";
  connection
    .setEncoding("utf8")
    .on("end", end)
    .on("data", (text: string) => {
      answer += text;
      const body = answer.slice(answer.indexOf("\r\n\r\n") + 4);
      const length = /^content-length: (\d+)/im.exec(answer)?.[1];
      if (body === answer || length === undefined || Buffer.byteLength(body) < Number(length)) return;
      const decision = /^\{"ok":true,"result":(\{"hookSpecificOutput":.*\})\}$/s.exec(body)?.[1];
      if (decision === undefined) end();
      process.stdout.write(`${decision}\n`, end);
    });
}

/** Sends standard input to an operation. Calls `sent` when the system has accepted all of it. */
function request(target: () => Target, operation: string, waitMs: number, sent: () => void): Socket {
  setTimeout(end, waitMs);
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
    const head = `POST /op/${operation} HTTP/1.1\r\nHost: localhost\r\n${fields.join("\r\n")}\r\nContent-Length: ${bytes}\r\n\r\n`;
    connection.write(Buffer.concat([Buffer.from(head, "latin1"), ...chunks]), sent);
  });
  return connection;
}
