/** Messages, Inboxes, obligations and files of all Groups. */
import type { transferOperations } from "../../../shared/operations/groups.ts";
import type { ledgerOperations } from "../../../shared/operations/ledger.ts";
import type { messageOperations } from "../../../shared/operations/messages.ts";
import type { presentationOperations } from "../../../shared/operations/presentations.ts";
import type { Activity } from "../../activity/activity.ts";
import { TroubleNotices } from "../../messaging/messages/trouble-notices.ts";
import { Messaging } from "../../messaging/messaging.ts";
import type { Outbound } from "../../peers/outbound.ts";
import type { LiveLaunches } from "../../runtimes/launch/live-launches.ts";
import type { Given } from "../given.ts";
import type { ServiceFor } from "../service.ts";
import type { Access } from "./access.ts";
import type { Groups } from "./groups.ts";

type Parts = Pick<Given, "files" | "clock" | "random" | "log" | "projects" | "messagingLimits"> & {
  groups: Groups;
  access: Access;
  launches: Pick<LiveLaunches, "whyWaiting">;
  activity: Pick<Activity, "workingState" | "troubleOf" | "onPresence">;
  outbound: Outbound;
};

export function create(
  parts: Parts,
): ServiceFor<
  Messaging,
  | typeof messageOperations
  | typeof presentationOperations
  | typeof ledgerOperations
  | typeof transferOperations
> {
  const { groups, access, launches, activity, outbound, messagingLimits, ...platform } = parts;
  const messaging = new Messaging({
    ...platform,
    ...groups,
    ...(messagingLimits === undefined ? {} : { limits: messagingLimits }),
    launchTokens: access.launchTokens,
    remote: outbound.remote,
    workingState: (groupId, actor) => activity.workingState(groupId, actor),
    whyWaiting: (groupId, actorId) => launches.whyWaiting(groupId, actorId),
  });
  groups.examinations.withFiles((group) => messaging.fileProblems(group.group_id));
  const troubles = new TroubleNotices(platform.log);
  activity.onPresence((groupId, actorId) => {
    const chat = messaging.find(groupId);
    const actor = chat?.group.record.actors.find(({ id }) => id === actorId);
    const trouble = actor === undefined ? null : activity.troubleOf(groupId, actor);
    if (chat !== undefined && actor !== undefined && trouble !== null) troubles.look(chat, actor, trouble);
  });
  return {
    part: messaging,
    handlers: messaging.handlers(),
    start: () => messaging.start(),
    stop: () => messaging.close(),
  };
}
