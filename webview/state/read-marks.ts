/**
 * Tells the daemon what the person has seen: only while the window is visible and focused, and each
 * event once. After the person has marked something unread, nothing until they read on
 * (docs/core-model.md#reading).
 */
import type { Host } from "../hosts/host.ts";

const AFTER_MS = 250;

export class ReadMarks {
  readonly #host: Pick<Host, "call">;
  readonly #groupId: string;
  readonly #looking: () => boolean;
  #seen: string | null = null;
  #told: string | null = null;
  #begun = false;
  #held = false;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #telling: Promise<void> = Promise.resolve();

  /** `looking` returns whether the person can see the window. */
  constructor(host: Pick<Host, "call">, groupId: string, looking: () => boolean) {
    this.#host = host;
    this.#groupId = groupId;
    this.#looking = looking;
  }

  /** Where the unread messages begin is known, so that they may be marked. */
  begin(): void {
    if (this.#begun) return;
    this.#begun = true;
    this.returned();
  }

  /** The newest message is in view. Calls with the same event cost nothing. */
  seen(eventId: string): void {
    this.#seen = eventId;
    if (this.#timer !== null || this.#told === eventId || this.#held) return;
    if (!this.#begun || !this.#looking()) return;
    this.#timer = setTimeout(() => {
      this.#telling = this.#tell();
    }, AFTER_MS);
  }

  /** The person came back to the window. */
  returned(): void {
    if (this.#seen !== null) this.seen(this.#seen);
  }

  /** What was told may be unread again. */
  forget(): void {
    this.#told = null;
  }

  /** Marks nothing until `release`. Resolves when nothing that was marked before is on its way. */
  hold(): Promise<void> {
    this.#held = true;
    this.#told = null;
    this.close();
    return this.#telling;
  }

  /** The person reads on. */
  release(): void {
    if (!this.#held) return;
    this.#held = false;
    this.returned();
  }

  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  async #tell(): Promise<void> {
    this.#timer = null;
    const event = this.#seen;
    if (event === null || !this.#looking()) return;
    this.#told = event;
    try {
      await this.#host.call("feed_read", { group_id: this.#groupId, event_id: event });
    } catch {
      this.forget();
    }
  }
}
