/** The rooms of an open Home, built in order and closed in the opposite one. */

import type { HookClient } from "../../client/hook/hook-client.ts";
import { OWN_TOOLS } from "../../mcp-server/tools.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Files } from "../../platform/files.ts";
import type { Log } from "../../platform/log.ts";
import type { Processes } from "../../platform/processes.ts";
import type { ProjectFiles } from "../../platform/project-files.ts";
import type { Random } from "../../platform/random.ts";
import { AccessTokens } from "../access/access-tokens.ts";
import { Activity } from "../activity/activity.ts";
import { summaryOf } from "../groups/group-view.ts";
import { LaunchTokens } from "../groups/launch-tokens.ts";
import { GroupRegistry } from "../groups/registry.ts";
import type { Home } from "../home/home.ts";
import { StreamHub } from "../http/streams/stream-hub.ts";
import { BrowserSessions } from "../http/web/browser-sessions.ts";
import { TroubleNotices } from "../messaging/messages/trouble-notices.ts";
import { Messaging } from "../messaging/messaging.ts";
import { Peers } from "../peers/peers.ts";
import { Runtimes } from "../runtimes/runtimes.ts";

export interface Platform {
  files: Files;
  clock: Clock;
  random: Random;
  projects: ProjectFiles;
  log: Log;
  processes: Processes;
}

/** What the daemon knows about itself and passes to the processes that it runs. */
export interface Surroundings {
  /** Starts `svc`. */
  program: readonly [command: string, ...args: string[]];
  /** Absolute path of Node. */
  node: string;
  environment: Readonly<Record<string, string | undefined>>;
  /** What sends hook events here faster than Node; null if there is none. */
  hookClient(): HookClient | null;
  /** Wall time in milliseconds. */
  machineStartedAt: number;
}

export interface Rooms {
  registry: GroupRegistry;
  launchTokens: LaunchTokens;
  accessTokens: AccessTokens;
  activity: Activity;
  messaging: Messaging;
  runtimes: Runtimes;
  peers: Peers;
  sessions: BrowserSessions;
  hub: StreamHub;
  /** Finishes what was acknowledged and closes everything. */
  close(): Promise<void>;
}

export async function openRooms(platform: Platform, home: Home, surroundings: Surroundings): Promise<Rooms> {
  const { files, clock, random, log } = platform;
  const { paths, settings } = home;
  const activity = new Activity({ ...platform, machineStartedAt: surroundings.machineStartedAt });
  const messaging = new Messaging({
    ...platform,
    workingState: (groupId, actor) => activity.workingState(groupId, actor),
  });
  const registry = await GroupRegistry.open({
    files,
    clock,
    random,
    paths,
    projectionsFor: (groupId) => messaging.projectionsFor(groupId),
    keyOf: messaging.keyOf,
  });
  const launchTokens = await LaunchTokens.open({ files, random, home: paths.root, registry });
  const accessTokens = new AccessTokens({ clock, random, settings });
  const sessions = await BrowserSessions.open({
    files,
    clock,
    random,
    path: paths.webSessions,
    tokens: accessTokens,
  });
  const runtimes = new Runtimes({
    ownTools: OWN_TOOLS,
    ...platform,
    ...surroundings,
    home: paths.root,
    socket: home.lock.socket,
    socketKey: home.lock.key,
    registry,
    launchTokens,
    messaging,
    reports: activity,
  });
  activity.start(registry, runtimes);
  const { identity } = home;
  const peers = await Peers.open({ ...platform, paths, identity, registry, chats: messaging });
  messaging.useRemote(peers.remote);
  await messaging.start(registry, launchTokens);
  await runtimes.open();
  const hub = new StreamHub({
    clock,
    log,
    groupIds: () => registry.list().map((group) => group.group_id),
    ledgerOf: (groupId) => registry.get(groupId).ledger,
    summary: async (groupId) => {
      const group = registry.find(groupId);
      return group === undefined ? null : summaryOf(group, messaging.counts(groupId));
    },
  });
  /** Of each Group, as its summary last told it. */
  const attention = new Map<string, number>();
  registry.onChange(({ group_id: groupId, what }) => {
    if (what === "removed") {
      hub.ledgerGone(groupId);
      attention.delete(groupId);
    }
    if (what === "actors") hub.actorsChanged(groupId);
    hub.groupChanged(groupId);
  });
  messaging.onCounts((groupId) => hub.groupChanged(groupId));
  messaging.onPresence((groupId) => hub.actorsChanged(groupId));
  const troubles = new TroubleNotices(log);
  activity.onPresence((groupId, actorId) => {
    hub.actorsChanged(groupId);
    const chat = messaging.find(groupId);
    const actor = chat?.group.record.actors.find(({ id }) => id === actorId);
    const trouble = actor === undefined ? null : activity.troubleOf(groupId, actor);
    if (chat !== undefined && actor !== undefined && trouble !== null) troubles.look(chat, actor, trouble);
    if (messaging.find(groupId) !== undefined) {
      const now = messaging.counts(groupId).attention;
      if (attention.get(groupId) !== now) hub.groupChanged(groupId);
      attention.set(groupId, now);
    }
    runtimes.consider(groupId, actorId);
  });
  runtimes.onWaiting((groupId) => hub.actorsChanged(groupId));
  accessTokens.onRevoked(() => hub.recheck());
  launchTokens.onRevoked(() => hub.recheck());
  return {
    registry,
    launchTokens,
    accessTokens,
    activity,
    messaging,
    runtimes,
    peers,
    sessions,
    hub,
    async close() {
      await runtimes.close();
      await peers.close();
      await activity.close();
      messaging.close();
      await registry.close();
      await accessTokens.close();
    },
  };
}
