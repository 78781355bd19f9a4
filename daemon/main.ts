/**
 * The daemon: builds everything in order, serves, and stops in order. The only place that knows everything.
 *
 * `SVC_HOME=... node --import tsx daemon/main.ts` runs it from the sources; `svc up` and `svc daemon run` call `runDaemon`.
 */
import { chmodSync, existsSync, realpathSync } from "node:fs";
import { hostname } from "node:os";
import { fileURLToPath, pathToFileURL } from "node:url";
import { DEFAULT_WEB_HOST, DEFAULT_WEB_PORT, ENVIRONMENT } from "../shared/names.ts";
import type { HandlersOf } from "../shared/operations/handlers.ts";
import type { OperationName } from "../shared/operations/registry.ts";
import { PRODUCT_VERSION } from "../shared/version.ts";
import { Receiver } from "./connect/receiver.ts";
import { Direct } from "./direct/direct.ts";
import { directHandlers } from "./direct/handlers.ts";
import { TlsLinks } from "./direct/tls-links.ts";
import { groupHandlers } from "./groups/handlers.ts";
import type { LaunchIdentity } from "./groups/launch-tokens.ts";
import { currentHost } from "./home/endpoint.ts";
import { type Home, openHome } from "./home/home.ts";
import { resolveHome } from "./home/paths.ts";
import { accessHandlers } from "./http/access-handlers.ts";
import type { Api } from "./http/api.ts";
import type { McpService } from "./http/app.ts";
import { readJson } from "./http/body.ts";
import { Exhibit, restoreExhibit } from "./http/exhibit.ts";
import { LocalCallers } from "./http/local-caller.ts";
import { LocalSocket } from "./http/local-socket.ts";
import { LoginLinks } from "./http/login-links.ts";
import { RequestIds } from "./http/request-id.ts";
import { readTlsFiles } from "./http/tls-files.ts";
import { WebListener } from "./http/web-listener.ts";
import { type DaemonLog, openLog } from "./log.ts";
import { Dispatcher } from "./operations/dispatcher.ts";
import { HealthRegistry } from "./operations/health.ts";
import { systemHandlers } from "./operations/system-handlers.ts";
import { freeBytes } from "./platform/disk-space.ts";
import { findCurl } from "./platform/find-curl.ts";
import { errorFields } from "./platform/log.ts";
import { RealClock } from "./platform/real-clock.ts";
import { RealFiles } from "./platform/real-files.ts";
import { RealNetwork } from "./platform/real-network.ts";
import { RealProcesses } from "./platform/real-processes.ts";
import { RealProjectFiles } from "./platform/real-project-files.ts";
import { RealRandom } from "./platform/real-random.ts";
import { openRooms, type Rooms } from "./rooms.ts";

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
}

export interface RunningDaemon {
  socket: string;
  /** Null when the Web listener didn't start; `svc doctor` says why. */
  webOrigin: string | null;
  /** Ends everything in order; idempotent. */
  stop(): Promise<void>;
  /** Writes down what nobody caught and ends everything: what else is wrong then can't be known, and the next start reads the ledgers anew. */
  fail(error: unknown): void;
  /** Resolves when everything has ended. */
  ended: Promise<void>;
}

/** What is under way may take this long to end. */
const GRACE_MS = 5000;

/** Opens the Home and serves it. Throws HomeProblem (HomeLocked when another daemon has it) and Node's errors. */
export async function runDaemon(options: DaemonOptions): Promise<RunningDaemon> {
  const clock = new RealClock();
  const files = new RealFiles();
  const random = new RealRandom();
  const network = new RealNetwork();
  const projects = new RealProjectFiles(options.home);
  const host = currentHost();
  const tls = options.tls === undefined ? null : readTlsFiles(files, host, options.tls);
  const home = await openHome({ files, clock, random, host, chmod: chmodSync }, options.home);
  let log: DaemonLog | undefined;
  let rooms: Rooms | undefined;
  try {
    log = openLog(files, home.paths.daemon.log);
    const processes = new RealProcesses();
    rooms = await openRooms({ files, clock, random, projects, log, processes }, home, {
      program: commandLine(),
      node: process.execPath,
      environment: process.env,
      curl: once(() => findCurl(process.env["PATH"] ?? "")),
    });
    return await serve({
      options,
      files,
      clock,
      random,
      network,
      projects,
      tls,
      home,
      log,
      rooms,
      windows: host.platform === "win32",
    });
  } catch (error) {
    log?.error("start failed", errorFields(error));
    await rooms?.close();
    home.lock.release();
    log?.close();
    throw error;
  }
}

