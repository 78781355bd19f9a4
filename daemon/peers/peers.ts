/**
 * Sends what waits for other instances: scheduler, directory of other instances, and the operations
 * that write to them. The folder's face.
 */
import type { HomePaths } from "../../client/paths.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Files } from "../../platform/files.ts";
import type { Log } from "../../platform/log.ts";
import type { Random } from "../../platform/random.ts";
import type { connectOperations } from "../../shared/operations/connect.ts";
import type { HandlersFor } from "../../shared/operations/handlers.ts";
import type { GroupRegistry } from "../groups/registry.ts";
import type { InstanceIdentity } from "../home/identity.ts";
import type { Chats } from "../messaging/group-chat.ts";
import { CatalogReads } from "./catalog/catalog.ts";
import { CatalogCache } from "./catalog/catalog-cache.ts";
import { CatalogRefresh } from "./catalog/catalog-refresh.ts";
import { Connections } from "./connections.ts";
import type { Outbound } from "./outbound.ts";
import { Scheduler } from "./outbox/scheduler.ts";
import { OutboxWorker } from "./outbox/worker.ts";
import { PeerSender } from "./requests/peer-sender.ts";
import { RemoteSending } from "./sending/sending.ts";

export interface PeersDependencies {
  files: Files;
  clock: Clock;
  random: Random;
  log: Log;
  paths: HomePaths;
  identity: Pick<InstanceIdentity, "instance_id" | "sign">;
  registry: GroupRegistry;
  chats: Chats;
  outbound: Outbound;
}

export class Peers {
  readonly #sending: RemoteSending;
  readonly #catalog: CatalogReads;
  readonly #connections: Connections;
  readonly #refresh: CatalogRefresh;
  readonly #scheduler: Scheduler;
  readonly #registry: GroupRegistry;
  readonly #outbound: Outbound;
  readonly #stops: (() => void)[] = [];

  private constructor(deps: PeersDependencies, cache: CatalogCache) {
    const { clock, log, random, identity, registry, chats, outbound } = deps;
    const { authorities, outbox, outgoing, source } = outbound;
    this.#registry = registry;
    this.#outbound = outbound;
    const sender = new PeerSender({ clock, random, log, identity, contacts: authorities });
    const worker = new OutboxWorker({ clock, log, outbox, chats, authorities, sender, source });
    this.#scheduler = new Scheduler({ clock, log, outbox, worker, authorities, registry });
    this.#refresh = new CatalogRefresh({ clock, log, authorities, cache, sender });
    const { instance_id: instanceId } = identity;
    this.#catalog = new CatalogReads({ clock, chats, authorities, cache, instance_id: instanceId });
    this.#connections = new Connections({ authorities, cache, refresh: this.#refresh });
    this.#sending = new RemoteSending({ chats, catalog: this.#catalog, outgoing, outbox });
  }

  /** Reads the catalogs. Throws Node's errors when the Home can't be read. */
  static async open(deps: PeersDependencies): Promise<Peers> {
    const { files, log, paths } = deps;
    return new Peers(deps, await CatalogCache.open({ files, log, directory: paths.connect.catalog }));
  }

  /**
   * Starts working on what waits. Call it after messaging has started and the authorities were
   * added.
   */
  start(): void {
    this.#stops.push(
      this.#registry.onChange(({ group_id: groupId, what }) => {
        // After a reset it is another Group, and its work has ended.
        if (what === "created") this.#scheduler.groupOpened(groupId);
      }),
      this.#outbound.onAccepted(() => this.#scheduler.wake()),
    );
    // The receipts were removed with the Group. A record that came back after a crash would find
    // none.
    this.#registry.onGone(() => this.#outbound.outbox.settle());
    this.#scheduler.start();
    this.#refresh.start();
  }

  /** The table for the dispatcher. */
  handlers(): HandlersFor<typeof connectOperations> {
    return {
      connect_send: (input, context) => this.#sending.send(input, context),
      connect_send_files: (input, context) => this.#sending.sendFiles(input, context),
      connection_list: ({ group_id: groupId }) => this.#connections.list(groupId ?? null),
      connect_catalog: (input, context) => this.#catalog.read(input, context),
    };
  }

  /** Ends running requests and waits for what they write. Call it before the ledgers close. */
  async close(): Promise<void> {
    for (const stop of this.#stops.splice(0)) stop();
    await Promise.all([this.#scheduler.close(), this.#refresh.close()]);
  }
}
