/**
 * Groups of other instances that this one may write to, with their Actors: what the daemon has
 * learned, requested when someone writes.
 */
import type { Connection } from "../../shared/operations/connect.ts";
import type { ResultOf } from "../../shared/operations/registry.ts";
import { Store } from "../controls/store.ts";
import { type Host, HostError } from "../hosts/host.ts";

type Discovery = Extract<ResultOf<"connect_catalog">, { self_instance_id: string }>;
type Details = Exclude<ResultOf<"connect_catalog">, Discovery>;
type Catalog = NonNullable<Details["catalog"]>;
export type RemoteActor = Catalog["groups"][number]["actors"][number];

interface Place {
  instance: Discovery["instances"][number];
  groupId: string;
  title: string;
  state: Connection["state"] | null;
}

export interface RemoteGroup {
  instanceId: string;
  /** As it calls itself. */
  instanceName: string;
  groupId: string;
  title: string;
  /** Of the connection that a message takes; null if the daemon names none. */
  state: Connection["state"] | null;
  /** Empty until the other side has been reached once. */
  actors: readonly RemoteActor[];
}

/** How long an answer is used. */
const FRESH_MS = 5000;
/** Groups of the account's instances whose Actors are read. */
const DETAILED = 48;
/** Pages of an instance's Groups that are read. */
const PAGES = 4;
const PAGE = 64;

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
    const input = { group_id: this.#groupId };
    const [found, { connections }] = await Promise.all([
      this.#host.call("connect_catalog", input),
      this.#host.call("connection_list", input),
    ]);
    if (!("external_groups" in found)) return;
    const pairs = found.external_groups.map(({ instance, group_id: groupId, title, connection_id: id }) => ({
      instance,
      groupId,
      title,
      state: connections.find((one) => one.id === id)?.state ?? null,
    }));
    const all = await Promise.all(
      found.instances.map(async (instance) => {
        const state = connections.find((one) => one.id === instance.device_id)?.state ?? null;
        const groups = await this.#groupsOf(instance.instance_id);
        return groups.map(({ group_id: groupId, title }) => ({ instance, groupId, title, state }));
      }),
    );
    // A pair that is connected by itself goes that way.
    const isPair = (one: Place) =>
      pairs.some(
        (pair) => pair.groupId === one.groupId && pair.instance.instance_id === one.instance.instance_id,
      );
    const places: Place[] = [...pairs, ...all.flat().filter((one) => !isPair(one))];
    this.list = await Promise.all(places.map((place, index) => this.#group(place, index < DETAILED)));
    this.changed();
  }

  /** What the daemon has learned of an instance of the account. */
  async #groupsOf(instanceId: string): Promise<Catalog["groups"]> {
    const groups: Catalog["groups"] = [];
    let after: string | null = null;
    for (let page = 0; page < PAGES; page += 1) {
      const input = { group_id: this.#groupId, instance_id: instanceId, limit: PAGE };
      let found: ResultOf<"connect_catalog">;
      try {
        found = await this.#host.call("connect_catalog", after === null ? input : { ...input, after });
      } catch (error) {
        // A Group that is connected to this instance by itself has to name Groups there (rule 11).
        if (error instanceof HostError && error.code === "connect_target_group_required") return [];
        throw error;
      }
      if (!("catalog" in found)) return groups;
      groups.push(...(found.catalog?.groups ?? []));
      after = found.next;
      if (after === null) return groups;
    }
    return groups;
  }

  async #group({ instance, groupId, title, state }: Place, withActors: boolean): Promise<RemoteGroup> {
    const { instance_id: instanceId, display_name: name } = instance;
    const address = { group_id: this.#groupId, instance_id: instanceId, target_group_id: groupId };
    const found = withActors ? await this.#host.call("connect_catalog", address) : null;
    const catalog = found !== null && "catalog" in found ? found.catalog : null;
    const known = catalog?.groups.find((one) => one.group_id === groupId);
    return {
      instanceId,
      instanceName: name ?? instanceId,
      groupId,
      title: known?.title ?? title,
      state,
      actors: known?.actors ?? [],
    };
  }
}
