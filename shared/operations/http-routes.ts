/**
 * The HTTP routes of operations, below `/api/v1`. The daemon, the Workbench and docs/operations.md
 * use this table. It is beside the contracts because the Workbench loads no schemas.
 */
import type { OperationName } from "./registry.ts";

export type HttpMethod = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

interface RouteOptions {
  /** The member `action` of the body distinguishes operations that share an address. */
  action?: string;
  /**
   * Fields that the path and the credential decide: what a query says of them counts for nothing.
   */
  ignores?: readonly string[];
}

export interface HttpRoute extends RouteOptions {
  method: HttpMethod;
  /**
   * `{name}` takes an input field from the path. GET and DELETE take the rest from the query,
   * others from the body.
   */
  path: string;
}

const ROUTES: Partial<Record<OperationName, readonly [method: HttpMethod, path: string, RouteOptions?]>> = {
  group_list: ["GET", "/groups"],
  group_show: ["GET", "/groups/{group_id}"],
  group_create: ["POST", "/groups"],
  group_update: ["PATCH", "/groups/{group_id}"],
  group_set_state: ["POST", "/groups/{group_id}/state"],
  group_start: ["POST", "/groups/{group_id}/start"],
  group_stop: ["POST", "/groups/{group_id}/stop"],
  folder_list: ["GET", "/folders"],
  attach: ["POST", "/groups/{group_id}/attach"],
  group_reset: ["POST", "/groups/{group_id}/reset"],
  group_delete: ["DELETE", "/groups/{group_id}"],
  actor_list: ["GET", "/groups/{group_id}/actors"],
  actor_show: ["GET", "/groups/{group_id}/actors/{actor_id}"],
  actor_add: ["POST", "/groups/{group_id}/actors"],
  actor_update: ["PATCH", "/groups/{group_id}/actors/{actor_id}"],
  actor_remove: ["DELETE", "/groups/{group_id}/actors/{actor_id}"],
  actor_start: ["POST", "/groups/{group_id}/actors/{actor_id}/start"],
  actor_stop: ["POST", "/groups/{group_id}/actors/{actor_id}/stop"],
  actor_restart: ["POST", "/groups/{group_id}/actors/{actor_id}/restart"],
  actor_interrupt: ["POST", "/groups/{group_id}/actors/{actor_id}/interrupt"],
  runtime_list: ["GET", "/runtimes"],
  actor_secrets: ["PUT", "/groups/{group_id}/actors/{actor_id}/secrets"],
  actor_mcp_config: ["GET", "/groups/{group_id}/actors/{actor_id}/mcp-config"],
  actor_questions: ["GET", "/groups/{group_id}/questions"],
  actor_answer: ["POST", "/groups/{group_id}/actors/{actor_id}/answer"],
  runtime_activity_snapshot: ["GET", "/groups/{group_id}/runtime-activity/snapshot"],
  send: ["POST", "/groups/{group_id}/send"],
  reply: ["POST", "/groups/{group_id}/reply"],
  send_cross_group: ["POST", "/groups/{group_id}/send_cross_group"],
  message_deliver: ["POST", "/groups/{group_id}/messages/{source_event_id}/deliver"],
  message_withdraw: ["POST", "/groups/{group_id}/messages/{event_id}/withdraw"],
  reply_request_cancel: ["POST", "/groups/{group_id}/messages/{event_id}/reply-request/cancel"],
  inbox_peek: ["GET", "/groups/{group_id}/inbox"],
  feed_read: ["POST", "/groups/{group_id}/read"],
  feed_unread: ["POST", "/groups/{group_id}/unread"],
  message_upload_preflight: ["POST", "/groups/{group_id}/uploads/preflight"],
  draft_get: ["GET", "/groups/{group_id}/draft"],
  draft_put: ["PUT", "/groups/{group_id}/draft"],
  presentation_list: ["GET", "/groups/{group_id}/presentations"],
  presentation_publish: ["POST", "/groups/{group_id}/presentations"],
  presentation_clear: ["POST", "/groups/{group_id}/presentations/clear"],
  ledger_tail: ["GET", "/groups/{group_id}/ledger/tail"],
  ledger_window: ["GET", "/groups/{group_id}/ledger/window"],
  ledger_thread: ["GET", "/groups/{group_id}/ledger/thread"],
  ledger_search: ["GET", "/groups/{group_id}/ledger/search"],
  ledger_since: ["GET", "/groups/{group_id}/ledger/since"],
  ledger_reopen: ["POST", "/groups/{group_id}/ledger/reopen"],
  ledger_continue: ["POST", "/groups/{group_id}/ledger/continue"],
  ledger_statuses: ["POST", "/groups/{group_id}/ledger/statuses"],
  access_token_create: ["POST", "/access-tokens"],
  access_token_list: ["GET", "/access-tokens"],
  access_token_revoke: ["DELETE", "/access-tokens/{token_id}"],
  whoami: ["GET", "/web-access"],
  remote_access_show: ["GET", "/remote-access"],
  remote_access_set: ["PUT", "/remote-access"],
  remote_access_check: ["POST", "/remote-access/check"],
  connect_status: ["GET", "/connect"],
  connect_rename: ["POST", "/connect/name"],
  account_show: ["GET", "/connect/account"],
  account_link: ["POST", "/connect/account", { action: "link" }],
  account_link_cancel: ["POST", "/connect/account", { action: "cancel" }],
  account_unlink: ["POST", "/connect/account", { action: "unlink" }],
  account_joined_seen: ["POST", "/connect/account", { action: "seen" }],
  connection_list: ["GET", "/connections"],
  connect_group_status: ["GET", "/connect/groups"],
  connect_group_select: ["POST", "/connect/groups"],
  connect_send: ["POST", "/groups/{group_id}/connect/send"],
  connect_catalog: ["GET", "/groups/{group_id}/connect/catalog", { ignores: ["group_id", "by"] }],
  connect_direct_status: ["GET", "/connect/direct"],
  connect_direct_configure: ["POST", "/connect/direct", { action: "configure" }],
  connect_direct_invite: ["POST", "/connect/direct", { action: "invite" }],
  connect_direct_join: ["POST", "/connect/direct", { action: "join" }],
  connect_direct_approve: ["POST", "/connect/direct", { action: "approve" }],
  connect_direct_revoke: ["POST", "/connect/direct", { action: "revoke" }],
  connect_direct_remove: ["POST", "/connect/direct", { action: "remove" }],
  notification_claim: ["POST", "/notifications/claim"],
  push_prepare: ["POST", "/push/key"],
  push_list: ["GET", "/push/subscriptions"],
  push_subscribe: ["POST", "/push/subscriptions"],
  push_unsubscribe: ["DELETE", "/push/subscriptions/{push_id}"],
  push_test: ["POST", "/push/subscriptions/{push_id}/test"],
  daemon_status: ["GET", "/daemon"],
  health: ["GET", "/health-checks"],
};

/** Operations that aren't here have no HTTP route. */
export const HTTP_ROUTES: ReadonlyMap<string, HttpRoute> = new Map(
  Object.entries(ROUTES).map(([name, [method, path, options]]) => [name, { method, path, ...options }]),
);
