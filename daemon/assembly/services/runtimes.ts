/** Runs the processes of Actors in terminals. */

import { OWN_TOOLS } from "../../../mcp-server/tools.ts";
import type { runtimeOperations } from "../../../shared/operations/actors.ts";
import type { LaunchReports } from "../../activity/launches.ts";
import type { ActorDoors } from "../../http/local/actor-doors.ts";
import type { Chats } from "../../messaging/group-chat.ts";
import { actorsCheck } from "../../operations/health.ts";
import type { LiveLaunches } from "../../runtimes/launch/live-launches.ts";
import { Runtimes } from "../../runtimes/runtimes.ts";
import type { Given } from "../given.ts";
import type { ServiceFor } from "../service.ts";
import type { Groups } from "./groups.ts";

type Platform = "files" | "clock" | "random" | "log" | "projects" | "processes";
type Parts = Pick<
  Given,
  Platform | "home" | "program" | "node" | "environment" | "loginShell" | "hasKeychain" | "hookClient"
> & {
  groups: Groups;
  launches: LiveLaunches;
  doors: ActorDoors;
  activity: LaunchReports;
  messaging: Chats;
};

export function create(parts: Parts): ServiceFor<Runtimes, typeof runtimeOperations> {
  const { home, groups, activity, ...rest } = parts;
  const runtimes = new Runtimes({
    ...rest,
    ownTools: OWN_TOOLS,
    home: home.paths.root,
    socket: home.lock.socket,
    registry: groups.registry,
    reports: activity,
  });
  return {
    part: runtimes,
    handlers: runtimes.handlers(),
    health: [
      actorsCheck(
        () => runtimes.waiting,
        () => runtimes.lookAtPrograms(),
      ),
    ],
    start: () => runtimes.open(),
    stop: () => runtimes.close(),
  };
}
