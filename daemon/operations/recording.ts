/**
 * Operations that record something in a Group's ledger. While its history is damaged they are
 * refused before they have any other effect.
 */
import type { OperationName } from "../../shared/operations/registry.ts";

export const RECORDING: ReadonlySet<string> = new Set<OperationName>([
  "group_update",
  "group_set_state",
  "group_start",
  "group_stop",
  "group_reset",
  "attach",
  "actor_add",
  "actor_update",
  "actor_remove",
  "actor_start",
  "actor_restart",
  "actor_secrets",
  "actor_answer",
  "send",
  "send_files",
  "reply",
  "send_cross_group",
  "message_upload_preflight",
  "message_deliver",
  "message_withdraw",
  "reply_request_cancel",
  "inbox_read",
  "feed_read",
  "feed_unread",
  "presentation_publish",
  "presentation_clear",
  "ledger_compact",
  "connect_send",
  "connect_send_files",
]);
