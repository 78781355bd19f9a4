/** The daemon: opens the Home, starts the services over the real platform, and stops them. */
import { chmodSync } from "node:fs";
import { hostname } from "node:os";
import { currentHost } from "../../client/endpoint.ts";
import { findHookClient } from "../../client/hook/hook-client.ts";
import { ownPath } from "../../client/person-environment.ts";
import { realDescriptors } from "../../platform/descriptors.ts";
import { publicLookup } from "../../platform/http/public-address.ts";
import { RealHttpClient } from "../../platform/http/real-client.ts";
import { readTlsFiles } from "../../platform/http/tls-files.ts";
import { errorFields } from "../../platform/log.ts";
import { machineStart, RealClock } from "../../platform/real-clock.ts";
import { RealFiles } from "../../platform/real-files.ts";
import { type LogFile, openLog } from "../../platform/real-log.ts";
import { RealNetwork } from "../../platform/real-network.ts";
import { processTable } from "../../platform/real-process-table.ts";
import { RealProcesses } from "../../platform/real-processes.ts";
import { RealProjectFiles } from "../../platform/real-project-files.ts";
import { RealRandom } from "../../platform/real-random.ts";
import { RealSocketPeers } from "../../platform/real-socket-peers.ts";
import { PRODUCT_VERSION } from "../../shared/version.ts";
import { forgetFile, openHome } from "../home/home.ts";
import { KNOWN_PUSH_SERVICES } from "../notifications/push-services.ts";
import { TlsLinks } from "../peers/direct/tls-links.ts";
import type { Given } from "./given.ts";
import { commandLine } from "./installation.ts";
import { environmentOfLogin, environmentWithPerson } from "./login.ts";
import type { DaemonOptions } from "./options.ts";
import { SERVICES } from "./services.ts";
import { Supervisor } from "./supervisor.ts";

/** A service that takes longer to stop is left behind. */
const STOP_SECONDS = 15;

export interface RunningDaemon {
  socket: string;
  /** Null when the Web listener didn't start; `svc doctor` says why. */
  webOrigin: string | null;
  /** Ends everything in order; idempotent. */
  stop(): Promise<void>;
  /**
   * Logs an uncaught error and ends everything. The remaining state can't be trusted, and the next
   * start reads the ledgers again.
   */
  fail(error: unknown): void;
  /** Resolves when everything has ended. */
  ended: Promise<void>;
}

/**
 * Opens the Home and serves it. Throws HomeProblem (HomeLocked when another daemon has it) and
 * Node's errors.
 */
export async function runDaemon(options: DaemonOptions): Promise<RunningDaemon> {
  const clock = new RealClock();
  const files = new RealFiles();
  const random = new RealRandom();
  const host = currentHost();
  const tls = options.tls === undefined ? null : readTlsFiles(files, host, options.tls);
  const home = await openHome({ files, clock, random, host, chmod: chmodSync }, options.home);
  let log: LogFile | undefined;
  try {
    log = openLog(files, clock, home.paths.daemon.log);
    const network = new RealNetwork();
    const environment = environmentWithPerson(process.env);
    const { identity } = home;
    return await serve(
      {
        files,
        clock,
        random,
        projects: new RealProjectFiles(options.home),
        log,
        processes: new RealProcesses(clock),
        processTable: processTable(host.platform),
        socketPeers: new RealSocketPeers(host.platform),
        network,
        descriptors: realDescriptors(host.platform),
        http: new RealHttpClient({ clock }),
        push: options.push ?? {
          services: KNOWN_PUSH_SERVICES,
          http: new RealHttpClient({ clock, lookup: publicLookup }),
        },
        links: new TlsLinks({ network, clock, random, identity }),
        home,
        hostname: hostname(),
        host: options.host,
        port: options.port,
        tls,
        hasModes: host.platform !== "win32",
        program: commandLine(),
        node: process.execPath,
        environment,
        loginShell: once(() => environmentOfLogin(environment, log!)),
        hasKeychain: process.platform !== "linux",
        hookClient: once(() => findHookClient(ownPath(process.env))),
        machineStartedAt: machineStart(),
        ...(options.checkOutputs === undefined ? {} : { checkOutputs: options.checkOutputs }),
      },
      log,
    );
  } catch (error) {
    log?.error("start failed", errorFields(error));
    home.lock.release();
    log?.close();
    throw error;
  }
}

async function serve(given: Omit<Given, "stop">, log: LogFile): Promise<RunningDaemon> {
  const { lock } = given.home;
  let stopping: Promise<void> | undefined;
  let tellEnded = (): void => {};
  const ended = new Promise<void>((resolve) => {
    tellEnded = resolve;
  });
  const stop = (): Promise<void> => (stopping ??= end());
  const starting = Supervisor.start(SERVICES, {
    ...given,
    stop: () => setImmediate(() => void stop()),
  });
  async function end(): Promise<void> {
    log.info("stopping");
    try {
      await (await starting).stop({ clock: given.clock, log, seconds: STOP_SECONDS });
    } catch (error) {
      // Nothing that fails at the end may keep the Home: the process ends.
      log.error("stopped with errors", errorFields(error));
    }
    try {
      lock.release();
      log.info("stopped");
      log.close();
    } finally {
      tellEnded();
    }
  }
  const fail = (error: unknown): void => {
    log.error("uncaught", errorFields(error));
    void stop();
  };
  const { web, runtimes } = (await starting).parts;
  log.info("started", { pid: process.pid, version: PRODUCT_VERSION, web: web.origin });
  await runtimes.startEnabled();
  return { socket: lock.socket, webOrigin: web.origin, stop, fail, ended };
}

function once<Value>(find: () => Value): () => Value {
  let found: { value: Value } | undefined;
  return () => (found ??= { value: find() }).value;
}

/** `forgetFile` on this machine. */
export function forgetHomeFile(home: string, path: string): Promise<string | null> {
  const platform = { files: new RealFiles(), clock: new RealClock(), random: new RealRandom() };
  return forgetFile({ ...platform, host: currentHost(), chmod: chmodSync }, home, path);
}
