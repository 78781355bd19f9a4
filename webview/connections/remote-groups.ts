/**
 * Groups of other instances that this one may write to, with their Actors: what the daemon has
 * learned, requested when someone writes.
 */
import type { ResultOf } from "../../shared/operations/registry.ts";
import { Store } from "../controls/store.ts";
import type { Host } from "../hosts/host.ts";

type Discovery = Extract<ResultOf<"connect_catalog">, { self_instance_id: string }>;
type Details = Exclude<ResultOf<"connect_catalog">, Discovery>;
export type RemoteActor = NonNullable<Details["catalog"]>["groups"][number]["actors"][number];

export interface RemoteGroup {
  instanceId: string;
  /** As it calls itself. */
  instanceName: string;
  groupId: string;
  title: string;
  connectionId: string;
  /** Empty until the other side has been reached once. */
  actors: readonly RemoteActor[];
}

/** How long an answer is used. */
const FRESH_MS = 5000;

export class RemoteGroups extends Store {
  readonly #host: Pick<Host, "call">;
  readonly #groupId: string;
  list: readonly RemoteGroup[] = [];
  #asked = Number.NEGATIVE_INFINITY;
  #asking: Promise<void> | null = null;

  constructor(host: Pick<Host, "call">, groupId: string) {
    super();
    this.#host = host;
    this.#groupId = groupId;
  }

  find(instanceId: string, groupId: string): RemoteGroup | undefined {
    return this.list.find((group) => group.instanceId === instanceId && group.groupId === groupId);
  }

  /** Requests them unless that happened a moment ago. */
  async refresh(): Promise<void> {
    if (this.#asking !== null) return this.#asking;
    if (performance.now() - this.#asked < FRESH_MS) return;
    this.#asking = this.#read().catch(() => {
      // Offline: the banner says so, and the known Groups stay.
    });
    await this.#asking;
    this.#asking = null;
    this.#asked = performance.now();
  }

  async #read(): Promise<void> {
    const found = await this.#host.call("connect_catalog", { group_id: this.#groupId });
    if (!("external_groups" in found)) return;
    this.list = await Promise.all(found.external_groups.map((group) => this.#details(group)));
    this.changed();
  }

  async #details(group: Discovery["external_groups"][number]): Promise<RemoteGroup> {
    const { instance, group_id: groupId, title, connection_id: connectionId } = group;
    const found = await this.#host.call("connect_catalog", {
      group_id: this.#groupId,
      instance_id: instance.instance_id,
      target_group_id: groupId,
    });
    const catalog = "catalog" in found ? found.catalog : null;
    const known = catalog?.groups.find((one) => one.group_id === groupId);
    return {
      instanceId: instance.instance_id,
      instanceName: instance.display_name ?? instance.instance_id,
      groupId: groupId,
      title: known?.title ?? title,
      connectionId: connectionId,
      actors: known?.actors ?? [],
    };
  }
}
