/** The daemon: builds everything in order, serves, and stops in reverse order. */
import { chmodSync } from "node:fs";
import { hostname } from "node:os";
import { currentHost } from "../../client/endpoint.ts";
import { findHookClient } from "../../client/hook/hook-client.ts";
import { readTlsFiles } from "../../platform/http/tls-files.ts";
import { errorFields } from "../../platform/log.ts";
import { machineStart, RealClock } from "../../platform/real-clock.ts";
import { RealFiles } from "../../platform/real-files.ts";
import { type LogFile, openLog } from "../../platform/real-log.ts";
import { RealNetwork } from "../../platform/real-network.ts";
import { RealProcesses } from "../../platform/real-processes.ts";
import { RealProjectFiles } from "../../platform/real-project-files.ts";
import { RealRandom } from "../../platform/real-random.ts";
import { PRODUCT_VERSION } from "../../shared/version.ts";
import { openHome } from "../home/home.ts";
import { restoreExhibit } from "../http/web/exhibit.ts";
import { TlsLinks } from "../peers/direct/tls-links.ts";
import { Receiver } from "../peers/receiving/receiver.ts";
import { ReceiverQuota } from "../peers/receiving/receiver-quota.ts";
import { openDirect } from "./direct.ts";
import { buildDoors, type DoorParts } from "./doors.ts";
import { commandLine } from "./installation.ts";
import type { DaemonOptions } from "./options.ts";
import { openRooms, type Rooms } from "./rooms.ts";

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

/** Running calls may take this long to end. */
const GRACE_MS = 5000;

/**
 * Opens the Home and serves it. Throws HomeProblem (HomeLocked when another daemon has it) and
 * Node's errors.
 */
export async function runDaemon(options: DaemonOptions): Promise<RunningDaemon> {
  const clock = new RealClock();
  const files = new RealFiles();
  const random = new RealRandom();
  const projects = new RealProjectFiles(options.home);
  const host = currentHost();
  const tls = options.tls === undefined ? null : readTlsFiles(files, host, options.tls);
  const home = await openHome({ files, clock, random, host, chmod: chmodSync }, options.home);
  let log: LogFile | undefined;
  let rooms: Rooms | undefined;
  try {
    log = openLog(files, clock, home.paths.daemon.log);
    const platform = {
      files,
      clock,
      random,
      projects,
      log,
      processes: new RealProcesses(),
    };
    const program = commandLine();
    rooms = await openRooms(platform, home, {
      program,
      node: process.execPath,
      environment: process.env,
      machineStartedAt: machineStart(),
      hookClient: once(() => findHookClient(process.env["PATH"] ?? "")),
    });
    const network = new RealNetwork();
    const hasModes = host.platform !== "win32";
    return await serve({ options, platform, network, log, hasModes, tls, program, home, rooms });
  } catch (error) {
    log?.error("start failed", errorFields(error));
    await rooms?.close();
    home.lock.release();
    log?.close();
    throw error;
  }
}

interface Parts extends Omit<DoorParts, "direct" | "stop"> {
  log: LogFile;
}

async function serve(parts: Parts): Promise<RunningDaemon> {
  const { platform, network, log, hasModes, home, rooms } = parts;
  const { files, clock, random } = platform;
  const { identity, paths, lock, settings } = home;
  const { registry, messaging, runtimes, peers, hub } = rooms;

  const quota = new ReceiverQuota(clock);
  const receiver = new Receiver({
    clock,
    log,
    identity,
    registry,
    chats: messaging,
    authorities: peers.authorities,
    quota,
  });
  const direct = await openDirect({
    files,
    clock,
    random,
    log,
    links: new TlsLinks({ network, clock, random, identity }),
    paths,
    identity,
    hostname: hostname(),
    interfaces: () => network.interfaces(),
    receiver,
    allowance: (id) => quota.left(id),
    registry,
    peers,
  });

  const doors = buildDoors({ ...parts, direct, stop: () => setImmediate(() => void stop()) });
  const { web, exhibit, local, dispatcher, mcp } = doors;

  let stopping: Promise<void> | undefined;
  let tellEnded = (): void => {};
  const ended = new Promise<void>((resolve) => {
    tellEnded = resolve;
  });
  const stop = (): Promise<void> => (stopping ??= end());
  async function end(): Promise<void> {
    doors.isReady = false;
    log.info("stopping");
    const timer = clock.after(GRACE_MS, () => local.destroy());
    try {
      const closed = [network.close(local.server), web.close(GRACE_MS), exhibit.close()];
      hub.close();
      dispatcher.close();
      await receiver.close();
      await direct.close();
      (await mcp.settled())?.close();
      local.finish();
      await rooms.close();
      await Promise.all(closed);
      lock.release();
      log.info("stopped");
    } catch (error) {
      // A disk that fails at the end must not keep the process alive: its lock ends with it.
      log.error("stopped with errors", errorFields(error));
    }
    timer.cancel();
    log.close();
    tellEnded();
  }
  const fail = (error: unknown): void => {
    log.error("uncaught", errorFields(error));
    void stop();
  };

  await web.open();
  await direct.start();
  peers.start();
  await restoreExhibit(exhibit, settings.value.exhibit, log);
  await network.listen(local.server, { path: lock.socket });
  if (hasModes) chmodSync(lock.socket, 0o600);
  await lock.announce(web.origin);
  doors.isReady = true;
  log.info("started", { pid: process.pid, version: PRODUCT_VERSION, web: web.origin });
  await runtimes.startEnabled();
  return { socket: lock.socket, webOrigin: web.origin, stop, fail, ended };
}

function once<Value>(find: () => Value): () => Value {
  let found: { value: Value } | undefined;
  return () => (found ??= { value: find() }).value;
}
