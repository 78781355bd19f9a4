/**
 * Which parts of the channel are shown, for the Workbench, VS Code and tests alike: which revision
 * counts, what is stuck, how long something stays, and the words. A `Ticker` is one Group's store
 * in a browser. It knows nothing of messages and has no timer: `nextChange` says when to look
 * again.
 */
import { LIMITS } from "../limits.ts";
import { askingWords } from "./asking.ts";
import type { RuntimeActivityEvent } from "./event.ts";
import { isTerminal } from "./status.ts";

const { activeSeconds, completedSeconds, stuckSeconds, records: MOST_RECORDS } = LIMITS.activity.browser;
const ACTIVE_MS = activeSeconds * 1000;
const COMPLETED_MS = completedSeconds * 1000;
const STUCK_MS = stuckSeconds * 1000;

/**
 * An event as shown, with `stuck`, which exists only here (id `stuck:<id>`, event_type
 * `StuckDetected`).
 */
export type ShownActivity = Omit<RuntimeActivityEvent, "status"> & {
  status: RuntimeActivityEvent["status"] | "stuck";
};

export interface TickerItem {
  activity: ShownActivity;
  text: string;
}

interface Kept {
  event: RuntimeActivityEvent;
  /** The time in milliseconds on the viewer's clock from which ages count. */
  since: number;
}

/**
 * Whether `next` replaces `now`, which has the same activity_id. A real end always counts, whenever
 * it was delivered. Otherwise the newer one counts, so that a late start never undoes an end.
 */
export function supersedes(next: RuntimeActivityEvent, now: RuntimeActivityEvent): boolean {
  if (next.id === now.id) return false;
  const ends = isTerminal(next.status);
  if (ends !== isTerminal(now.status) && ends) return true;
  const order = Date.parse(next.ts) - Date.parse(now.ts);
  return order > 0 || (order === 0 && ends === isTerminal(now.status));
}

/** Only started turns and tools get stuck. */
function canBeStuck({ status, kind }: RuntimeActivityEvent): boolean {
  return status === "started" && (kind === "turn" || kind === "tool");
}

function stuck(event: RuntimeActivityEvent): ShownActivity {
  return { ...event, id: `stuck:${event.id}`, event_type: "StuckDetected", status: "stuck" };
}

/** Claude's turn hooks only observe, so its turns are never shown (TICK-005). */
function isGenericTurn({ kind, runtime }: ShownActivity): boolean {
  return kind === "turn" && runtime === "claude";
}

/** The words for a shown activity; null for one that is never shown. */
export function textOf(activity: ShownActivity): string | null {
  if (activity.kind === "turn" && activity.status === "stuck" && !isGenericTurn(activity)) {
    return "No progress for a minute";
  }
  if (activity.kind !== "tool" || activity.tool_name === "") return null;
  switch (activity.status) {
    case "started":
      return `${activity.tool_name} is running`;
    case "waiting":
      return askingWords(activity.tool_name) ?? `${activity.tool_name} waits for permission`;
    case "completed":
      return `${activity.tool_name} is done`;
    case "failed":
      return `${activity.tool_name} failed`;
    case "stuck":
      return `${activity.tool_name}: no progress for a minute`;
  }
}

/**
 * Two Actors may resume the same session of their runtime, so that only both ids together name an
 * activity.
 */
function keyOf({ actor_id: actorId, activity_id: activityId }: RuntimeActivityEvent): string {
  return `${actorId} ${activityId}`;
}

export class Ticker {
  readonly #kept = new Map<string, Kept>();

  /**
   * One event at `now` (milliseconds). A `live` one counts from now, a restored one from its own
   * time. This way neither a viewer's wrong clock nor a long absence shows it for too short or too
   * long.
   */
  apply(event: RuntimeActivityEvent, now: number, { live }: { live: boolean }): void {
    const key = keyOf(event);
    const before = this.#kept.get(key);
    if (before !== undefined && !supersedes(event, before.event)) return;
    const since = live ? now : Math.min(now, Date.parse(event.ts));
    this.#kept.delete(key);
    this.#kept.set(key, { event, since });
    this.#forget(now);
  }

  /**
   * The view of a snapshot at `now`. Active items that aren't in it ended unseen, for example when
   * the daemon was restarted.
   */
  restore(events: readonly RuntimeActivityEvent[], now: number): void {
    const there = new Set(events.map(keyOf));
    for (const [key, { event }] of this.#kept) {
      if (!isTerminal(event.status) && !there.has(key)) this.#kept.delete(key);
    }
    for (const event of events) this.apply(event, now, { live: false });
  }

  /** Leaving a Group clears it. */
  clear(): void {
    this.#kept.clear();
  }

  get size(): number {
    return this.#kept.size;
  }

  /** What to show above each Actor, in the order of the last change. */
  items(now: number): Map<string, TickerItem[]> {
    this.#forget(now);
    const shown = [...this.#kept.values()].map(({ event, since }) =>
      canBeStuck(event) && now - since >= STUCK_MS ? stuck(event) : event,
    );
    const withStuckTool = new Set(
      shown
        .filter(({ kind, status }) => kind === "tool" && status === "stuck")
        .map(({ actor_id: actorId }) => actorId),
    );
    const items = new Map<string, TickerItem[]>();
    for (const activity of shown) {
      if (activity.kind === "turn" && withStuckTool.has(activity.actor_id)) continue;
      const text = textOf(activity);
      if (text === null) continue;
      const ofActor = items.get(activity.actor_id);
      if (ofActor === undefined) items.set(activity.actor_id, [{ activity, text }]);
      else ofActor.push({ activity, text });
    }
    return items;
  }

  /** Milliseconds until something gets stuck or disappears; null if nothing will. */
  nextChange(now: number): number | null {
    let next: number | null = null;
    for (const { event, since } of this.#kept.values()) {
      const ends = since + lifetime(event);
      const sticks = since + STUCK_MS;
      const due = canBeStuck(event) && sticks > now ? Math.min(sticks, ends) : ends;
      if (next === null || due < next) next = due;
    }
    return next === null ? null : Math.max(0, next - now);
  }

  #forget(now: number): void {
    for (const [key, { event, since }] of this.#kept) {
      if (now - since >= lifetime(event)) this.#kept.delete(key);
    }
    // The daemon keeps no more either. A runaway stream must not fill the browser.
    for (const key of this.#kept.keys()) {
      if (this.#kept.size <= MOST_RECORDS) return;
      this.#kept.delete(key);
    }
  }
}

function lifetime({ status }: RuntimeActivityEvent): number {
  return isTerminal(status) ? COMPLETED_MS : ACTIVE_MS;
}
