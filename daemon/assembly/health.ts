/** What the health checks look at in a running daemon. */

import type { Clock } from "../../platform/clock.ts";
import { freeBytes, writeTrouble } from "../../platform/disk-space.ts";
import type { Files } from "../../platform/files.ts";
import type { Home } from "../home/home.ts";
import type { WebService } from "../http/web/web-service.ts";
import { HealthRegistry } from "../operations/health.ts";
import type { Direct } from "../peers/direct/direct.ts";
import type { Rooms } from "./rooms.ts";

interface Looking {
  files: Files;
  clock: Clock;
  home: Home;
  rooms: Rooms;
  direct: Direct;
  web: WebService;
  hasModes: boolean;
}

export function healthOf({ files, clock, home, rooms, direct, web, hasModes }: Looking): HealthRegistry {
  const { registry, accessTokens, peers } = rooms;
  return new HealthRegistry({
    files,
    clock,
    paths: home.paths,
    nodeVersion: process.versions.node,
    hasModes,
    socket: home.lock.socket,
    tightened: home.tightened,
    createdAt: () => home.settings.value.created_at,
    writeTrouble,
    freeBytes: () => freeBytes(home.paths.root),
    unavailableGroups: () => registry.unavailable(),
    groups: () => registry.list().length,
    accessTokens: () => accessTokens.list().length,
    web: () => web.health,
    sessions: () => rooms.sessions.problem,
    outbox: () => {
      const { size: waiting, unreadable, problem } = peers.outbox;
      return { waiting, unreadable, problem };
    },
    direct: () => direct.health,
  });
}
