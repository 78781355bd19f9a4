/**
 * The HTTP routes of the operations that the interface calls. Written down here because the contracts carry their schemas, which have no
 * place in the browser's first load; a test holds this table against them.
 */
import { API_PREFIX } from "../../../shared/names.ts";
import type { OperationName } from "../../../shared/operations/registry.ts";

const ROUTES = {
  group_list: ["GET", "/groups"],
  group_show: ["GET", "/groups/{group_id}"],
  group_create: ["POST", "/groups"],
  group_update: ["PATCH", "/groups/{group_id}"],
  group_set_state: ["POST", "/groups/{group_id}/state"],
  attach: ["POST", "/groups/{group_id}/attach"],
  group_reset: ["POST", "/groups/{group_id}/reset"],
  group_delete: ["DELETE", "/groups/{group_id}"],
  actor_list: ["GET", "/groups/{group_id}/actors"],
  actor_add: ["POST", "/groups/{group_id}/actors"],
  actor_update: ["PATCH", "/groups/{group_id}/actors/{actor_id}"],
  actor_remove: ["DELETE", "/groups/{group_id}/actors/{actor_id}"],
  actor_start: ["POST", "/groups/{group_id}/actors/{actor_id}/start"],
  actor_stop: ["POST", "/groups/{group_id}/actors/{actor_id}/stop"],
  actor_restart: ["POST", "/groups/{group_id}/actors/{actor_id}/restart"],
  actor_interrupt: ["POST", "/groups/{group_id}/actors/{actor_id}/interrupt"],
  runtime_list: ["GET", "/runtimes"],
  runtime_activity_snapshot: ["GET", "/groups/{group_id}/runtime-activity/snapshot"],
  actor_mcp_config: ["GET", "/groups/{group_id}/actors/{actor_id}/mcp-config"],
  send: ["POST", "/groups/{group_id}/send"],
  reply: ["POST", "/groups/{group_id}/reply"],
  send_cross_group: ["POST", "/groups/{group_id}/send_cross_group"],
  message_deliver: ["POST", "/groups/{group_id}/messages/{source_event_id}/deliver"],
  reply_request_cancel: ["POST", "/groups/{group_id}/messages/{event_id}/reply-request/cancel"],
  message_upload_preflight: ["POST", "/groups/{group_id}/uploads/preflight"],
  actor_secrets: ["PUT", "/groups/{group_id}/actors/{actor_id}/secrets"],
  feed_read: ["POST", "/groups/{group_id}/read"],
  draft_get: ["GET", "/groups/{group_id}/draft"],
  draft_put: ["PUT", "/groups/{group_id}/draft"],
  ledger_tail: ["GET", "/groups/{group_id}/ledger/tail"],
  ledger_window: ["GET", "/groups/{group_id}/ledger/window"],
  ledger_search: ["GET", "/groups/{group_id}/ledger/search"],
  ledger_statuses: ["POST", "/groups/{group_id}/ledger/statuses"],
  access_token_create: ["POST", "/access-tokens"],
  access_token_list: ["GET", "/access-tokens"],
  access_token_revoke: ["DELETE", "/access-tokens/{token_id}"],
  connect_catalog: ["GET", "/groups/{group_id}/connect/catalog"],
  connect_send: ["POST", "/groups/{group_id}/connect/send"],
  connect_direct_status: ["GET", "/connect/direct"],
  daemon_status: ["GET", "/daemon"],
  health: ["GET", "/health-checks"],
} as const satisfies Partial<Record<OperationName, readonly [string, string]>>;

/** Operations that share one address, by the `action` that it goes by (daemon/http/api/direct-route.ts). */
const ACTIONS = {
  connect_direct_configure: "configure",
  connect_direct_invite: "invite",
  connect_direct_join: "join",
  connect_direct_approve: "approve",
  connect_direct_revoke: "revoke",
  connect_direct_remove: "remove",
} as const satisfies Partial<Record<OperationName, string>>;
const ACTION_OF: ReadonlyMap<string, string> = new Map(Object.entries(ACTIONS));

export const HTTP_ROUTES: ReadonlyMap<string, readonly [method: string, path: string]> = new Map(
  Object.entries(ROUTES),
);

export interface Prepared {
  method: string;
  url: string;
  /** JSON; absent where the method has no body. */
  body?: string;
}

/** An operation's input as a request: fields named in the path go there, the rest into the query or the body. */
export function prepare(name: string, input: Readonly<Record<string, unknown>>): Prepared {
  const action = ACTION_OF.get(name);
  if (action !== undefined) {
    const body = JSON.stringify({ action, ...input });
    return { method: "POST", url: `${API_PREFIX}/connect/direct`, body };
  }
  const route = HTTP_ROUTES.get(name);
  if (route === undefined) throw new Error(`${name} has no HTTP route here`);
  const [method, template] = route;
  const rest = new Map(Object.entries(input).filter(([, value]) => value !== undefined));
  const path = template.replaceAll(/\{(\w+)\}/g, (_, field: string) => {
    const value = rest.get(field);
    rest.delete(field);
    return encodeURIComponent(String(value));
  });
  const url = API_PREFIX + path;
  if (method !== "GET" && method !== "DELETE")
    return { method, url, body: JSON.stringify(Object.fromEntries(rest)) };
  const query = new URLSearchParams();
  for (const [field, value] of rest) {
    for (const entry of Array.isArray(value) ? value : [value]) query.append(field, String(entry));
  }
  return { method, url: query.size === 0 ? url : `${url}?${query}` };
}
