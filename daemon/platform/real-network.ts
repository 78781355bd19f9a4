/** `Network` over the operating system. */
import { once } from "node:events";
import type { Address, Network } from "./network.ts";

export const realNetwork: Network = {
  async listen(server, address) {
    server.listen(address);
    await once(server, "listening");
    const bound = server.address();
    if (bound === null) throw new Error("the server closed while it began to listen");
    return typeof bound === "string" ? { path: bound } : ({ host: bound.address, port: bound.port } as Address);
  },
  close(server) {
    return new Promise((resolve) => {
      if (!server.listening) {
        resolve();
        return;
      }
      server.close(() => resolve());
    });
  },
};
