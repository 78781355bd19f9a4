/** Who speaks in a ledger, also from another instance. */

const REMOTE_PREFIX = "connect:";

/** `by` of what came from another instance (MSG-029). */
export function remoteBy(instance_id: string): string {
  return `${REMOTE_PREFIX}${instance_id}`;
}

/** An author across instances, unambiguous among equal Actor ids: how obligations to and from other instances are kept (RPL-013). */
export function remoteAuthor(instance_id: string, actor_id: string): string {
  return `${REMOTE_PREFIX}${instance_id}::${actor_id}`;
}

/** Who speaks in a message, as obligations know them; `user_id` is its `source_user_id`. */
export function authorOf(by: string, user_id: unknown): string {
  return isRemoteAuthor(by) ? `${by}::${String(user_id)}` : by;
}

/** Whether `by` came from another instance. */
export function isRemoteAuthor(by: string): boolean {
  return by.startsWith(REMOTE_PREFIX);
}
