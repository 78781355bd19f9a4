/** A port for a listener whose address others are told before it listens. */
import { randomInt } from "node:crypto";
import { createServer } from "node:net";

/**
 * Below the ports that systems give to connections, one of which would take it in the meantime, and
 * above the last one that browsers refuse.
 */
const LOWEST = 10_100;
const HIGHEST = 32_000;
const TRIES = 100;

/** A port of loopback that is free now. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const port = randomInt(LOWEST, HIGHEST);
    const server = createServer().listen(port, "127.0.0.1");
    const isFree = await new Promise<boolean>((resolve) => {
      server.once("listening", () => resolve(true)).once("error", () => resolve(false));
    });
    if (!isFree) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
  throw new Error("No port of loopback is free.");
}
