/** Listening as the daemon sees it, so that tests can choose addresses and see what was opened. */
import type { Server } from "node:net";

export type Address = { path: string } | { host: string; port: number };

export interface Network {
  /** Binds `server`; resolves with what was bound (the real port for port 0). Rejects with Node's own error (EADDRINUSE, EACCES, ...). */
  listen(server: Server, address: Address): Promise<Address>;
  /** Stops accepting; resolves when every connection has ended. */
  close(server: Server): Promise<void>;
}
