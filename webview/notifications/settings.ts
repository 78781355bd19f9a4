/** How this browser tells the person what begins to wait. Kept per browser. */
import { NOTIFICATION_KINDS, type NotificationKind } from "../../shared/operations/notification-kinds.ts";

export interface NotificationSettings {
  /** Shows the system's notifications. */
  shows: boolean;
  sounds: boolean;
  kinds: readonly NotificationKind[];
}

export const KIND_LABELS: Record<NotificationKind, string> = {
  waiting: "An Actor waits for a permission or an answer",
  request: "A message asks for my reply",
  failed: "An Actor’s turn failed",
  connection: "Another instance wants to connect",
};

/** Nothing is shown until the person wants it. */
export function readSettings(value: unknown): NotificationSettings {
  const kept = typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  const kinds = Array.isArray(kept["kinds"]) ? kept["kinds"] : NOTIFICATION_KINDS;
  return {
    shows: kept["shows"] === true,
    sounds: kept["sounds"] === true,
    kinds: NOTIFICATION_KINDS.filter((kind) => kinds.includes(kind)),
  };
}
