/** Authors in a ledger, also from another instance. */

const REMOTE_PREFIX = "connect:";

/** `by` of an event from another instance (MSG-029). */
export function remoteBy(instanceId: string): string {
  return `${REMOTE_PREFIX}${instanceId}`;
}

/**
 * An author across instances, unambiguous among equal Actor ids: how obligations to and from other
 * instances are kept (RPL-013).
 */
export function remoteAuthor(instanceId: string, actorId: string): string {
  return `${REMOTE_PREFIX}${instanceId}::${actorId}`;
}

/** The author of a message, as obligations know it; `user_id` is its `source_user_id`. */
export function authorOf(by: string, userId: unknown): string {
  return isRemoteAuthor(by) ? `${by}::${String(userId)}` : by;
}

/** Whether `by` came from another instance. */
export function isRemoteAuthor(by: string): boolean {
  return by.startsWith(REMOTE_PREFIX);
}
