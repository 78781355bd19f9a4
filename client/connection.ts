/**
 * Where the daemon of a Home listens. Checked before every use: the socket's directory must belong
 * only to this user.
 */

import { errorCode } from "../platform/durable.ts";
import { RealFiles } from "../platform/real-files.ts";
import { Refusal } from "../shared/errors.ts";
import { ENVIRONMENT, HEADERS } from "../shared/names.ts";
import { checkSocket, currentHost, readNoted, readSocketKey, socketOf } from "./endpoint.ts";
import { DaemonUnreachable, exhausted } from "./failures.ts";
import { homePaths, resolveHome } from "./paths.ts";

export interface Endpoint {
  socketPath: string;
  /** The Home's key; empty for an Actor, which needs none. */
  key: string;
  /** What every request carries. */
  credential: Readonly<Record<string, string>>;
}

const files = new RealFiles();

/**
 * For an Actor with its launch token, else for the user with the key of the Home. An Actor reads
 * nothing of the Home if its environment names the socket. Throws DaemonUnreachable if no daemon
 * ever ran there, if what is there can't be trusted, or if it is a copy and names the original's
 * daemon.
 */
export function findEndpoint(home: string, launchToken: string | null = null): Endpoint {
  const host = currentHost();
  const paths = homePaths(home);
  try {
    const key = launchToken === null ? readSocketKey(files, host, paths) : "";
    const socketPath = (launchToken === null ? undefined : ownSocket(home)) ?? notedSocket(home);
    if (socketPath === null || key === null) throw new DaemonUnreachable(home, "none is running there");
    checkSocket(files, host, socketPath);
    const credential =
      launchToken === null ? { [HEADERS.socketKey]: key } : { [HEADERS.launchToken]: launchToken };
    return { socketPath, key, credential };
  } catch (error) {
    if (error instanceof DaemonUnreachable || error instanceof Refusal) throw error;
    const code = errorCode(error);
    if (code === "EMFILE" || code === "ENFILE") throw exhausted(home, code, error);
    throw unreadable(home, error);
  }
}

/** The socket that the Home names; null if no daemon ever ran there. */
function notedSocket(home: string): string | null {
  const host = currentHost();
  const paths = homePaths(home);
  const noted = readNoted(files, host, paths);
  if (noted === null) return null;
  if (noted.isCopied)
    throw new DaemonUnreachable(
      home,
      "copied",
      undefined,
      `No daemon runs for the Home ${home}. It is a copy, and the daemon that it names is the original's.`,
    );
  return socketOf(files, host, paths, noted.address);
}

/** The socket that an Actor's environment names, which is of the Home that it names. */
function ownSocket(home: string): string | undefined {
  const { [ENVIRONMENT.socket]: socket } = process.env;
  return socket !== "" && home === resolveHome(process.env) ? socket : undefined;
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
