/** The network as the daemon sees it, so that tests can choose addresses and see what was opened. */
import type { Server, Socket } from "node:net";

export type Address = { path: string } | { host: string; port: number };

/** An address of an interface of this machine. */
export interface NetworkInterface {
  name: string;
  address: string;
  /** Only this machine reaches it. */
  internal: boolean;
}

export interface Network {
  /** Binds `server`; resolves with what was bound (the real port for port 0). Rejects with Node's own error (EADDRINUSE, EACCES, ...). */
  listen(server: Server, address: Address): Promise<Address>;
  /** Stops accepting; resolves when every connection has ended. */
  close(server: Server): Promise<void>;
  /** A connection to `host`, a name or an address, without delay for small writes. Rejects with Node's own error, also when `signal` aborts. */
  connect(address: { host: string; port: number }, signal: AbortSignal): Promise<Socket>;
  interfaces(): NetworkInterface[];
}
