/**
 * The local sockets of Actors: each Actor that the daemon runs has its own, in a folder of its own.
 * Whatever arrives there is that Actor, with its launch token, or is refused.
 */
import { chmodSync } from "node:fs";
import type { Server } from "node:net";
import { dirname } from "node:path";
import { type Host, prepareActorSocket, removeSocket } from "../../../client/endpoint.ts";
import type { HomePaths } from "../../../client/paths.ts";
import { removeTree } from "../../../platform/durable.ts";
import type { Files } from "../../../platform/files.ts";
import { errorFields, type Log } from "../../../platform/log.ts";
import type { Network } from "../../../platform/network.ts";
import type { Random } from "../../../platform/random.ts";
import type { Door } from "./local-caller.ts";

export interface ActorDoorsDependencies {
  files: Files;
  random: Random;
  network: Network;
  log: Log;
  host: Host;
  paths: HomePaths;
}

export class ActorDoors {
  readonly #deps: ActorDoorsDependencies;
  readonly #open = new Map<string, { server: Server; path: string }>();
  #listener: ((door: Door) => Server) | null = null;

  constructor(deps: ActorDoorsDependencies) {
    this.#deps = deps;
  }

  /** Removes what a killed daemon left. */
  async clear(): Promise<void> {
    await removeTree(this.#deps.files, this.#deps.paths.daemon.actors);
  }

  /** What serves the requests that come there. */
  serveBy(listener: (door: Door) => Server): void {
    this.#listener = listener;
  }

  /** The path of the Actor's socket; null if there can be none: then the one for all serves. */
  async open(door: Door): Promise<string | null> {
    await this.close(door);
    const { files, random, network, log, host, paths } = this.#deps;
    if (this.#listener === null) return null;
    try {
      const path = prepareActorSocket(files, random, host, paths, door);
      const server = this.#listener(door);
      await network.listen(server, { path });
      this.#open.set(keyOf(door), { server, path });
      if (host.platform !== "win32") chmodSync(path, 0o600);
      return path;
    } catch (error) {
      log.warn("actor socket", { group_id: door.group_id, actor_id: door.actor_id, ...errorFields(error) });
      return null;
    }
  }

  /** Nothing new arrives there, and its file goes. */
  async close(door: Pick<Door, "group_id" | "actor_id">): Promise<void> {
    const { files, network, host, paths, log } = this.#deps;
    const opened = this.#open.get(keyOf(door));
    if (opened === undefined) return;
    this.#open.delete(keyOf(door));
    // Connections that are still there end by themselves.
    void network.close(opened.server);
    if (host.platform === "win32") return;
    try {
      removeSocket(files, host, opened.path);
      const folder = dirname(opened.path);
      if (dirname(folder) === paths.daemon.actors) await removeTree(files, folder);
    } catch (error) {
      log.warn("actor socket", { actor_id: door.actor_id, ...errorFields(error) });
    }
  }
}

function keyOf({ group_id: groupId, actor_id: actorId }: Pick<Door, "group_id" | "actor_id">): string {
  return `${groupId}/${actorId}`;
}
