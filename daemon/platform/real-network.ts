/** The operating system's network behind `Network`. */
import { once } from "node:events";
import type { Server } from "node:net";
import type { Address, Network } from "./network.ts";

export class RealNetwork implements Network {
  async listen(server: Server, address: Address): Promise<Address> {
    server.listen(address);
    await once(server, "listening");
    const bound = server.address();
    if (bound === null) throw new Error("the server closed while it began to listen");
    return typeof bound === "string" ? { path: bound } : { host: bound.address, port: bound.port };
  }

  close(server: Server): Promise<void> {
    return new Promise((resolve) => {
      if (server.listening) server.close(() => resolve());
      else resolve();
    });
  }
}
