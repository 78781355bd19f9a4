/** Where the daemon is and as whom to speak, by the environment that an Actor's process has. */
import { findEndpoint } from "../../daemon/client/endpoint.ts";
import { launchToken } from "../../daemon/client/identity.ts";
import { resolveHome } from "../../daemon/home/paths.ts";
import { HEADERS } from "../../shared/names.ts";

/** Throws when there is no daemon or no launch token. */
export function discover(): { socket: string; fields: readonly string[] } {
  const token = launchToken(process.env);
  if (token === null) throw new Error("no launch token");
  const { socketPath, key } = findEndpoint(resolveHome(process.env));
  const fields = [
    "Content-Type: application/json",
    `${HEADERS.socketKey}: ${key}`,
    `${HEADERS.launchToken}: ${token}`,
  ];
  return { socket: socketPath, fields };
}
