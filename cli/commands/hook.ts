/**
 * `svc hook` without arguments: finds the daemon and the launch token from the environment of an
 * Actor's process.
 */
import { findEndpoint } from "../../client/connection.ts";
import { serve, type Target } from "../../client/hook/serve.ts";
import { launchToken } from "../../client/identity.ts";
import { resolveHome } from "../../client/paths.ts";
import { HEADERS } from "../../shared/names.ts";

/** Runs to the end of the process. It prints nothing and always succeeds. */
export async function hook(): Promise<never> {
  try {
    serve(found);
  } catch {
    process.exit(0);
  }
  return new Promise<never>(() => {});
}

/** Throws if there is no daemon or no launch token. */
function found(): Target {
  const token = launchToken(process.env);
  if (token === null) throw new Error("no launch token");
  const { socketPath } = findEndpoint(resolveHome(process.env), token);
  const fields = ["Content-Type: application/json", `${HEADERS.launchToken}: ${token}`];
  return { socket: socketPath, fields };
}
