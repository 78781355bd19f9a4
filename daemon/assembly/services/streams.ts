/** What browsers and others follow: ledgers, Groups and Actors as they change. */
import type { Activity } from "../../activity/activity.ts";
import { summaryOf } from "../../groups/group-view.ts";
import { StreamHub } from "../../http/streams/stream-hub.ts";
import type { Messaging } from "../../messaging/messaging.ts";
import type { Notifications } from "../../notifications/notifications.ts";
import type { LiveLaunches } from "../../runtimes/launch/live-launches.ts";
import type { Given } from "../given.ts";
import type { Service } from "../service.ts";
import type { Access } from "./access.ts";
import type { Groups } from "./groups.ts";

type Parts = Pick<Given, "clock" | "log"> & {
  groups: Groups;
  access: Access;
  launches: LiveLaunches;
  activity: Activity;
  messaging: Messaging;
  notifications: Pick<Notifications, "needsYou">;
};

export function create(parts: Parts): Service<StreamHub> {
  const { clock, log, groups, access, launches, activity, messaging } = parts;
  const { registry } = groups;
  const { needsYou } = parts.notifications;
  const hub = new StreamHub({
    clock,
    log,
    groupIds: () => registry.list().map((group) => group.group_id),
    ledgerOf: (groupId) => registry.get(groupId).ledger,
    isChanging: (groupId) => registry.isChanging(groupId),
    summary: async (groupId) => {
      const group = registry.find(groupId);
      return group === undefined ? null : summaryOf(group, messaging.counts(groupId));
    },
    needsYou: (caller) => needsYou.list(caller),
  });
  /** For each Group, as its summary last said. */
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
  activity.onPresence((groupId) => {
    hub.actorsChanged(groupId);
    if (messaging.find(groupId) === undefined) return;
    const now = messaging.attention(groupId);
    if (attention.get(groupId) !== now) hub.groupChanged(groupId);
    attention.set(groupId, now);
  });
  needsYou.onChange(() => hub.needsYouChanged());
  launches.onWaiting((groupId) => hub.actorsChanged(groupId));
  access.accessTokens.onRevoked(() => hub.recheck());
  access.launchTokens.onRevoked(() => hub.recheck());
  return { part: hub, stop: () => hub.close() };
}
