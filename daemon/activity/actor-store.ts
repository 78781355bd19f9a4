/**
 * One Actor's hook state and records, which share one critical section (HOOK-012). A change is
 * judged and applied in memory at once, in order of arrival. Changes that wait for the disk
 * together are written together. Each caller is told when its change is committed, which means that
 * it is in the Actor's file, where it stays however the daemon ends. If the disk fails, state and
 * records together return to the last committed ones.
 */
import type { RuntimeActivityEvent } from "../../shared/activity/event.ts";
import { isTerminal } from "../../shared/activity/status.ts";
import { Refusal } from "../../shared/errors.ts";
import { LIMITS } from "../../shared/limits.ts";
import { AnswerWatch } from "./hooks/answers.ts";
import type { HookState, Memory } from "./hooks/hook-state.ts";
import type { ActivityRecord, Records } from "./record-slots.ts";
import type { RecordsFile } from "./records-file.ts";

export interface Content {
  /** Null until a hook of the current launch was accepted. */
  hooks: HookState | null;
  records: Records;
}

/** A change's effect on the content. */
export interface Change {
  content: Content;
  /** In order; their callers are told when they are committed. */
  events: RuntimeActivityEvent[];
}

interface Waiting {
  events: RuntimeActivityEvent[];
  done: () => void;
  failed: (error: Error) => void;
}

export class ActorStore {
  /** Of the current launch. */
  memory: Memory | null = null;
  readonly answers = new AnswerWatch();
  readonly #file: RecordsFile;
  readonly #committedEvents: (events: readonly RuntimeActivityEvent[]) => void;
  #latest: Content = { hooks: null, records: new Map() };
  #committed: Content = this.#latest;
  #isLoaded = false;
  #writing: Promise<void> | null = null;
  #waiting: Waiting[] = [];
  #trouble: Refusal | null = null;
  #wasLeftInWork = false;
  #hasMissed = false;

  /** `committedEvents` gets the events of each committed change. */
  constructor(file: RecordsFile, committedEvents: (events: readonly RuntimeActivityEvent[]) => void) {
    this.#file = file;
    this.#committedEvents = committedEvents;
  }

  /** What is in the file. Throws runtime_activity_unavailable. */
  committed(): Content {
    this.#look();
    return this.#committed;
  }

  /** Including changes that wait for the disk. */
  get latest(): Content {
    return this.#latest;
  }

  /**
   * An earlier daemon's last records were of work that hadn't ended, and nothing was reported
   * since.
   */
  get wasLeftInWork(): boolean {
    return this.#wasLeftInWork;
  }

  /** The last event couldn't be saved, so the hook state may be out of date. */
  get hasMissed(): boolean {
    return this.#hasMissed;
  }

  /**
   * Applies a change. If it returns null, nothing changes. Resolves when committed. Throws, or
   * rejects with, runtime_activity_unavailable, overloaded, storage_full, storage_failed, and
   * whatever `change` throws.
   */
  submit(change: (content: Content) => Change | null): Promise<void> {
    let changed: Change | null;
    try {
      this.#look();
      if (this.#waiting.length >= LIMITS.activity.hook.pending) throw new Refusal("overloaded");
      changed = change(this.#latest);
    } catch (error) {
      this.#hasMissed = true;
      throw error;
    }
    if (changed === null) return Promise.resolve();
    this.#latest = changed.content;
    this.#wasLeftInWork = false;
    return new Promise((done, failed) => {
      this.#waiting.push({ events: changed.events, done, failed });
      this.#writing ??= this.#write();
    });
  }

  /** Makes room by removing the oldest record that `isVictim` picks. False if there is none. */
  evict(isVictim: (record: ActivityRecord) => boolean): boolean {
    const victim = this.oldest(isVictim);
    if (victim === null) return false;
    void this.submit((content) => {
      const records = new Map(content.records);
      records.delete(victim.event.activity_id);
      return { content: { ...content, records }, events: [] };
    }).catch(() => {
      // Records that couldn't be removed from the disk are removed with the next write.
    });
    return true;
  }

  oldest(isWanted: (record: ActivityRecord) => boolean): ActivityRecord | null {
    for (const record of this.#latest.records.values()) if (isWanted(record)) return record;
    return null;
  }

  /** Resolves when nothing is waiting for the disk. */
  async settled(): Promise<void> {
    await this.#writing;
  }

  /** Reads the file if it isn't known or has changed. */
  #look(): void {
    if (this.#writing !== null) return;
    if (this.#isLoaded && this.#trouble === null && !this.#file.hasChanged()) return;
    try {
      const found = this.#file.read();
      // What an earlier daemon left open isn't running, because its processes ended with it.
      const records = this.#isLoaded ? found : withoutOpen(found);
      if (!this.#isLoaded) this.#wasLeftInWork = hasWork(found);
      this.#latest = { hooks: this.#committed.hooks, records };
      this.#committed = this.#latest;
      this.#isLoaded = true;
      this.#trouble = null;
    } catch (error) {
      if (error instanceof Refusal) this.#trouble = error;
      throw error;
    }
  }

  async #write(): Promise<void> {
    // Changes that arrive in this turn of the event loop are written together.
    await Promise.resolve();
    try {
      while (this.#waiting.length > 0) await this.#writeWaiting();
    } finally {
      // At once, so that later changes start fresh.
      this.#writing = null;
    }
  }

  async #writeWaiting(): Promise<void> {
    const waiting = this.#waiting;
    const content = this.#latest;
    this.#waiting = [];
    try {
      await this.#file.write(content.records);
    } catch (error) {
      const failed = [...waiting, ...this.#waiting];
      this.#waiting = [];
      this.#latest = this.#committed;
      this.#hasMissed = true;
      for (const one of failed) one.failed(error as Error);
      return;
    }
    this.#committed = content;
    this.#hasMissed = false;
    for (const { events, done } of waiting) {
      this.#committedEvents(events);
      done();
    }
  }
}

/** Something but the session itself hasn't ended. */
export function hasWork(records: Records): boolean {
  return [...records.values()].some(({ event }) => event.kind !== "session" && !isTerminal(event.status));
}

function withoutOpen(records: Records): Records {
  return new Map([...records].filter(([, { event }]) => isTerminal(event.status)));
}
