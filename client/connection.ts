/**
 * Where the daemon of a Home listens. Checked before every use: the socket's directory must belong
 * only to this user.
 */

import { RealFiles } from "../platform/real-files.ts";
import { Refusal } from "../shared/errors.ts";
import { checkSocket, currentHost, readNoted, readSocketKey, socketOf } from "./endpoint.ts";
import { DaemonUnreachable } from "./failures.ts";
import { homePaths } from "./paths.ts";

export interface Endpoint {
  socketPath: string;
  /** Sent in a header of every request. */
  key: string;
}

const files = new RealFiles();

/**
 * Throws DaemonUnreachable if no daemon ever ran there, if what is there can't be trusted, or if it
 * is a copy and names the original's daemon.
 */
export function findEndpoint(home: string): Endpoint {
  const host = currentHost();
  const paths = homePaths(home);
  try {
    const noted = readNoted(files, host, paths);
    const key = readSocketKey(files, host, paths);
    if (noted === null || key === null) throw new DaemonUnreachable(home, "none is running there");
    if (noted.isCopied)
      throw new DaemonUnreachable(
        home,
        "copied",
        undefined,
        `No daemon runs for the Home ${home}. It is a copy, and the daemon that it names is the original's.`,
      );
    const socketPath = socketOf(files, host, paths, noted.address);
    checkSocket(files, host, socketPath);
    return { socketPath, key };
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
    const noted = readNoted(files, currentHost(), homePaths(home));
    return noted === null || noted.isCopied ? null : noted.address.pid;
  } catch {
    return null;
  }
}
