/** The options that a daemon is started with. */

import { resolveHome } from "../../client/paths.ts";
import { DEFAULT_WEB_HOST, DEFAULT_WEB_PORT, ENVIRONMENT } from "../../shared/names.ts";
import type { Given } from "./given.ts";

export interface DaemonOptions {
  /** Root of the Home, an absolute path. */
  home: string;
  host: string;
  /** 0 takes any free port. */
  port: number;
  /** Paths of PEM files: the Web listener serves HTTPS with them. */
  tls?: { cert: string; key: string } | undefined;
  /** Checks every result against its schema; for tests. */
  checkOutputs?: boolean;
  /** Other push services than those of browsers; for tests. */
  push?: Given["push"];
}

/** Options of a daemon that is started only by its environment. */
export function optionsFromEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
): DaemonOptions {
  const port = environment[ENVIRONMENT.webPort];
  const cert = environment[ENVIRONMENT.tlsCert];
  const key = environment[ENVIRONMENT.tlsKey];
  return {
    home: resolveHome(environment),
    host: environment[ENVIRONMENT.webHost] || DEFAULT_WEB_HOST,
    port: port === undefined || port === "" ? DEFAULT_WEB_PORT : Number(port),
    tls: cert && key ? { cert, key } : undefined,
  };
}