interface Parts {
  options: DaemonOptions;
  files: RealFiles;
  clock: RealClock;
  random: RealRandom;
  network: RealNetwork;
  projects: RealProjectFiles;
  tls: { cert: string; key: string } | null;
  home: Home;
  log: DaemonLog;
  rooms: Rooms;
  windows: boolean;
}

async function serve(parts: Parts): Promise<RunningDaemon> {
  const { options, files, clock, random, network, projects, home, log, rooms } = parts;
  const { registry, launchTokens, accessTokens, activity, messaging, runtimes, connect, sessions, hub } =
    rooms;
  const requestIds = new RequestIds(random);
  const links = new LoginLinks({ clock, random });
  /** A token of a process that this daemon runs counts while that process lives. */
  const verifyLaunchToken = (token: string): LaunchIdentity | null => {
    const identity = launchTokens.verify(token);
    return identity !== null && runtimes.mayUse(identity) ? identity : null;
  };
  const callers = new LocalCallers({
    socketKey: home.lock.key,
    verifyLaunchToken,
  });
  let web: WebListener | null = null;
  let webTrouble: string | null = null;
  let ready = false;
  let stopping: Promise<void> | undefined;
  let tellEnded = (): void => {};
  const ended = new Promise<void>((resolve) => {
    tellEnded = resolve;
  });

  const receiver = new Receiver({
    clock,
    log,
    identity: home.identity,
    registry,
    rooms: messaging,
    authorities: connect.authorities,
  });
  const direct = await Direct.open({
    files,
    clock,
    random,
    log,
    links: new TlsLinks({ network, clock, random, identity: home.identity }),
    paths: home.paths,
    identity: home.identity,
    hostname: hostname(),
    interfaces: () => network.interfaces(),
    findGroup: (groupId) => registry.find(groupId)?.record ?? null,
    receiver,
  });
  connect.add(direct.authority, direct.transport);
  registry.onGone((groupId) => direct.retireGroup(groupId));

  const manualOrigin = (): string | null => {
    const { enabled, origin } = home.settings.value.remote_access;
    return enabled ? origin : null;
  };
  const health = new HealthRegistry({
    files,
    clock,
    paths: home.paths,
    nodeVersion: process.versions.node,
    hasModes: !parts.windows,
    socket: home.lock.socket,
    tightened: home.tightened,
    createdAt: () => home.settings.value.created_at,
    freeBytes: () => freeBytes(home.paths.root),
    unavailableGroups: () => registry.unavailable(),
    groups: () => registry.list().length,
    accessTokens: () => accessTokens.list().length,
    web: () => ({
      origin: web?.origin ?? null,
      exposed: parts.tls === null && !isLoopback(options.host),
      trouble: webTrouble,
    }),
    outbox: () => ({ waiting: connect.outbox.size, unreadable: connect.outbox.unreadable }),
    direct: () => direct.health,
  });
  const lifeline = (
    caller: Parameters<typeof messaging.openSession>[0],
    end: () => void,
  ): ((isLost?: boolean) => void) => {
    const held = messaging.openSession(caller, end);
    return (isLost) => held.release(isLost);
  };

  let loading: Promise<Api> | undefined;
  let api: Api | undefined;
  /** The HTTP API is heavy and many Homes never need it: it comes with the first request for it. */
  const loadApi = (): Promise<Api> => {
    loading ??= import("./http/api.ts").then(async ({ createApi }) => {
      api = createApi({
        dispatcher,
        clock,
        log,
        requestIds,
        callers,
        tokens: accessTokens,
        sessions,
        links,
        hub,
        files: messaging,
        terminals: runtimes,
        activity,
        metrics: {
          operations: () => dispatcher.counts,
          streams: () => hub.size,
          groups: () => registry.list().length,
          checks: () => health.run(),
        },
        isReady: () => ready,
        workbench: workbenchDirectory(),
        mcp: (...asked) => serveMcp(...asked),
      });
      return api;
    });
    return loading;
  };
  registry.onChange(({ group_id, what }) => {
    if (what === "created") api?.groupCreated(group_id);
    if (what === "created" || what === "removed") direct.groupsChanged();
  });

  let mcp: Promise<import("../mcp-server/http.ts").McpHttp> | undefined;
  const serveMcp: McpService = async (request, response, refuseFailure) => {
    mcp ??= import("../mcp-server/http.ts").then(
      ({ McpHttp }) =>
        new McpHttp({
          verify: verifyLaunchToken,
          call: async (operation, input, as, signal) =>
            dispatcher.call(operation, input, {
              caller: { kind: "actor", by: as.actor_id, unordered: true, ...as },
              signal,
              requestId: requestIds.next(),
            }),
          lifeline: (as, ended) => lifeline({ kind: "actor", by: as.actor_id, ...as }, ended),
          readBody: (asked) => readJson(asked, clock),
          after: (milliseconds, run) => clock.after(milliseconds, run, { background: true }),
        }),
    );
    await (await mcp).handle(request, response, refuseFailure);
  };
  launchTokens.onRevoked((identity) => {
    mcp?.then(
      (server) => server.revoke(identity),
      () => undefined,
    );
  });

  const exhibit = new Exhibit({
    network,
    clock,
    log,
    manualOrigin: () => null,
    tls: parts.tls,
    app: async (names, groups) => (await loadApi()).exhibit(names, groups),
  });
  const started_at = home.lock.address.started_at;
  const stop = (): Promise<void> => {
    stopping ??= end();
    return stopping;
  };
  const handlers: HandlersOf<OperationName> = {
    ...groupHandlers({
      clock,
      random,
      projects,
      registry,
      launchTokens,
      runner: runtimes,
      accessTokens,
      home: home.paths.root,
      program: commandLine(),
      counts: (groupId) => messaging.counts(groupId),
      presence: (groupId, actorId) => messaging.presence(groupId, actorId),
    }),
    ...activity.handlers(),
    ...runtimes.handlers(),
    ...messaging.handlers(),
    ...connect.handlers(),
    ...directHandlers(direct),
    ...accessHandlers({
      links,
      settings: home.settings,
      tokens: accessTokens,
      exhibit,
      webOrigin: () => web?.origin ?? null,
      requireGroup: (groupId) => void registry.get(groupId),
    }),
    ...systemHandlers({
      health,
      status: () => ({
        running: true,
        pid: process.pid,
        version: PRODUCT_VERSION,
        instance_id: home.identity.instance_id,
        socket: home.lock.socket,
        web_origin: web?.origin ?? null,
        home: home.paths.root,
        started_at,
      }),
      stop: () => setImmediate(() => void stop()),
    }),
  };
  const dispatcher = new Dispatcher({
    handlers,
    log,
    permitOf: (groupId) => registry.get(groupId).permit,
    touch: (caller) => messaging.touch(caller),
    checkOutputs: options.checkOutputs ?? false,
  });

  const local = new LocalSocket({
    dispatcher,
    callers,
    requestIds,
    clock,
    log,
    app: async () => (await loadApi()).local,
    upgrade(request, socket, head, caller) {
      loadApi().then(
        (loaded) => loaded.upgradeLocal(request, socket, head, caller),
        () => socket.destroy(),
      );
    },
    lifeline,
  });

  async function end(): Promise<void> {
    ready = false;
    log.info("stopping");
    const timer = clock.after(GRACE_MS, () => local.destroy());
    try {
      const closed = [
        network.close(local.server),
        web?.close(GRACE_MS) ?? Promise.resolve(),
        exhibit.close(),
      ];
      hub.close();
      dispatcher.close();
      await receiver.close();
      await direct.close();
      (await mcp)?.close();
      local.finish();
      await rooms.close();
      await Promise.all(closed);
      home.lock.release();
      log.info("stopped");
    } catch (error) {
      // A disk that fails at the end must not keep the process: its lock goes with it.
      log.error("stopped in disorder", errorFields(error));
    }
    timer.cancel();
    log.close();
    tellEnded();
  }

  const fail = (error: unknown): void => {
    log.error("uncaught", errorFields(error));
    void stop();
  };

  try {
    web = await WebListener.open({
      network,
      clock,
      log,
      host: options.host,
      port: options.port,
      tls: parts.tls,
      manualOrigin,
      app: async (names) => (await loadApi()).web(names),
    });
  } catch (error) {
    // The local socket works without it; `svc doctor` and `svc open` say what is wrong.
    webTrouble = `${(error as NodeJS.ErrnoException).code ?? "error"} on ${options.host} port ${options.port}`;
    log.warn("web listener", errorFields(error));
  }
  await direct.start();
  connect.start();
  await restoreExhibit(exhibit, home.settings.value.exhibit, log);
  await network.listen(local.server, { path: home.lock.socket });
  if (!parts.windows) chmodSync(home.lock.socket, 0o600);
  await home.lock.announce(web?.origin ?? null);
  ready = true;
  log.info("started", { pid: process.pid, version: PRODUCT_VERSION, web: web?.origin ?? null });
  await runtimes.startEnabled();
  return { socket: home.lock.socket, webOrigin: web?.origin ?? null, stop, fail, ended };
}

