/**
 * The sending half of Connect: outbox, scheduler, directory of other instances, replies and
 * withdrawals that leave this instance. The folder's face. Authorities and their transports join
 * with `add`; without any, nothing here arms a timer or opens anything.
 */
import { dirname } from "node:path";
import type { HomePaths } from "../../client/paths.ts";
import type { Clock } from "../../platform/clock.ts";
import { ensureDirectory } from "../../platform/durable.ts";
import type { Files } from "../../platform/files.ts";
import type { Log } from "../../platform/log.ts";
import type { ProjectFiles } from "../../platform/project-files.ts";
import type { Random } from "../../platform/random.ts";
import type { connectOperations } from "../../shared/operations/connect.ts";
import type { HandlersFor } from "../../shared/operations/handlers.ts";
import type { GroupRegistry } from "../groups/registry.ts";
import type { InstanceIdentity } from "../home/identity.ts";
import type { Chats, RemoteMessages } from "../messaging/group-chat.ts";
import { Authorities } from "./authorities.ts";
import type { ConnectAuthority } from "./authority.ts";
import { CatalogReads } from "./catalog/catalog.ts";
import { CatalogCache } from "./catalog/catalog-cache.ts";
import { CatalogRefresh } from "./catalog/catalog-refresh.ts";
import { Outbox } from "./outbox/outbox.ts";
import { Scheduler } from "./outbox/scheduler.ts";
import { WorkGenerations } from "./outbox/work-generations.ts";
import { OutboxWorker } from "./outbox/worker.ts";
import { Outgoing } from "./sending/outgoing.ts";
import { PeerSender } from "./sending/peer-sender.ts";
import { RemoteReplies } from "./sending/remote-messages.ts";
import { RemoteSending } from "./sending/sending.ts";
import { clientKeyOf, SourceEvents } from "./sending/source-event.ts";
import type { PeerTransport } from "./transport.ts";

export interface PeersDependencies {
  files: Files;
  clock: Clock;
  random: Random;
  log: Log;
  projects: ProjectFiles;
  paths: HomePaths;
  identity: Pick<InstanceIdentity, "instance_id" | "sign">;
  registry: GroupRegistry;
  chats: Chats;
}

export class Peers {
  readonly authorities: Authorities;
  readonly outbox: Outbox;
  /** For messaging, before it starts. */
  readonly remote: RemoteMessages;
  readonly #sending: RemoteSending;
  readonly #catalog: CatalogReads;
  readonly #refresh: CatalogRefresh;
  readonly #scheduler: Scheduler;
  readonly #registry: GroupRegistry;
  #unfollow: (() => void) | null = null;

  private constructor(deps: PeersDependencies, outbox: Outbox, cache: CatalogCache) {
    const { clock, log, random, identity, registry, chats, projects } = deps;
    this.outbox = outbox;
    this.#registry = registry;
    const authorities = new Authorities(registry);
    this.authorities = authorities;
    const sender = new PeerSender({ clock, random, log, identity });
    const source = new SourceEvents();
    const worker = new OutboxWorker({ clock, log, outbox, chats, authorities, sender, source });
    this.#scheduler = new Scheduler({ clock, log, outbox, worker, authorities, registry });
    this.#refresh = new CatalogRefresh({ clock, log, authorities, cache, sender });
    const { instance_id: instanceId } = identity;
    this.#catalog = new CatalogReads({ clock, chats, authorities, cache, instance_id: instanceId });
    const wake = () => this.#scheduler.wake();
    const outgoing = new Outgoing({ clock, random, log, projects, outbox, source, wake });
    this.#sending = new RemoteSending({ chats, catalog: this.#catalog, outgoing, outbox });
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

  /** Reads outbox and catalogs. Throws Node's errors when the Home can't be read. */
  static async open(deps: PeersDependencies): Promise<Peers> {
    const { files, log, paths, registry } = deps;
    const { outbox, catalog, generations: path } = paths.connect;
    await ensureDirectory(files, dirname(dirname(outbox)));
    await ensureDirectory(files, dirname(outbox));
    const generations = await WorkGenerations.open(
      files,
      path,
      (groupId) => registry.find(groupId)?.record.generation,
    );
    return new Peers(
      deps,
      await Outbox.open({ files, log, directory: outbox, generations }, clientKeyOf),
      await CatalogCache.open({ files, log, directory: catalog }),
    );
  }

  /** Where peers are, and the way to them. Before or after `start`. */
  add(authority: ConnectAuthority, transport: PeerTransport): void {
    this.authorities.add(authority, transport);
  }

  /** After messaging started and the authorities were added: works on what waits. */
  start(): void {
    this.#unfollow = this.#registry.onChange(({ group_id: groupId, what }) => {
      // After a reset it is another Group, and its work has ended.
      if (what === "created") this.#scheduler.groupOpened(groupId);
    });
    // The receipts went with the Group: a record that came back after a crash would find none.
    this.#registry.onGone(() => this.outbox.settle());
    this.#scheduler.start();
    this.#refresh.start();
  }

  /** The table for the dispatcher. */
  handlers(): HandlersFor<typeof connectOperations> {
    return {
      connect_send: (input, context) => this.#sending.send(input, context),
      connect_send_files: (input, context) => this.#sending.sendFiles(input, context),
      connect_catalog: (input, context) => this.#catalog.read(input, context),
    };
  }

  /** Ends requests under way and waits for what they write. Before the ledgers close. */
  async close(): Promise<void> {
    this.#unfollow?.();
    this.authorities.close();
    await Promise.all([this.#scheduler.close(), this.#refresh.close()]);
  }
}
