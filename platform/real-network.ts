/** The operating system's network as `Network`. */
import { once } from "node:events";
import { connect, type Server, type Socket } from "node:net";
import { networkInterfaces } from "node:os";
import { LIMITS } from "../shared/limits.ts";
import type { Address, Network, NetworkInterface } from "./network.ts";

export class RealNetwork implements Network {
  async listen(server: Server, address: Address): Promise<Address> {
    server.listen({ ...address, backlog: LIMITS.http.waiting });
    await once(server, "listening");
    const bound = server.address();
    if (bound === null) throw new Error("the server closed before it was listening");
    return typeof bound === "string" ? { path: bound } : { host: bound.address, port: bound.port };
  }

  close(server: Server): Promise<void> {
    return new Promise((resolve) => {
      if (server.listening) server.close(() => resolve());
      else resolve();
    });
  }

  async connect({ host, port }: { host: string; port: number }, signal: AbortSignal): Promise<Socket> {
    const socket = connect({ host, port, noDelay: true });
    const abort = (): void => void socket.destroy(new Error("The attempt was abandoned."));
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort);
    try {
      await once(socket, "connect");
    } finally {
      signal.removeEventListener("abort", abort);
    }
    return socket;
  }

  interfaces(): NetworkInterface[] {
    return Object.entries(networkInterfaces()).flatMap(([name, addresses]) =>
      (addresses ?? []).map(({ address, internal }) => ({ name, address, internal })),
    );
  }
}
