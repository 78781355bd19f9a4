/** Names that other programs rely on (docs/protocol.md#names; docs/core-model.md#home). */

export const ENVIRONMENT = {
  home: "SVC_HOME",
  group: "SVC_GROUP_ID",
  actor: "SVC_ACTOR_ID",
  /**
   * Path of the owner-only file with the Actor's launch token. A process gets its token only this
   * way.
   */
  actorFile: "SVC_ACTOR_FILE",
  /** The local socket at which the Actor reaches the daemon, without anything of the Home. */
  socket: "SVC_SOCKET",
  /** Names one launch, so that its leftovers can be found. It isn't a secret and grants nothing. */
  launchMark: "SVC_LAUNCH_ID",
  /**
   * Earlier versions put the token itself here, where an agent that prints its environment showed
   * it to its model. Now refused.
   */
  launchToken: "SVC_LAUNCH_TOKEN",
  /** The shell that the daemon asks for the person's environment; "none" for none. */
  loginShell: "SVC_LOGIN_SHELL",
  /** Names of variables that agents get from the daemon's environment as they are. */
  passEnvironment: "SVC_PASS_ENVIRONMENT",
  webHost: "SVC_WEB_HOST",
  webPort: "SVC_WEB_PORT",
  /** PEM files for serving HTTPS. */
  tlsCert: "SVC_TLS_CERT",
  tlsKey: "SVC_TLS_KEY",
  /** Folder of the account service. */
  accountFolder: "SVC_ACCOUNT_FOLDER",
  /** PostgreSQL address of the account service. It may contain a password. */
  accountDatabase: "SVC_ACCOUNT_DATABASE",
  /** Another issuer through which members sign in (OpenID Connect). */
  accountIssuer: "SVC_ACCOUNT_ISSUER",
  accountIssuerClient: "SVC_ACCOUNT_ISSUER_CLIENT",
  accountIssuerSecret: "SVC_ACCOUNT_ISSUER_SECRET",
  accountIssuerOpen: "SVC_ACCOUNT_ISSUER_OPEN",
  /** The account service, and how many seconds the daemon waits for it. */
  accountOrigin: "SVC_ACCOUNT_ORIGIN",
  accountTimeout: "SVC_ACCOUNT_TIMEOUT_S",
} as const;

export const DEFAULT_WEB_HOST = "127.0.0.1";
export const DEFAULT_WEB_PORT = 8848;

/** The account service's listener and, as browsers and daemons name it, its origin. */
export const DEFAULT_ACCOUNT_HOST = "127.0.0.1";
export const DEFAULT_ACCOUNT_PORT = 8850;

/** Version of the account API, as the header says it (VER-001). */
export const MEMBERSHIP_VERSION = "1";
/** The first product version that may register and be listed (VER-004). */
export const FIRST_CONNECT_VERSION = "0.4.40";

/** Headers of the local socket and the Web API, lowercase as Node delivers them. */
export const HEADERS = {
  /** The key from the owner-only key file. The user's requests over the local socket carry it. */
  socketKey: "svc-socket-key",
  /** Launch token of an Actor. Only over the local socket. */
  launchToken: "svc-launch-token",
  /**
   * The Actor's session (one per MCP server process). When it ends, unacknowledged batches are
   * delivered again.
   */
  session: "svc-session",
  /** Double-submit token of cookie sessions. */
  csrf: "svc-csrf-token",
  requestId: "svc-request-id",
  /** A ConnectPeerAuthorization as base64url JSON, on a request of another instance. */
  connectProof: "svc-connect-proof",
  /** Version of the account API that a daemon speaks. */
  membershipVersion: "svc-membership-version",
  /** Product version of a daemon, on its requests to the account service. */
  clientVersion: "svc-client-version",
} as const;

/** Session cookie for the effective port of the origin that the browser uses. */
export function accessCookieName(secure: boolean, port: number): string {
  return secure ? `__Host-svc_access_${port}` : `svc_access_${port}`;
}

/** Session cookie of the account service's pages. Other ports of the host get another name. */
export function accountCookieName(secure: boolean, port: number): string {
  return secure ? `__Host-svc_account_${port}` : `svc_account_${port}`;
}

/** In an address: the frame in which a page shows the Workbench of another instance. */
export const FRAME_FIELD = "connect_frame";

export const SOCKET_OPERATION_PREFIX = "/op/";
export const API_PREFIX = "/api/v1";
/** Where an instance shows its Workbench in a frame of another one's. */
export const FRAME_PATH = "/ui/connect/";
/** What the daemon writes into a framed page's head, so that the page knows who may speak to it. */
export const FRAME_META = "svc-frame";

/**
 * First member of anything that a key signs or authenticates, so that no proof can serve as
 * another. Each ends in its version (VER-002).
 */
export const SIGNING_DOMAINS = {
  /** The CSRF token of a cookie session, by the session's secret. */
  webCsrf: "svc.web.csrf.v1",
  /** The same of a session with the account service, its user codes, and its passkey challenges. */
  accountCsrf: "svc.account.csrf.v1",
  accountUserCode: "svc.account.code.v1",
  accountChallenge: "svc.account.challenge.v1",
  accountIssuer: "svc.account.issuer.v1",
  registration: "svc.connect.register.v1",
  identity: "svc.connect.identity.v1",
  frame: "svc.connect.frame.v1",
  /** A peer request of the same account, over an external connection, over a Direct one. */
  accountRequest: "svc.connect.peer.request.v1",
  externalRequest: "svc.connect.peer.group.request.v1",
  directRequest: "svc.connect.peer.direct.request.v1",
  peerResponse: "svc.connect.peer.response.v1",
  ticket: "svc.connect.group.ticket.v1",
  groupCheck: "svc.connect.group.check.v1",
  directFingerprint: "svc.direct.fingerprint.v1",
} as const;

/** Marks a received message as coming from another instance. */
export const CONNECT_PLATFORM = "svc_connect";

export const DIRECT = {
  defaultPort: 8847,
  alpn: "svc-direct/1",
  serverName: "direct.invalid",
  invitationPrefix: "svc-direct:",
} as const;

/**
 * How the reason begins for an Actor that others start and that has no session. It is neither
 * broken nor stopped.
 */
export const NOT_CONNECTED = "not connected";
/** The reason of an Actor whose process runs and has no hooks. */
export const RUNS_UNTOLD = "running; its command doesn't report what it does";
/** Begins the reason in statuses of a message that waits and was handed over before. */
export const COMES_AGAIN = "comes again";
/** `reason` of a `runtime.delivery` with the state `failed`: its sender took it back before. */
export const WITHDRAWN = "withdrawn";
/** Why a message waits for an Actor that reads its Inbox by itself, or not at all. */
export const WAITS_IN_INBOX = "it waits in the Inbox, because nothing is typed into this program";
