/** What begins to wait for the person, and how they are told. */
import type { notificationOperations } from "../../../shared/operations/notifications.ts";
import type { Activity } from "../../activity/activity.ts";
import type { Messaging } from "../../messaging/messaging.ts";
import { Notifications } from "../../notifications/notifications.ts";
import { notificationsCheck } from "../../operations/health.ts";
import type { Direct } from "../../peers/direct/direct.ts";
import type { Given } from "../given.ts";
import type { ServiceFor } from "../service.ts";
import type { Access } from "./access.ts";
import type { Groups } from "./groups.ts";

type Parts = Pick<Given, "files" | "clock" | "random" | "log" | "home" | "push"> & {
  groups: Groups;
  access: Access;
  activity: Pick<Activity, "workingState" | "onPresence">;
  messaging: Pick<Messaging, "find" | "onCounts">;
  direct: Pick<Direct, "status" | "onChange" | "health">;
};

export async function create(
  parts: Parts,
): Promise<ServiceFor<Notifications, typeof notificationOperations>> {
  const { home, push, groups, access, activity, messaging, direct, ...platform } = parts;
  const { registry } = groups;
  const notifications = await Notifications.open({
    ...platform,
    ...push,
    paths: home.paths,
    kept: home.kept,
    tokens: access.accessTokens,
    origin() {
      const { enabled, origin } = home.settings.value.remote_access;
      return enabled && origin?.startsWith("https:") === true ? origin : null;
    },
    needsYou: {
      find: (groupId) => messaging.find(groupId),
      workingState: (groupId, actor) => activity.workingState(groupId, actor),
      relations: () => (direct.health.problem === null ? direct.status(undefined).relations : []),
    },
  });
  const { needsYou } = notifications;
  const stops = [
    registry.onChange(({ group_id: groupId, what }) => {
      if (what === "removed") needsYou.forget(groupId);
      else if (what === "created") needsYou.know(groupId);
      else needsYou.look(groupId);
    }),
    messaging.onCounts((groupId) => needsYou.messages(groupId)),
    activity.onPresence((groupId) => needsYou.look(groupId)),
    direct.onChange(() => needsYou.connections()),
  ];
  return {
    part: notifications,
    handlers: notifications.handlers(),
    health: [notificationsCheck(() => notifications.health)],
    start() {
      for (const { group_id: groupId } of registry.list()) needsYou.know(groupId);
      needsYou.connections(true);
    },
    async stop() {
      for (const stop of stops) stop();
      await notifications.close();
    },
  };
}
