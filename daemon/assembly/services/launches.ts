/** The processes of Actors that run now. */
import { LiveLaunches } from "../../runtimes/launch/live-launches.ts";
import type { Given } from "../given.ts";
import type { Service } from "../service.ts";
import type { Access } from "./access.ts";
import type { Groups } from "./groups.ts";

type Parts = Pick<Given, "files" | "clock" | "random" | "log" | "processes"> & {
  groups: Groups;
  access: Access;
};

export function create({ groups, access, ...platform }: Parts): Service<LiveLaunches> {
  const { registry } = groups;
  return { part: new LiveLaunches({ ...platform, registry, launchTokens: access.launchTokens }) };
}
