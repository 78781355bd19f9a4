/** Names that other programs rely on (protocol.md, section 1; core-model.md, "Home"). */

export const ENVIRONMENT = {
  home: "SVC_HOME",
  group: "SVC_GROUP_ID",
  actor: "SVC_ACTOR_ID",
  launchToken: "SVC_LAUNCH_TOKEN",
  actorFile: "SVC_ACTOR_FILE",
  webHost: "SVC_WEB_HOST",
  webPort: "SVC_WEB_PORT",
  /** PEM files; the Web listener serves HTTPS with them. */
  tlsCert: "SVC_TLS_CERT",
  tlsKey: "SVC_TLS_KEY",
} as const;

export const DEFAULT_WEB_HOST = "127.0.0.1";
export const DEFAULT_WEB_PORT = 8848;

/** Headers of the local socket and the Web API, lowercase as Node delivers them. */
export const HEADERS = {
  /** Key from the owner-only key file; on every request over the local socket. */
  socketKey: "svc-socket-key",
  /** Launch token of an Actor; over the local socket only. */
  launchToken: "svc-launch-token",
  /** The Actor's session (one per MCP server process); its end hands unacknowledged batches out again. */
  session: "svc-session",
  /** Double-submit token of cookie sessions. */
  csrf: "svc-csrf-token",
  requestId: "svc-request-id",
} as const;

/** Session cookie for the effective port of the origin that the browser uses. */
export function accessCookieName(secure: boolean, port: number): string {
  return secure ? `__Host-svc_access_${port}` : `svc_access_${port}`;
}

export const SOCKET_OPERATION_PREFIX = "/op/";
export const API_PREFIX = "/api/v1";

/** First member of what is signed or authenticated by a key, so that no proof serves as another; each ends in its version (VER-002). */
export const SIGNING_DOMAINS = {
  /** The CSRF token of a cookie session, by the session's secret. */
  webCsrf: "svc.web.csrf.v1",
} as const;
