/** Messages for other instances, up to the point where they are accepted. */
import { outboxCheck } from "../../operations/health.ts";
import { Outbound } from "../../peers/outbound.ts";
import type { Given } from "../given.ts";
import type { Service } from "../service.ts";
import type { Groups } from "./groups.ts";

type Parts = Pick<Given, "files" | "clock" | "random" | "log" | "projects" | "home"> & { groups: Groups };

export async function create({ groups, home, ...platform }: Parts): Promise<Service<Outbound>> {
  const { paths, identity } = home;
  const outbound = await Outbound.open({ ...platform, paths, identity, registry: groups.registry });
  await home.kept.add(paths.connect.outbox);
  const { outbox } = outbound;
  return {
    part: outbound,
    health: [
      outboxCheck(() => ({ waiting: outbox.size, unreadable: outbox.unreadable, problem: outbox.problem })),
    ],
    stop: () => outbound.close(),
  };
}
