/**
 * The permits of incoming requests (docs/protocol.md#peer-operations): Read takes no lock, Write
 * takes the Group's exclusive one, and a Group that is being deleted or reset grants neither. A
 * Write is known from the moment it is admitted, before any step that takes time, so that a receipt
 * query can wait for it.
 */

import type { Clock } from "../../../platform/clock.ts";
import { LIMITS } from "../../../shared/limits.ts";
import type { OpenGroup } from "../../groups/group.ts";
import type { GroupRegistry } from "../../groups/registry.ts";
import type { Chats, GroupChat } from "../../messaging/group-chat.ts";
import { PeerRefusal } from "../wire/peer-refusal.ts";

export class ReceiverGroups {
  readonly #registry: Pick<GroupRegistry, "find" | "get" | "list">;
  readonly #chats: Chats;
  readonly #clock: Clock;
  /** Writes that were admitted and haven't ended, by Group. */
  readonly #admitted = new Map<string, Set<Promise<unknown>>>();

  constructor(registry: Pick<GroupRegistry, "find" | "get" | "list">, chats: Chats, clock: Clock) {
    this.#registry = registry;
    this.#chats = chats;
    this.#clock = clock;
  }

  /** Groups that can be read, in the order of their ids (CAT-002). */
  ordered(): OpenGroup[] {
    return this.#registry.list().sort((a, b) => (a.group_id < b.group_id ? -1 : 1));
  }

  /** The Group by a Read permit. Throws PeerRefusal or Refusal. */
  read(groupId: string): GroupChat {
    this.#registry.get(groupId);
    return this.#chats.get(groupId);
  }

  /** Resolves when every Write that this Group has admitted so far has ended. */
  async settled(groupId: string): Promise<void> {
    const admitted = this.#admitted.get(groupId);
    if (admitted !== undefined) await Promise.allSettled(admitted);
  }

  /** Marks the start of a Write into this Group. `done` marks its end. */
  admit(groupId: string, done: Promise<unknown>): void {
    const admitted = this.#admitted.get(groupId) ?? new Set();
    this.#admitted.set(groupId, admitted.add(done));
    const ended = (): void => {
      admitted.delete(done);
      if (admitted.size === 0 && this.#admitted.get(groupId) === admitted) this.#admitted.delete(groupId);
    };
    done.then(ended, ended);
  }

  /**
   * Runs `step` under the Group's exclusive lock. Throws PeerRefusal, also when the wait takes too
   * long (LIM-045), Refusal, or what `step` throws.
   */
  async write<Result>(groupId: string, step: (chat: GroupChat) => Promise<Result>): Promise<Result> {
    const group = this.#registry.get(groupId);
    const release = await group.permit.acquireWrite({
      clock: this.#clock,
      milliseconds: LIMITS.outbox.permitSeconds * 1000,
      late: () => new PeerRefusal("io_error", "The Group is busy. Try again."),
    });
    try {
      // The Group may have been reset while we waited. What was meant for the old one isn't for the
      // new one.
      if (this.#registry.find(groupId) !== group) throw new PeerRefusal("io_error");
      const chat = this.#chats.get(groupId);
      // Temporary for the sender: a person here decides.
      chat.ledger.checkWritable();
      return await step(chat);
    } finally {
      release();
    }
  }
}
