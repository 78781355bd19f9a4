/** Redis as the reference for durable sends: every command is on disk before it is answered. */
import { mkdirSync } from "node:fs";
import { scratchPath } from "./folder.ts";
import { listening, output, start, stop } from "./processes.ts";

export interface Redis {
  socket: string;
  stop(): Promise<void>;
}

const SERVER = "/usr/bin/redis-server";

/** Snapshots and rewrites are off: they would only cost Redis time while it is measured. */
export async function startRedis(): Promise<Redis> {
  const directory = scratchPath("redis");
  mkdirSync(directory);
  const socket = scratchPath("redis.sock");
  const settings = {
    port: "0",
    unixsocket: socket,
    dir: directory,
    save: "",
    appendonly: "yes",
    appendfsync: "always",
    "auto-aof-rewrite-percentage": "0",
    logfile: "/dev/null",
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  const child = start(SERVER, flags);
  await listening(child, socket);
  return { socket, stop: () => stop(child) };
}

export async function redisVersion(): Promise<string> {
  return /v=(\S+)/.exec(await output(SERVER, ["--version"]))?.[1] ?? "unknown";
}

/** `XADD messages * message <text>` as RESP. */
export function xadd(text: string): string {
  const parts = ["XADD", "messages", "*", "message", text];
  return `*${parts.length}\r\n${parts.map((part) => `$${Buffer.byteLength(part)}\r\n${part}\r\n`).join("")}`;
}
