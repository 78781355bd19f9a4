/** What the person can be told of, each kind by itself. Apart, because pages load no schemas. */

/**
 * - `waiting`: an Actor in a terminal waits for a permission or an answer.
 * - `request`: a message asks for the person's reply.
 * - `failed`: the last turn of an Actor in a terminal failed.
 * - `connection`: another instance wants to connect, and someone has to compare the words.
 */
export const NOTIFICATION_KINDS = ["waiting", "request", "failed", "connection"] as const;
export type NotificationKind = (typeof NOTIFICATION_KINDS)[number];
