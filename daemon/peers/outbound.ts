/**
 * Messages for other instances, up to the point where they are accepted: the outbox, what writes
 * into it, and the authorities that say where a message may go. Messaging is created with it.
 * `Peers` then sends what waits.
 */
import { dirname } from "node:path";
import type { HomePaths } from "../../client/paths.ts";
import type { Clock } from "../../platform/clock.ts";
import { ensureDirectory } from "../../platform/durable.ts";
import type { Files } from "../../platform/files.ts";
import type { Log } from "../../platform/log.ts";
import type { ProjectFiles } from "../../platform/project-files.ts";
import type { Random } from "../../platform/random.ts";
import { Signal } from "../../platform/signal.ts";
import type { GroupRegistry } from "../groups/registry.ts";
import type { InstanceIdentity } from "../home/identity.ts";
import type { RemoteMessages } from "../messaging/group-chat.ts";
import { Authorities } from "./authorities.ts";
import { Outbox } from "./outbox/outbox.ts";
import { WorkGenerations } from "./outbox/work-generations.ts";
import { clientKeyOf, SourceEvents } from "./requests/source-event.ts";
import { Outgoing } from "./sending/outgoing.ts";
import { RemoteReplies } from "./sending/remote-messages.ts";

export interface OutboundDependencies {
  files: Files;
  clock: Clock;
  random: Random;
  log: Log;
  projects: ProjectFiles;
  paths: HomePaths;
  identity: Pick<InstanceIdentity, "instance_id">;
  registry: GroupRegistry;
}

export class Outbound {
  readonly outbox: Outbox;
  /**
   * Where peers are, and the routes to them. Kinds join with `add`. Without any, no timer is armed
   * and nothing is opened.
   */
  readonly authorities: Authorities;
  readonly source = new SourceEvents();
  readonly outgoing: Outgoing;
  /** For messaging. */
  readonly remote: RemoteMessages;
  readonly #accepted = new Signal();

  private constructor(deps: OutboundDependencies, outbox: Outbox) {
    const { clock, log, random, identity, registry, projects } = deps;
    const { source } = this;
    this.outbox = outbox;
    const authorities = new Authorities(registry);
    this.authorities = authorities;
    const wake = () => this.#accepted.tell();
    const outgoing = new Outgoing({ clock, random, log, projects, outbox, source, wake });
    this.outgoing = outgoing;
    const { instance_id: instanceId } = identity;
    this.remote = new RemoteReplies({
      instance_id: instanceId,
      clock,
      random,
      log,
      outbox,
      outgoing,
      authorities,
      source,
      wake,
    });
  }

  /** Reads the outbox. Throws Node's errors when the Home can't be read. */
  static async open(deps: OutboundDependencies): Promise<Outbound> {
    const { files, log, paths, registry } = deps;
    const { outbox, generations: path } = paths.connect;
    await ensureDirectory(files, dirname(dirname(outbox)));
    await ensureDirectory(files, dirname(outbox));
    const generations = await WorkGenerations.open(
      files,
      path,
      (groupId) => registry.find(groupId)?.record.generation,
    );
    return new Outbound(deps, await Outbox.open({ files, log, directory: outbox, generations }, clientKeyOf));
  }

  /**
   * Called when something was accepted and waits to be sent. Returns a function that stops
   * listening.
   */
  onAccepted(listener: () => void): () => void {
    return this.#accepted.on(listener);
  }

  close(): void {
    this.authorities.close();
  }
}
