/**
 * The one table of paths in a Home (docs/core-model.md#home). Lightweight, because the command line
 * loads it.
 */
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { ENVIRONMENT } from "../shared/names.ts";

export interface GroupPaths {
  root: string;
  /** The Group's record with its Actors. */
  document: string;
  /** Lists what a reset still has to clear. Its presence is the commit. */
  resetMarker: string;
  ledger: string;
  blobs: string;
  cursors: string;
  drafts: string;
  /** Records of what runtimes do, one file per Actor. */
  runtimeActivity: string;
  runtimeActivityFile(actorId: string): string;
  /** What the hooks of running Actors need, including their launch tokens. */
  hooks: string;
  /** Owner-only launch token files, one per Actor. */
  tokens: string;
  tokenFile(actorId: string): string;
  /** Launch identities of processes that the daemon runs, one file per Actor. */
  launches: string;
  launchFile(actorId: string): string;
  /** What is known about each Actor's last run, one file per Actor. */
  runs: string;
  runFile(actorId: string): string;
  /** Private environment values, one file per Actor. */
  privateEnvironment: string;
  privateEnvironmentFile(actorId: string): string;
}

export interface HomePaths {
  root: string;
  identity: string;
  /** Names of the needed files that the Home has had. */
  files: string;
  /** Settings of the instance, with the Home's format and the digests of access tokens. */
  settings: string;
  /** Digests of browser sessions. */
  webSessions: string;
  daemon: {
    directory: string;
    /**
     * Held by SQLite. Nothing in the daemon's process may open and close it, because closing drops
     * POSIX locks.
     */
    lock: string;
    socket: string;
    key: string;
    address: string;
    log: string;
    /** A folder for each running Actor's own socket. */
    actors: string;
  };
  secrets: string;
  /** The key that push services know this instance by. */
  pushKey: string;
  /** Browsers that are told by Web Push. Their endpoints are secrets. */
  push: string;
  /** Direct relations and the listener's settings. Contains invitations. */
  directConnections: string;
  directStatus: string;
  /** The binding to an account, with the device's token. */
  membership: string;
  /** The directory of the account's instances, as the account service last confirmed it. */
  directory: string;
  /** Connections to Groups of other accounts, the same way. */
  groupLinks: string;
  connect: {
    /** Active records, one directory per target instance. */
    outbox: string;
    /** Which generation of its Group the work there belongs to. */
    generations: string;
    catalog: string;
    /** Instances of the account that this one has seen. */
    instances: string;
  };
  groups: string;
  group(groupId: string): GroupPaths;
}

/** Paths of one Group whose directory is `root`. */
export function groupPaths(root: string): GroupPaths {
  const tokens = join(root, "tokens");
  const privateEnvironment = join(root, "private_env");
  const runtimeActivity = join(root, "runtime-activity");
  const launches = join(root, "launches");
  const runs = join(root, "runs");
  return {
    root,
    document: join(root, "group.json"),
    resetMarker: join(root, "reset.json"),
    ledger: join(root, "ledger"),
    blobs: join(root, "blobs"),
    cursors: join(root, "cursors"),
    drafts: join(root, "drafts"),
    runtimeActivity,
    hooks: join(root, "hooks"),
    runtimeActivityFile: (actorId) => join(runtimeActivity, `${actorId}.json`),
    tokens,
    tokenFile: (actorId) => join(tokens, `${actorId}.json`),
    launches,
    launchFile: (actorId) => join(launches, `${actorId}.json`),
    runs,
    runFile: (actorId) => join(runs, `${actorId}.json`),
    privateEnvironment,
    privateEnvironmentFile: (actorId) => join(privateEnvironment, `${actorId}.json`),
  };
}

/** Paths of the Home at `root`, an absolute path. */
export function homePaths(root: string): HomePaths {
  const daemon = join(root, "daemon");
  const groups = join(root, "groups");
  return {
    root,
    identity: join(root, "group_bridge_identity_key.yaml"),
    files: join(root, "home_files.json"),
    settings: join(root, "settings.json"),
    webSessions: join(root, "web_sessions.json"),
    daemon: {
      directory: daemon,
      lock: join(daemon, "lock"),
      socket: join(daemon, "socket"),
      actors: join(daemon, "actors"),
      key: join(daemon, "key"),
      address: join(daemon, "address.json"),
      log: join(daemon, "log"),
    },
    secrets: join(root, "secrets"),
    pushKey: join(root, "secrets", "push_key.json"),
    push: join(root, "secrets", "push.json"),
    directConnections: join(root, "direct_connections.json"),
    directStatus: join(root, "state", "connect", "direct_status.json"),
    membership: join(root, "secrets", "membership.json"),
    directory: join(root, "secrets", "connect.json"),
    groupLinks: join(root, "secrets", "connect_groups.json"),
    connect: {
      outbox: join(root, "state", "connect", "outbox"),
      generations: join(root, "state", "connect", "outbox_generations.json"),
      catalog: join(root, "state", "connect", "catalog"),
      instances: join(root, "state", "connect", "instances.json"),
    },
    groups,
    group: (groupId) => groupPaths(join(groups, groupId)),
  };
}

/** The Home that `environment` names: SVC_HOME made absolute, or else `~/.svc` (ID-002). */
export function resolveHome(environment: Readonly<Record<string, string | undefined>>): string {
  const named = environment[ENVIRONMENT.home];
  return named === undefined || named === "" ? join(homedir(), ".svc") : resolve(named);
}
