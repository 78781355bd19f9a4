/** Where the daemon of a Home listens and how a client may trust it. Light: the command line and the MCP server load it. */
import type { Files } from "../platform/files.ts";
import type { Random } from "../platform/random.ts";
import type { HomePaths } from "./paths.ts";

/** What the address file says of the running daemon. */
export interface Address {
  pid: number;
  version: string;
  /** Path of the socket, or the name of the pipe on Windows. */
  socket: string;
  web_origin: string | null;
  started_at: string;
}

/** What of the machine decides about the socket. */
export interface Host {
  platform: NodeJS.Platform;
  /** -1 where there is none (Windows). */
  uid: number;
  /** XDG_RUNTIME_DIR, when set. */
  runtimeDirectory: string | undefined;
}

/** The host this process runs on. */
export function currentHost(): Host {
  throw new Error("not yet");
}

/** For the holder of the lock: the path to listen on, its directory made and checked, a socket left by a crash removed. */
export function prepareSocket(_files: Files, _random: Random, _host: Host, _paths: HomePaths): string {
  throw new Error("not yet");
}

/** For the holder of the lock: removes the socket after the listener closed. */
export function removeSocket(_files: Files, _host: Host, _socket: string): void {
  throw new Error("not yet");
}

/** Throws unless the socket lies in a 0700 directory of this uid, reached by no foreign link. Before every listen and every connect. */
export function checkSocket(_files: Files, _host: Host, _socket: string): void {
  throw new Error("not yet");
}

/** For the holder of the lock: makes a new key and returns it. */
export function renewSocketKey(_files: Files, _random: Random, _paths: HomePaths): Promise<string> {
  throw new Error("not yet");
}

/** For clients: the key that every request carries; null when no daemon ever ran. */
export function readSocketKey(_files: Files, _host: Host, _paths: HomePaths): string | null {
  throw new Error("not yet");
}

export function writeAddress(_files: Files, _paths: HomePaths, _address: Address): Promise<void> {
  throw new Error("not yet");
}

/** Null when no daemon ever ran. It may be out of date: only a connection proves that the daemon runs. */
export function readAddress(_files: Files, _host: Host, _paths: HomePaths): Address | null {
  throw new Error("not yet");
}
