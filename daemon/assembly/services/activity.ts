/** What Actors do now, as the hooks of their runtimes tell. */
import type { activityOperations } from "../../../shared/operations/activity.ts";
import type { questionOperations } from "../../../shared/operations/questions.ts";
import { Activity } from "../../activity/activity.ts";
import type { Launches } from "../../activity/launches.ts";
import type { Given } from "../given.ts";
import type { ServiceFor } from "../service.ts";
import type { Groups } from "./groups.ts";

type Parts = Pick<Given, "files" | "clock" | "random" | "log" | "machineStartedAt"> & {
  groups: Groups;
  launches: Launches;
};

export function create({
  groups,
  ...rest
}: Parts): ServiceFor<Activity, typeof activityOperations | typeof questionOperations> {
  const activity = new Activity({ ...rest, registry: groups.registry });
  return {
    part: activity,
    handlers: activity.handlers(),
    start: () => activity.start(),
    stop: () => activity.close(),
  };
}
