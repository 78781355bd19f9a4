/**
 * Tells the person what begins to wait for them, once: one of their open windows, or, if none does
 * or it still waits after a while, their phones. The folder's face.
 */
import type { Clock, Timer } from "../../platform/clock.ts";
import { LIMITS } from "../../shared/limits.ts";
import type { Caller } from "../../shared/operations/caller.ts";
import type { HandlersFor } from "../../shared/operations/handlers.ts";
import type { NeedsYouItem, notificationOperations } from "../../shared/operations/notifications.ts";
import { Claims, personOf } from "./claims.ts";
import { NeedsYou, type NeedsYouSources } from "./needs-you.ts";
import { Push, type PushDependencies } from "./push.ts";

export interface NotificationsDependencies extends PushDependencies {
  clock: Clock;
  needsYou: Omit<NeedsYouSources, "clock">;
}

/** Anyone who may know everything that waits. */
const OWNER: Caller = { kind: "user", by: "user", via: "socket", token_id: null };
const WINDOW_MS = LIMITS.notifications.windowSeconds * 1000;
const AWAY_MS = LIMITS.notifications.awaySeconds * 1000;

export class Notifications {
  readonly needsYou: NeedsYou;
  readonly #clock: Clock;
  readonly #push: Push;
  readonly #claims = new Claims();
  /** By the key of what waits: the next look at whether a phone must be told. */
  readonly #timers = new Map<string, Timer>();

  private constructor({ clock, needsYou }: NotificationsDependencies, push: Push) {
    this.#clock = clock;
    this.#push = push;
    this.needsYou = new NeedsYou({ clock, ...needsYou });
    this.needsYou.onChange((entered) => this.#changed(entered));
  }

  static async open(deps: NotificationsDependencies): Promise<Notifications> {
    return new Notifications(deps, await Push.open(deps));
  }

  /** For the health checks. */
  get health(): { problem: string | null; browsers: number; sent: number; failed: number } {
    return { problem: this.#push.problem, browsers: this.#push.size, ...this.#push.counts };
  }

  handlers(): HandlersFor<typeof notificationOperations> {
    const push = this.#push;
    return {
      notification_claim: ({ key }, { caller }) => ({
        claimed: this.needsYou.find(key, caller) !== null && this.#claims.claim(key, personOf(caller)),
      }),
      push_prepare: () => push.prepare(),
      push_list: (_input, { caller }) => push.list(caller),
      push_subscribe: (input, { caller }) => push.subscribe(caller, input),
      push_unsubscribe: ({ push_id: id }, { caller }) => push.unsubscribe(caller, id),
      push_test: ({ push_id: id }, { caller }) => push.test(caller, id),
    };
  }

  /** Sends nothing more. */
  async close(): Promise<void> {
    for (const timer of this.#timers.values()) timer.cancel();
    this.#timers.clear();
    await this.#push.close();
  }

  #changed(entered: readonly NeedsYouItem[]): void {
    for (const [key, timer] of this.#timers) {
      if (this.needsYou.find(key, OWNER) !== null) continue;
      timer.cancel();
      this.#timers.delete(key);
    }
    this.#claims.retain((key) => this.needsYou.isRemembered(key));
    if (this.#push.size === 0) return;
    for (const { key } of entered) this.#arm(key, WINDOW_MS, (item) => this.#unclaimed(item));
  }

  #arm(key: string, milliseconds: number, run: (item: NeedsYouItem) => void): void {
    const look = (): void => {
      this.#timers.delete(key);
      const item = this.needsYou.find(key, OWNER);
      if (item !== null) run(item);
    };
    this.#timers.set(key, this.#clock.after(milliseconds, look, { background: true }));
  }

  /** Tells the phones of people of whom no window has announced it. */
  #unclaimed(item: NeedsYouItem): void {
    const wanting = this.#push.wanting(item);
    const isTold = new Map(wanting.map(({ person }) => [person, this.#claims.has(item.key, person)]));
    for (const { id, person } of wanting) {
      if (isTold.get(person) === true) continue;
      // A window that comes back now says nothing more.
      this.#claims.claim(item.key, person);
      void this.#push.send(id, item);
    }
    const attended = new Set([...isTold].flatMap(([person, told]) => (told ? [person] : [])));
    if (attended.size > 0) this.#arm(item.key, AWAY_MS, (still) => this.#away(still, attended));
  }

  /** A window has announced it, and it still waits: the person may be elsewhere. */
  #away(item: NeedsYouItem, people: ReadonlySet<string>): void {
    for (const { id, person } of this.#push.wanting(item))
      if (people.has(person)) void this.#push.send(id, item);
  }
}
