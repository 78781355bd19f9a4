/**
 * Where the daemon of a Home listens. Checked before every use: the socket's directory must belong
 * only to this user.
 */

import { RealFiles } from "../platform/real-files.ts";
import { Refusal } from "../shared/errors.ts";
import { checkSocket, currentHost, readAddress, readSocketKey } from "./endpoint.ts";
import { DaemonUnreachable } from "./failures.ts";
import { homePaths } from "./paths.ts";

export interface Endpoint {
  socketPath: string;
  /** Sent in a header of every request. */
  key: string;
}

const files = new RealFiles();

/** Throws DaemonUnreachable if no daemon ever ran there, or if what is there can't be trusted. */
export function findEndpoint(home: string): Endpoint {
  const host = currentHost();
  const paths = homePaths(home);
  try {
    const address = readAddress(files, host, paths);
    const key = readSocketKey(files, host, paths);
    if (address === null || key === null) throw new DaemonUnreachable(home, "none is running there");
    checkSocket(files, host, address.socket);
    return { socketPath: address.socket, key };
  } catch (error) {
    if (error instanceof DaemonUnreachable || error instanceof Refusal) throw error;
    throw unreadable(home, error);
  }
}

/** What the system says about a file of the Home. */
export function unreadable(home: string, error: unknown): DaemonUnreachable {
  const { code } = error as NodeJS.ErrnoException;
  if (code === undefined || !/^E[A-Z]+$/.test(code))
    return new DaemonUnreachable(home, error instanceof Error ? error.message : String(error), error);
  const problem = `The Home ${home} can't be read (${code}).`;
  const remedy = "Check that you own it, or choose another with --home or SVC_HOME.";
  return new DaemonUnreachable(home, code, error, problem, remedy);
}

/** The process that last claimed to serve the Home, or null. */
export function daemonProcess(home: string): number | null {
  try {
    return readAddress(files, currentHost(), homePaths(home))?.pid ?? null;
  } catch {
    return null;
  }
}
