/** What followers of the daemon's streams are told, in a browser and in an editor alike. */
import type { RuntimeActivityEvent } from "../activity/event.ts";
import type { LedgerEvent } from "../events.ts";
import type { GroupSummary } from "../operations/groups.ts";
import type { NeedsYouItem } from "../operations/notifications.ts";
import type { TerminalMessage, TerminalRequest } from "../terminal.ts";

export type Release = () => void;

export interface Connection {
  state: "connecting" | "online" | "offline";
  /** When the daemon last answered, in epoch milliseconds; null before the first time. */
  heard: number | null;
}

export interface GroupsListener {
  /** The connection is new, so what was known may be old. */
  restart(): void;
  group(summary: GroupSummary): void;
  gone(groupId: string): void;
  /** Actors of a Group changed. */
  actors(groupId: string): void;
}

/** Everything that waits for the person now: first, after each change, and after each break. */
export type NeedsYouListener = (items: readonly NeedsYouItem[]) => void;

export interface LedgerListener {
  event(event: LedgerEvent): void;
  /** Events can't be resumed without a gap: read a fresh page. */
  reload(): void;
}

export interface ActivityListener {
  /** The current view, at the beginning and after each break. */
  restored(events: readonly RuntimeActivityEvent[]): void;
  /** Accepted just now. */
  event(event: RuntimeActivityEvent): void;
}

export interface TerminalListener {
  output(bytes: Uint8Array): void;
  message(message: TerminalMessage): void;
  /** The connection broke. It is made again and starts with the whole screen. */
  lost(): void;
}

/** An attached terminal (shared/terminal.ts). */
export interface TerminalLink {
  /** Nothing is sent while the connection is broken. */
  send(request: TerminalRequest): void;
  close(): void;
}
