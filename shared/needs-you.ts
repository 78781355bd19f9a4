/**
 * What a notification says about something that waits for the person: in a browser's window, on a
 * phone, and in an editor alike. It never quotes a message.
 */

import { actorName } from "./actor-words.ts";
import { shownName } from "./foreign-text.ts";
import type { NotificationKind } from "./operations/notification-kinds.ts";
import type { NeedsYouItem } from "./operations/notifications.ts";
import { labelled, quoted } from "./voice.ts";

const BODIES: Record<NotificationKind, string> = {
  waiting: "waits for you",
  request: "asks for your reply",
  failed: "The last turn failed",
  connection: "Compare the six words to connect",
};

/** Who did what where: "planner in shop", and what it waits for. */
export function notificationWords(item: Omit<NeedsYouItem, "key" | "since">): {
  title: string;
  body: string;
} {
  const { kind, actor, group_title: groupTitle, reason } = item;
  const group = quoted(groupTitle);
  const body = reason === "" ? BODIES[kind] : shownName(reason);
  if (actor !== null) return { title: `${labelled(actorName(actor))} in ${group}`, body };
  return kind === "connection"
    ? { title: `Another instance wants to connect to ${group}`, body }
    : { title: `A message in ${group}`, body };
}

/** What begins to wait, and what no longer does, while a window follows the list. */
export class Arrivals {
  /** Null until the first list: what waited before is in the badges. */
  #keys: ReadonlySet<string> | null = null;

  has(key: string): boolean {
    return this.#keys?.has(key) ?? false;
  }

  take(items: readonly NeedsYouItem[]): { entered: NeedsYouItem[]; left: string[] } {
    const before = this.#keys;
    const keys = new Set(items.map(({ key }) => key));
    this.#keys = keys;
    if (before === null) return { entered: [], left: [] };
    return {
      entered: items.filter(({ key }) => !before.has(key)),
      left: [...before].filter((key) => !keys.has(key)),
    };
  }
}
