/** Kinds of ledger events that messaging writes or reads (docs/core-model.md#ledger). */
export const EVENTS = {
  message: "chat.message",
  cancelled: "chat.reply_request.cancelled",
  receipt: "chat.cross_group_receipt",
  mailRead: "mail.read",
  delivery: "runtime.delivery",
  /**
   * A message was put back into its Actors' queues on purpose:
   * `{source_event_id, source_ordinal, actor_generations{}, force_ambiguous}`.
   */
  deliveryRequest: "runtime.delivery_request",
  notify: "system.notify",
  actorRemoved: "actor.remove",
  actorActivity: "actor.activity",
  /** The Group began here. What stands before it in a ledger came with an import and is history (`MessageProjection.begin`). */
  groupCreated: "group.create",
} as const;

/**
 * `reason` of a `runtime.delivery` with the state `failed` that takes a claim back whose answer never left the daemon: the call was
 * cancelled or its caller went away. The message is pending again; nobody is told of a failure.
 */
export const HANDED_BACK = "handed_back";

/**
 * `reason` of a `runtime.delivery` with the state `failed` that takes back what was queued in a process that ended before its turn began: it was
 * never read. The message is pending again, marked as redelivered.
 */
export const ENDED_UNREAD = "ended_unread";

/** `kind` of a `system.notify`: an Actor that owes a reply can't do its work. */
export const TROUBLE_NOTICE = "trouble_notice";

/** `reason` of a claim in statuses whose session has ended without an acknowledgement: the next one is handed the message again. */
export const SESSION_ENDED = "session_ended";

/** `reason` in statuses of what waited when its Group was exported: in the import it is history. */
export const IMPORTED = "imported";