function once<Value>(find: () => Value): () => Value {
  let found: { value: Value } | undefined;
  return () => (found ??= { value: find() }).value;
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(?:\.\d{1,3}){3}$/.test(host);
}

/** Beside the bundle, or in `dist` when run from the sources. */
function workbenchDirectory(): string | null {
  const places = ["./webview/", "../dist/webview/"].map((place) =>
    fileURLToPath(new URL(place, import.meta.url)),
  );
  return places.find((place) => existsSync(`${place}index.html`)) ?? null;
}

/** How another program starts svc: by whole paths, since editors and agents often have another PATH. */
function commandLine(): [string, ...string[]] {
  const places = ["./svc.cjs", "../dist/svc.cjs"].map((place) =>
    fileURLToPath(new URL(place, import.meta.url)),
  );
  const launcher = places.find((place) => existsSync(place));
  return launcher === undefined ? ["svc"] : [process.execPath, launcher];
}

/** Runs until a signal or `daemon_stop` ends it; resolves with the exit code. */
export async function runUntilEnded(options: DaemonOptions): Promise<number> {
  let daemon: RunningDaemon | null = null;
  let code = 0;
  let asked: NodeJS.Signals | null = null;
  const stop = (signal: NodeJS.Signals): void => {
    asked = signal;
    void daemon?.stop();
  };
  const signals: NodeJS.Signals[] = ["SIGTERM", "SIGINT"];
  // A terminal that is closed hangs up. Under nohup there is none, and the signal stays ignored.
  if (process.stdout.isTTY) signals.push("SIGHUP");
  const ignore = (): void => {
    for (const signal of signals) process.off(signal, stop);
  };
  // From the beginning: a signal during the start stops the daemon as soon as it could be stopped in order.
  for (const signal of signals) process.on(signal, stop);
  const running = await runDaemon(options).catch((error: unknown) => {
    ignore();
    throw error;
  });
  daemon = running;
  if (asked !== null) void running.stop();
  const fail = (error: unknown): void => {
    code = 1;
    running.fail(error);
  };
  process.on("uncaughtException", fail).on("unhandledRejection", fail);
  await running.ended;
  ignore();
  process.off("uncaughtException", fail).off("unhandledRejection", fail);
  // Node aborts when it ends and can't reset a terminal that is gone: this process ends by the signal, as it would have without us.
  if (asked === "SIGHUP") process.kill(process.pid, "SIGHUP");
  return code;
}

/** Options of a daemon that is started by its environment alone. */
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

const entry = process.argv[1];
if (entry !== undefined && existsSync(entry) && pathToFileURL(realpathSync(entry)).href === import.meta.url) {
  runUntilEnded(optionsFromEnvironment(process.env)).then(
    (code) => process.exit(code),
    (error: unknown) => {
      process.stderr.write(`svc: ${error instanceof Error ? error.message : String(error)}\n`);
      process.exit(1);
    },
  );
}
