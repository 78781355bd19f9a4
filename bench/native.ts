/** The C programs of the bench, compiled when they are first needed. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { scratchFolder, scratchPath } from "./folder.ts";
import { output } from "./processes.ts";

const sources = join(import.meta.dirname, "native");
const compiled = new Map<string, Promise<string>>();

async function compile(name: string): Promise<string> {
  const program = join(scratchFolder(), name);
  await output("cc", ["-O2", "-o", program, join(sources, `${name}.c`)]);
  return program;
}

/** Path of the program made from `native/<name>.c`. */
export function nativeProgram(name: string): Promise<string> {
  const program = compiled.get(name) ?? compile(name);
  compiled.set(name, program);
  return program;
}

/** A file with these bytes. */
export function bytesFile(name: string, bytes: string | Uint8Array): string {
  const path = scratchPath(name);
  writeFileSync(path, bytes);
  return path;
}

export interface Load {
  /** A Unix socket, or a port of loopback. */
  socket: string | number;
  protocol: "http" | "resp";
  /** File with the bytes of one request, or of several with a zero byte between each two. */
  request: string;
  connections: number;
  warmup: number;
  requests: number;
}

/**
 * Answers per second of a closed loop: every connection has one request in flight
 * (`native/load.c`).
 */
export async function load({
  socket,
  protocol,
  connections,
  warmup,
  requests,
  request,
}: Load): Promise<number> {
  const program = await nativeProgram("load");
  const text = await output(program, [
    `${socket}`,
    protocol,
    `${connections}`,
    `${warmup}`,
    `${requests}`,
    request,
  ]);
  return (JSON.parse(text) as { rate: number }).rate;
}

/** Bytes of an HTTP request as the load generator sends them. Without a port `host` is loopback. */
export function httpRequest(
  method: string,
  path: string,
  { host = "localhost", ...headers }: Record<string, string>,
  body = "",
): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const length = method === "GET" ? "" : `content-length: ${Buffer.byteLength(body)}\r\n`;
  return `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\n${lines.join("")}${length}\r\n${body}`;
}
