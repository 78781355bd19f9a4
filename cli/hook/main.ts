/**
 * `svc hook`: what an agent's runtime runs at each of its events, where there is no curl (daemon/activity/hook-command.ts). One JSON object on
 * standard input becomes one request to the daemon. It prints nothing, ends within 3 s with 0 whatever happens, and loads next to nothing.
 *
 * `svc hook SOCKET FILE` takes the request's head fields from an owner-only file, as the shell script does; `svc hook` alone finds the daemon
 * and the launch token by the environment.
 */
import { readFileSync } from "node:fs";
import { connect } from "node:net";

// The same as in shared/limits.ts, whose whole table isn't worth loading here; a test compares them.
export const PAYLOAD_BYTES = 1024 * 1024;
export const WAIT_MS = 3000;

interface Target {
  socket: string;
  /** Lines `Name: value`. */
  fields: readonly string[];
}

function end(): never {
  process.exit(0);
}

/** Empty lines and fields without a value, by which curl is told to leave one out, aren't for the wire. */
function read(socket: string, file: string): Target {
  const lines = readFileSync(file, "latin1").split("\n");
  return { socket, fields: lines.filter((line) => /^[A-Za-z-]+: ./.test(line)) };
}

async function target(): Promise<Target> {
  const [socket, file] = process.argv.slice(3);
  if (socket !== undefined && file !== undefined) return read(socket, file);
  const { discover } = await import("./discover.ts");
  return discover();
}

/** Connects at once: the payload is on its way while the connection is made. */
function open({ socket, fields }: Target): (payload: Buffer) => void {
  const connection = connect(socket);
  connection.on("error", end).on("close", end).on("data", end);
  return (payload) => {
    const head = [
      "POST /op/hook_submit HTTP/1.1",
      "Host: localhost",
      ...fields,
      `Content-Length: ${payload.length}`,
    ];
    connection.write(Buffer.concat([Buffer.from(`${head.join("\r\n")}\r\n\r\n`, "latin1"), payload]));
  };
}

/** Runs to the end of the process. */
export function serve(): void {
  setTimeout(end, WAIT_MS);
  process.on("uncaughtException", end).on("unhandledRejection", end);
  const submit = target().then(open);
  const chunks: Buffer[] = [];
  let bytes = 0;
  process.stdin.on("error", end).on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > PAYLOAD_BYTES) end();
    chunks.push(chunk);
  });
  process.stdin.on("end", () => void submit.then((send) => send(Buffer.concat(chunks))));
}
