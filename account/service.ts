/** The service as a whole: its parts, its listener, its start and its stop. */
import { createServer, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { type Clock, type Timer, timestamp } from "../platform/clock.ts";
import { type Descriptors, UNLIMITED } from "../platform/descriptors.ts";
import { errorCode } from "../platform/durable.ts";
import type { HttpClient } from "../platform/http/client.ts";
import { mostConnections, PortConnections } from "../platform/http/connections.ts";
import { RequestIds } from "../platform/http/request-id.ts";
import { errorFields, type Log } from "../platform/log.ts";
import type { Random } from "../platform/random.ts";
import { Refusal } from "../shared/errors.ts";
import { LIMITS } from "../shared/limits.ts";
import { createApp } from "./app.ts";
import { Audit } from "./audit.ts";
import { Connections } from "./connections/connections.ts";
import { GroupChecks } from "./connections/group-check.ts";
import { Links } from "./connections/links.ts";
import { Sharing } from "./connections/sharing.ts";
import { Tickets } from "./connections/tickets.ts";
import { Devices } from "./devices/devices.ts";
import { DeviceGrants } from "./devices/grants.ts";
import { Directory } from "./directory/directory.ts";
import { VersionGate } from "./directory/version-gate.ts";
import { addressReader } from "./http.ts";
import { Limits } from "./limits.ts";
import { ISSUER_ANSWER_PATH, Issuer } from "./members/issuer.ts";
import { Members } from "./members/members.ts";
import { Passkeys } from "./members/passkeys.ts";
import { RecoveryCodes } from "./members/recovery.ts";
import { Sessions } from "./members/sessions.ts";
import { Metrics } from "./metrics.ts";
import { AccountPages } from "./pages/account-pages.ts";
import { ConnectionPages } from "./pages/connection-pages.ts";
import { DevicePages } from "./pages/device-pages.ts";
import { IssuerPages } from "./pages/issuer-pages.ts";
import { SecurityPages } from "./pages/security-pages.ts";
import { SignInPages } from "./pages/sign-in-pages.ts";
import type { MemberVisit, Site, Visit } from "./pages/site.ts";
import { ServiceKey } from "./secrets.ts";
import { knowsAddresses, type Settings } from "./settings.ts";
import { hasBegun, noteBegun } from "./store/begun.ts";
import { hasKey, noteOrigin, openStore, type Store, tieToKey, tryStore } from "./store/store.ts";
import { sweep } from "./store/sweep.ts";

export interface Platform {
  clock: Clock;
  random: Random;
  log: Log;
  /** For asking instances about their Groups. */
  http: HttpClient;
  descriptors?: Descriptors;
}

export interface RunningService {
  readonly store: Store;
  /** Where it listens. */
  readonly port: number;
  /** Answers what was begun, then closes listener and store. */
  stop(): Promise<void>;
}

/** Opens the store, brings it up to date and then listens. Throws when one of them fails. */
export async function startService(settings: Settings, platform: Platform): Promise<RunningService> {
  const { clock, random, log } = platform;
  const { folder, database } = settings;
  // Before the store is looked for: what isn't a key says nothing about it.
  ServiceKey.read(folder);
  const store = await openStore({ folder, database, log });
  try {
    const isNew = !hasBegun(folder) && !(await hasKey(store.db));
    const key = ServiceKey.of(folder, random, isNew);
    await tieToKey(store.db, key.bytes, folder);
    noteBegun(folder);
    await noteOrigin(store.db, settings.origin);
    const stopping = new AbortController();
    // However many ask, one row is written at a time.
    let trying: Promise<void> | null = null;
    const app = appOf(settings, {
      ...platform,
      store,
      key,
      limits: new Limits(store),
      metrics: new Metrics(),
      signal: stopping.signal,
      async trouble() {
        if (stopping.signal.aborted) return "The service is stopping.";
        try {
          trying ??= tryStore(store, timestamp(clock)).finally(() => (trying = null));
          await trying;
          return null;
        } catch (error) {
          log.warn("not ready", errorFields(error));
          return "The database can't be used.";
        }
      },
    });
    const server = createServer(
      {
        maxHeaderSize: LIMITS.body.headerBytes,
        requestTimeout: LIMITS.http.requestSeconds * 1000,
        headersTimeout: LIMITS.http.requestSeconds * 1000,
        keepAliveTimeout: LIMITS.http.keepAliveSeconds * 1000,
      },
      app,
    );
    server.maxHeadersCount = LIMITS.body.headerFields;
    const descriptors = platform.descriptors ?? UNLIMITED;
    const most = mostConnections(descriptors.limit, LIMITS.descriptors.accountShare);
    const ports = new PortConnections(most, descriptors);
    server.on("connection", (socket: Socket) => ports.add(socket));
    server.prependListener("request", (request, response) => ports.begins(request, response));
    await listen(server, settings);
    let timer: Timer;
    const sweepOften = (): void => {
      timer = clock.after(
        LIMITS.account.sweepSeconds * 1000,
        () => {
          void sweep(store.db, clock.now())
            .catch((error: unknown) => log.warn("sweep failed", errorFields(error)))
            .then(() => {
              if (!stopping.signal.aborted) sweepOften();
            });
        },
        { background: true },
      );
    };
    sweepOften();
    return {
      store,
      port: (server.address() as AddressInfo).port,
      async stop() {
        stopping.abort();
        timer.cancel();
        await close(server, clock);
        await store.close();
      },
    };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** What the application works with. */
export interface AppParts extends Platform {
  store: Store;
  key: ServiceKey;
  limits: Limits;
  metrics: Metrics;
  /** Ends the questions to instances. */
  signal: AbortSignal;
  /** Why the service can't answer now; null when it can. */
  trouble: () => Promise<string | null>;
}

/** The service without its listener, over a store that is open. */
export function appOf(
  settings: Settings,
  { clock, random, log, http, store, key, limits, metrics, signal, trouble }: AppParts,
) {
  const { origin } = settings;
  const gate = new VersionGate(settings.minimumVersion);
  const audit = new Audit(clock, random);
  const devices = new Devices(store, clock, audit);
  const grants = new DeviceGrants({ store, clock, random, key, audit });
  const acceptsLoopback = settings.developmentLogin;
  const directory = new Directory({ store, clock, gate, origin, acceptsLoopback });
  const sessions = new Sessions({ store, clock, random, key, origin });
  const members = new Members({ store, clock, random, audit });
  const passkeys = new Passkeys({ store, clock, random, key, origin });
  const recovery = new RecoveryCodes({ store, clock, random, key });
  const { developmentLogin } = settings;
  const issuer =
    settings.issuer === null
      ? null
      : new Issuer({ settings: settings.issuer, store, clock, random, log, key, origin });
  const issuerPages =
    issuer === null ? null : new IssuerPages({ issuer, store, clock, limits, members, sessions, audit });
  const signIn = new SignInPages({
    store,
    clock,
    members,
    sessions,
    audit,
    limits,
    passkeys,
    recovery,
    developmentLogin,
    issuer,
  });
  const security = new SecurityPages({
    store,
    clock,
    random,
    origin,
    audit,
    members,
    passkeys,
    recovery,
    sessions,
    issuer,
  });
  const account = new AccountPages({ store, clock, devices, audit });
  const device = new DevicePages({
    clock,
    grants,
    limits,
    metrics,
    passkeys,
    knowsAddresses: knowsAddresses(settings),
  });
  const links = new Links({ store, clock, origin });
  const tickets = new Tickets({ store, clock, gate, origin });
  const connections = new Connections({ store, clock, random, audit });
  const checks = new GroupChecks({ clock, random, http, signal });
  const sharing = new Sharing({ clock, tickets, checks, connections, limits });
  const connect = new ConnectionPages({ store, clock, tickets, connections, sharing });
  const site: Site = {
    open: {
      get: [
        { path: "/login", fields: ["next", "again"], serve: (visit) => signIn.show(visit) },
        { path: "/join", fields: [], serve: (visit) => signIn.askJoin(visit) },
        ...(issuerPages === null
          ? []
          : [
              { path: "/login/issuer", fields: ["next"], serve: (visit: Visit) => issuerPages.signIn(visit) },
              { path: ISSUER_ANSWER_PATH, fields: [], serve: (visit: Visit) => issuerPages.answer(visit) },
            ]),
      ],
      post: [
        { path: "/join", fields: ["invitation", "name"], serve: (visit) => signIn.askPasskey(visit) },
        {
          path: "/join/passkey",
          fields: ["invitation", "name", "passkey"],
          serve: (visit) => signIn.join(visit),
        },
        { path: "/login/passkey", fields: ["passkey", "next"], serve: (visit) => signIn.withPasskey(visit) },
        { path: "/login/recovery", fields: ["code"], serve: (visit) => signIn.withRecoveryCode(visit) },
        { path: "/logout", fields: [], serve: (visit) => signIn.signOut(visit) },
        ...(developmentLogin
          ? [
              {
                path: "/login/development",
                fields: ["name", "next"],
                serve: (visit: Visit) => signIn.development(visit),
              },
            ]
          : []),
      ],
    },
    member: {
      get: [
        { path: "/", fields: [], serve: (visit) => account.machines(visit) },
        { path: "/device", fields: ["user_code"], serve: (visit) => device.enter(visit) },
        { path: "/devices/retire", fields: ["device"], serve: (visit) => account.askRetire(visit) },
        { path: "/security", fields: [], serve: (visit) => security.show(visit) },
        { path: "/connect", fields: [], serve: (visit) => connect.list(visit) },
        { path: "/connect/select", fields: [], serve: (visit) => connect.ask(visit) },
        { path: "/connect/:id/disconnect", fields: [], serve: (visit) => connect.askDisconnect(visit) },
      ],
      post: [
        { path: "/device", fields: ["user_code"], serve: (visit) => device.confirm(visit) },
        {
          path: "/device/decide",
          fields: ["user_code", "decision", "passkey"],
          serve: (visit) => device.decide(visit),
        },
        { path: "/devices/retire", fields: ["device"], serve: (visit) => account.retire(visit) },
        { path: "/devices/rename", fields: ["device", "name"], serve: (visit) => account.rename(visit) },
        { path: "/devices/remove", fields: ["device"], serve: (visit) => account.remove(visit) },
        { path: "/security/passkeys", fields: ["passkey"], serve: (visit) => security.addPasskey(visit) },
        {
          path: "/security/passkeys/remove",
          fields: ["id"],
          serve: (visit) => security.removePasskey(visit),
        },
        { path: "/security/sessions/end", fields: [], serve: (visit) => security.endSessions(visit) },
        { path: "/security/recovery", fields: [], serve: (visit) => security.newRecoveryCodes(visit) },
        { path: "/security/invitations", fields: [], serve: (visit) => security.invite(visit) },
        ...(issuerPages === null
          ? []
          : [
              {
                path: "/security/issuer",
                fields: [],
                serve: (visit: MemberVisit) => issuerPages.link(visit),
              },
              {
                path: "/security/issuer/remove",
                fields: [],
                serve: (visit: MemberVisit) => issuerPages.unlink(visit),
              },
            ]),
        {
          path: "/connect/select",
          fields: ["ticket", "invitation", "recipient"],
          serve: (visit) => connect.decide(visit),
        },
        {
          path: "/connect/invitations/:id/cancel",
          fields: [],
          serve: (visit) => connect.closeInvitation(visit, "cancelled"),
        },
        {
          path: "/connect/invitations/:id/reject",
          fields: [],
          serve: (visit) => connect.closeInvitation(visit, "rejected"),
        },
        { path: "/connect/:id/disconnect", fields: [], serve: (visit) => connect.disconnect(visit) },
        { path: "/connect/:id/revoke", fields: [], serve: (visit) => connect.disconnect(visit) },
      ],
    },
  };
  const requestIds = new RequestIds(random);
  return createApp({
    origin,
    clock,
    log,
    requestIds,
    metrics,
    limits,
    gate,
    devices,
    grants,
    directory,
    links,
    sessions,
    addressOf: addressReader(settings.proxies),
    site,
    trouble,
  });
}

/** Throws `invalid_args` where it can't. */
function listen(server: Server, { host, port }: Settings): Promise<void> {
  return new Promise((resolve, reject) => {
    const refuse = (cause: Error): void => {
      const code = errorCode(cause) ?? cause.message;
      const isTaken = code === "EADDRINUSE";
      const specifics = isTaken
        ? "Another program listens on this port, maybe another account service."
        : `The service can't listen on ${host}, port ${port} (${code}).`;
      const remedy = isTaken
        ? "Choose another --port, or end that program."
        : "Choose another --host or --port.";
      reject(new Refusal("invalid_args", { specifics, remedy, cause }));
    };
    server.once("error", refuse);
    server.listen(port, host, () => {
      server.off("error", refuse);
      resolve();
    });
  });
}

/** Requests that were begun are answered. After a while, what is left is cut off. */
function close(server: Server, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const timer = clock.after(LIMITS.account.stopSeconds * 1000, () => server.closeAllConnections());
    server.close(() => {
      timer.cancel();
      resolve();
    });
    server.closeIdleConnections();
  });
}
