/**
 * The Groups of the account's other instances, as far as this machine's daemon has learned of them:
 * it asks the others by itself, and answers from what it knows. It knows nothing of the editor.
 */
import type { ResultOf } from "../../shared/operations/registry.ts";
import type { Instance, OtherInstance, Source } from "./instance.ts";

type Details = Exclude<ResultOf<"connect_catalog">, { self_instance_id: string }>;

/** The Groups of an instance when the daemon here last saw them. */
export interface Saved {
  groups: readonly { group_id: string; title: string }[];
  /** There are more than were read. */
  more: boolean;
  /** When the instance told them; null if it never has. */
  at: string | null;
  /** The daemon here couldn't be asked, and nothing is known from before. */
  failed: boolean;
}

/** Pages of an instance's Groups that are read, and the Groups on each. */
const PAGES = 4;
const PAGE = 64;
const NOTHING: Saved = { groups: [], more: false, at: null, failed: false };
const FAILED: Saved = { ...NOTHING, failed: true };

export class SavedGroups {
  readonly #source: Source;
  readonly #instance: Pick<Instance, "others" | "groups" | "connections">;
  readonly #saved = new Map<string, Saved & { identity: string }>();
  readonly #reading = new Set<string>();

  constructor(source: Source, instance: Pick<Instance, "others" | "groups" | "connections">) {
    this.#source = source;
    this.#instance = instance;
  }

  /** Of an instance that is still the one that was read; null for any other. */
  of({ instance_id: instanceId, identity }: OtherInstance): Saved | null {
    const saved = this.#saved.get(instanceId);
    return saved?.identity === identity ? saved : null;
  }

  /** Reads them again. True if they differ from what was known, which a failure leaves as it is. */
  async read(other: OtherInstance): Promise<boolean> {
    const { instance_id: instanceId, identity } = other;
    if (this.#reading.has(identity)) return false;
    this.#reading.add(identity);
    const read = await this.#pages(this.#asking(instanceId), instanceId).catch(
      () => this.of(other) ?? FAILED,
    );
    this.#reading.delete(identity);
    // It may have left the account, or been linked again, meanwhile.
    if (this.#instance.others?.some((one) => one.identity === identity) !== true) return false;
    const saved = { ...read, identity };
    const isNew = JSON.stringify(saved) !== JSON.stringify(this.#saved.get(instanceId));
    this.#saved.set(instanceId, saved);
    return isNew;
  }

  /** Forgets those of instances that are no longer what they were. */
  tidy(): void {
    const current = new Set((this.#instance.others ?? []).map(({ identity }) => identity));
    for (const [instanceId, { identity }] of this.#saved)
      if (!current.has(identity)) this.#saved.delete(instanceId);
  }

  /**
   * A Group here may ask for all Groups of the instance unless it is connected to some by itself
   * (rule 11). Null if there is no other.
   */
  #asking(instanceId: string): string | null {
    const { connections, groups } = this.#instance;
    const pairs = new Set(
      connections
        .filter(({ remote, group_id: groupId }) => groupId !== null && remote?.instance_id === instanceId)
        .map(({ group_id: groupId }) => groupId),
    );
    return groups.find(({ summary }) => !pairs.has(summary.group_id))?.summary.group_id ?? null;
  }

  async #pages(groupId: string | null, instanceId: string): Promise<Saved> {
    if (groupId === null) return NOTHING;
    const groups: { group_id: string; title: string }[] = [];
    let after: string | null = null;
    let at: string | null = null;
    for (let page = 0; page < PAGES; page += 1) {
      const input = { group_id: groupId, instance_id: instanceId, limit: PAGE };
      const found = (await this.#source.call(
        "connect_catalog",
        after === null ? input : { ...input, after },
      )) as Details;
      at = found.catalog?.checked_at ?? null;
      groups.push(...(found.catalog?.groups ?? []).map(({ group_id, title }) => ({ group_id, title })));
      after = found.next;
      if (after === null) break;
    }
    return { groups, more: after !== null, at, failed: false };
  }
}
