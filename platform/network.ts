/**
 * The network as the daemon sees it, so that tests can choose addresses and see what was opened.
 */
import type { Server, Socket } from "node:net";

export type Address = { path: string } | { host: string; port: number };

/** An address of an interface of this machine. */
export interface NetworkInterface {
  name: string;
  address: string;
  /** Only this machine can reach it. */
  internal: boolean;
}

export interface Network {
  /**
   * Binds `server` and resolves with the bound address (the real port for port 0). Rejects with
   * Node's own error (EADDRINUSE, EACCES, ...).
   */
  listen(server: Server, address: Address): Promise<Address>;
  /** Stops accepting; resolves when every connection has ended. */
  close(server: Server): Promise<void>;
  /**
   * A connection to `host`, a name or an address, that doesn't delay small writes. Rejects with
   * Node's own error, also when `signal` aborts.
   */
  connect(address: { host: string; port: number }, signal: AbortSignal): Promise<Socket>;
  interfaces(): NetworkInterface[];
}
