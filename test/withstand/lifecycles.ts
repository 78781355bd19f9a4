/**
 * Groups that come and go while the daemon is killed: made, filled, sealed, reset, exported,
 * imported, deleted.
 */
import { join } from "node:path";
import type { DaemonClient } from "../../client/client.ts";
import type { Chance } from "../support/chance.ts";

interface ShortGroup {
  /** Null while its making isn't answered. */
  group_id: string | null;
  generation: string | null;
  /** Messages that a whole history has at least. */
  messages: string[];
  /** What was asked and not answered yet. */
  pending: "make" | "reset" | "delete" | null;
  /** How many of the last messages weren't answered: 0 or 1. */
  unanswered: number;
  imported: boolean;
}

const KEPT = 4;

export class Lifecycles {
  readonly #chance: Chance;
  readonly #folder: string;
  readonly #groups = new Map<string, ShortGroup>();
  readonly #gone = new Set<string>();
  #named = 0;

  /** Exports go into `folder`. */
  constructor(chance: Chance, folder: string) {
    this.#chance = chance;
    this.#folder = folder;
  }

  get made(): number {
    return this.#named;
  }

  /** One step; throws what the client throws. The record says what is certain whenever it ends. */
  async step(client: DaemonClient): Promise<void> {
    const alive = [...this.#groups].filter(([, group]) => group.group_id !== null && group.pending === null);
    if (alive.length === 0 || (alive.length < KEPT && this.#chance.happens(0.3))) return this.#create(client);
    const [title, group] = this.#chance.one(alive);
    const groupId = group.group_id!;
    const choice = this.#chance.below(10);
    if (choice < 4) return this.#send(client, group);
    if (choice < 5) {
      await client.result("ledger_compact", { group_id: groupId });
      return;
    }
    if (choice < 7) return this.#reset(client, group);
    if (choice < 8) return this.#copy(client, group);
    return this.#delete(client, title, group);
  }

  async #create(client: DaemonClient): Promise<void> {
    const title = `short ${++this.#named}`;
    const group: ShortGroup = {
      group_id: null,
      generation: null,
      messages: [],
      pending: "make",
      unanswered: 0,
      imported: false,
    };
    this.#groups.set(title, group);
    const made = await client.result("group_create", { title });
    this.#settle(group, made);
  }

  async #send(client: DaemonClient, group: ShortGroup): Promise<void> {
    group.unanswered = 1;
    const text = "x".repeat(1 + this.#chance.below(3000));
    const { event } = await client.result("send", { group_id: group.group_id!, to: ["user"], text });
    group.messages.push(event.id);
    group.unanswered = 0;
  }

  async #reset(client: DaemonClient, group: ShortGroup): Promise<void> {
    const groupId = group.group_id!;
    group.pending = "reset";
    const now = await client.result("group_reset", { group_id: groupId, confirm: groupId });
    group.messages = [];
    group.unanswered = 0;
    this.#settle(group, now);
  }

  async #copy(client: DaemonClient, source: ShortGroup): Promise<void> {
    const title = `short ${++this.#named}`;
    const path = join(this.#folder, `${title}.export`);
    await client.result("group_export", { group_id: source.group_id!, path });
    const group: ShortGroup = { ...source, group_id: null, pending: "make", imported: true };
    group.messages = [...source.messages];
    this.#groups.set(title, group);
    const { group: now } = await client.result("group_import", { path, title });
    this.#settle(group, now);
  }

  async #delete(client: DaemonClient, title: string, group: ShortGroup): Promise<void> {
    const groupId = group.group_id!;
    group.pending = "delete";
    await client.result("group_delete", { group_id: groupId, confirm: groupId });
    this.#groups.delete(title);
    this.#gone.add(groupId);
  }

  #settle(group: ShortGroup, now: { group_id: string; generation: string }): void {
    group.group_id = now.group_id;
    group.generation = now.generation;
    group.pending = null;
  }

  /**
   * Problems of all short Groups as they are after a restart; what was in flight is settled by what
   * is found. `others` belong to somebody else.
   */
  async check(client: DaemonClient, others: ReadonlySet<string>): Promise<string[]> {
    const problems: string[] = [];
    const { groups } = await client.result("group_list", {});
    const listed = new Map<string, string>();
    for (const { group_id: groupId, title } of groups) {
      if (others.has(groupId)) continue;
      if (listed.has(title)) problems.push(`two Groups are called ${title}`);
      if (this.#gone.has(groupId)) problems.push(`the deleted Group ${groupId} is back`);
      if (!this.#groups.has(title)) problems.push(`nobody made the Group ${title}`);
      listed.set(title, groupId);
    }
    for (const [title, group] of this.#groups) {
      const found = listed.get(title);
      if (found === undefined) {
        if (group.pending !== "make" && group.pending !== "delete")
          problems.push(`the Group ${title} is lost`);
        this.#groups.delete(title);
        continue;
      }
      if (group.group_id !== null && group.group_id !== found) problems.push(`${title} has another id`);
      problems.push(...(await this.#checkOne(client, title, group, found)));
    }
    return problems;
  }

  async #checkOne(
    client: DaemonClient,
    title: string,
    group: ShortGroup,
    groupId: string,
  ): Promise<string[]> {
    const problems: string[] = [];
    const now = await client.result("group_show", { group_id: groupId });
    const messages = await messageIds(client, groupId);
    if (group.pending === "reset" && now.generation !== group.generation) {
      const left = messages.filter((id) => group.messages.includes(id));
      if (left.length > 0) problems.push(`${title} was reset and still has ${left.length} messages`);
      group.messages = messages;
    } else {
      if (group.pending !== "make" && now.generation !== group.generation) {
        problems.push(`${title} has another generation though nobody reset it`);
      }
      const lost = group.messages.filter((id) => !messages.includes(id));
      if (lost.length > 0) problems.push(`${title} lost ${lost.length} of ${group.messages.length} messages`);
      if (messages.length > group.messages.length + group.unanswered) {
        problems.push(`${title} has ${messages.length} messages, ${group.messages.length} were acknowledged`);
      }
      group.messages = messages;
    }
    if (group.imported && group.pending === "make" && now.state !== "stopped") {
      problems.push(`${title} was imported and is ${now.state}`);
    }
    const verified = await client.result("ledger_verify", { group_id: groupId });
    problems.push(...verified.problems.map((problem) => `${title}: ${problem}`));
    group.unanswered = 0;
    this.#settle(group, now);
    return problems;
  }
}

async function messageIds(client: DaemonClient, groupId: string): Promise<string[]> {
  const ids: string[] = [];
  let before: string | undefined;
  for (;;) {
    const page = await client.result("ledger_tail", {
      group_id: groupId,
      before,
      limit: 200,
      kinds: ["chat.message"],
    });
    ids.unshift(...page.events.map(({ id }) => id));
    if (!page.has_more || page.events.length === 0) return ids;
    before = page.events[0]!.id;
  }
}
