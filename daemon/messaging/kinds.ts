/** What events say in `reason` and `kind` of their data, where code depends on it. */

/**
 * `reason` of a `runtime.delivery` with the state `failed` that takes a claim back because its
 * answer was never sent: the call was cancelled or its caller went away. The message is pending
 * again. No failure is reported.
 */
export const HANDED_BACK = "handed_back";

/**
 * `reason` of a `runtime.delivery` with the state `failed` that takes back a message queued in a
 * process that ended before its turn began. It was never read. The message is pending again, marked
 * as redelivered.
 */
export const ENDED_UNREAD = "ended_unread";

/** `kind` of a `system.notify`: an Actor that owes a reply can't do its work. */
export const TROUBLE_NOTICE = "trouble_notice";

/** `reason` of a `runtime.delivery` with the state `accepted`: the runtime's own history has it. */
export const IN_HISTORY = "history";

/** `kind` of a `system.notify`: the work on a request ended with its Actor's process. */
export const INTERRUPTED_NOTICE = "interrupted_notice";

/** `kind` of a `system.notify` to that Actor, for when it runs again: the request is still open. */
export const RESUME_NOTICE = "resume_notice";

/** `kind` of a `system.notify`: nothing tells whether an Actor got a message before its end. */
export const UNCONFIRMED_NOTICE = "unconfirmed_notice";

/**
 * `reason` in statuses of a claim whose session has ended without an acknowledgement: the next one
 * gets the message again.
 */
export const SESSION_ENDED = "session_ended";

/**
 * `reason` in statuses of messages that waited when their Group was exported. In the import they
 * are history.
 */
export const IMPORTED = "imported";
