/** The own sockets of the Actors that the daemon runs. */
import { currentHost } from "../../../client/endpoint.ts";
import { ActorDoors } from "../../http/local/actor-doors.ts";
import type { Given } from "../given.ts";
import type { Service } from "../service.ts";

type Parts = Pick<Given, "files" | "random" | "network" | "log" | "home">;

export async function create({ home, ...platform }: Parts): Promise<Service<ActorDoors>> {
  const doors = new ActorDoors({ ...platform, paths: home.paths, host: currentHost() });
  await doors.clear();
  return { part: doors };
}
