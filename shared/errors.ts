/**
 * The error catalogue (docs/architecture.md#rules). Every refusal of an operation has one of these
 * codes. The status is for HTTP, the sentence and the remedy are for people. `docs/errors.md` lists
 * the same codes; a test compares them.
 */
interface CatalogueEntry {
  status: 400 | 401 | 403 | 404 | 405 | 406 | 408 | 409 | 411 | 413 | 415 | 421 | 426 | 429 | 500 | 503 | 507;
  /** What is wrong. */
  sentence: string;
  /** What to do about it. */
  remedy: string;
}

const entries = {
  invalid_request: {
    status: 400,
    sentence: "The request is malformed.",
    remedy: "Check the request against docs/http.md.",
  },
  invalid_args: {
    status: 400,
    sentence: "The arguments don't fit the operation.",
    remedy: "Check the field named in details.",
  },
  connect_instance_required: {
    status: 400,
    sentence: "A Group of another instance was given without its instance.",
    remedy: "Give the instance too. 'svc connect' lists both.",
  },
  connect_target_group_required: {
    status: 400,
    sentence: "The instance was given without one of its Groups.",
    remedy: "Choose one of the Groups in details.external_groups, or one that 'svc connect' lists.",
  },
  invalid_message_mode: {
    status: 400,
    sentence: "The message mode isn't one of send, request_reply and mail, or isn't allowed here.",
    remedy: "Use send or mail for a reply, and any of the three elsewhere.",
  },
  mixed_recipient_kinds: {
    status: 400,
    sentence: "A message goes to the user or to agents, never to both.",
    remedy: "Send two messages.",
  },
  mail_requires_actor_recipient: {
    status: 400,
    sentence: "Mail goes to agents only.",
    remedy: "Name an Actor, or use the mode send.",
  },
  concrete_recipients_required: {
    status: 400,
    sentence: "This mode needs recipients that exist.",
    remedy: "Name at least one Actor, or add one to the Group first.",
  },
  invalid_recipient: {
    status: 400,
    sentence: "A recipient is unknown or ambiguous.",
    remedy: "Use an Actor id from the Group, @all, @peers, @foreman or user.",
  },
  no_enabled_recipients: {
    status: 400,
    sentence: "None of the recipients is enabled.",
    remedy: "Enable one of the Actors, or use the mode mail.",
  },
  invalid_insight: {
    status: 400,
    sentence: "The insight is empty or too long.",
    remedy: "Leave it out or shorten it.",
  },
  invalid_attachments: {
    status: 400,
    sentence: "An attachment is missing or too large, or there are too many.",
    remedy: "Attach smaller or fewer files.",
  },
  invalid_content: {
    status: 400,
    sentence: "The content isn't of the kind that was given.",
    remedy: "Give the kind that fits the file, or another file.",
  },
  invalid_path: {
    status: 400,
    sentence: "The path isn't inside the Actor's project directory.",
    remedy: "Use a file inside the attached scope. Links that lead out of it are refused.",
  },
  invalid_project_root: {
    status: 400,
    sentence:
      "The path isn't an existing directory, or it is inside the Home, whose files can't belong to a project.",
    remedy: "Give an existing project directory.",
  },
  invalid_import: {
    status: 400,
    sentence: "The file isn't a Group export that this version can read.",
    remedy: "Export the Group again with this version.",
  },
  scope_not_attached: {
    status: 400,
    sentence: "The scope isn't attached to this Group.",
    remedy: "Attach the project directory first with 'svc attach PATH'.",
  },
  confirmation_required: {
    status: 400,
    sentence: "This destroys data and needs confirmation.",
    remedy: "Pass confirm with the Group id.",
  },
  direct_invitation_invalid: {
    status: 400,
    sentence: "This isn't a Direct invitation that this version understands.",
    remedy: "Copy the whole text, from svc-direct: to the end, or ask for a new invitation.",
  },
  invalid_listener: {
    status: 400,
    sentence: "The listener's address isn't valid.",
    remedy:
      "Bind to an IP:PORT of this machine, and advertise the HOST:PORT where the other side can reach it.",
  },
  unauthenticated: {
    status: 401,
    sentence: "The credential is missing or no longer valid.",
    remedy: "Sign in with a link from 'svc open', or use a current token.",
  },
  invalid_launch_token: {
    status: 401,
    sentence: "The Actor's launch token isn't valid.",
    remedy: "Renew it with 'svc actor restart ACTOR' and start the process again.",
  },
  login_link_invalid: {
    status: 401,
    sentence: "The login link has been used, has expired or never existed.",
    remedy: "Create a new one with 'svc open'.",
  },
  permission_denied: {
    status: 403,
    sentence: "The caller may not do this.",
    remedy: "Ask the user, or use a credential that may.",
  },
  connect_peer_denied: {
    status: 403,
    sentence: "The request doesn't belong to an active connection.",
    remedy: "Check on both sides that the connection is approved and the clocks are right.",
  },
  connect_clock_differs: {
    status: 403,
    sentence: "The clocks of the two instances are too far apart.",
    remedy:
      "Set both clocks right, then send it again. details shows the time on the machine that refused it.",
  },
  connect_frame_invalid: {
    status: 403,
    sentence: "The page around it may not show this Workbench, or no longer.",
    remedy: "Open it again from the Workbench of the other instance.",
  },
  connect_frame_expired: {
    status: 403,
    sentence: "The page around it may no longer show this Workbench.",
    remedy: "Open it again from the Workbench of the other instance.",
  },
  connect_group_denied: {
    status: 403,
    sentence: "The selected Group is gone or has been replaced.",
    remedy: "Select a Group again, or ask for a fresh invitation if the other side's Group changed.",
  },
  connect_not_granted: {
    status: 403,
    sentence: "There is no active connection to that Group.",
    remedy: "List the Groups that this one may write to with 'svc connect'.",
  },
  device_disabled: {
    status: 403,
    sentence: "The device was removed from its account.",
    remedy: "Link this instance again.",
  },
  csrf_denied: {
    status: 403,
    sentence: "The request lacks the session's CSRF token.",
    remedy: "Reload the page and try again.",
  },
  origin_denied: {
    status: 403,
    sentence: "The request comes from another origin.",
    remedy: "Open the Workbench at its own address.",
  },
  connect_instance_unknown: {
    status: 404,
    sentence: "The account has no such instance.",
    remedy: "List the account's instances with 'svc connect'.",
  },
  not_found: {
    status: 404,
    sentence: "There is nothing at this address.",
    remedy: "Check the path against docs/http.md.",
  },
  unknown_operation: {
    status: 404,
    sentence: "There is no such operation.",
    remedy: "Check the name, or update the older side.",
  },
  group_not_found: {
    status: 404,
    sentence: "There is no such Group.",
    remedy: "List the Groups with 'svc group list'.",
  },
  actor_not_found: {
    status: 404,
    sentence: "There is no such Actor in this Group.",
    remedy: "List the Actors with 'svc actor list'.",
  },
  event_not_found: {
    status: 404,
    sentence: "There is no such event in this Group.",
    remedy: "Look it up with 'svc tail' or 'svc search'.",
  },
  blob_not_found: {
    status: 404,
    sentence: "The Group's folder has no file with this SHA-256.",
    remedy:
      "If a message names the file, attach the same one again, which repairs it, or restore it from a backup.",
  },
  file_damaged: {
    status: 500,
    sentence: "The attached file is damaged: its bytes aren't those that were attached.",
    remedy: "Attach the same file again, which repairs it, or restore it from a backup.",
  },
  presentation_not_found: {
    status: 404,
    sentence: "The slot shows no file, or has no such version.",
    remedy: "List what is shown with 'svc presentation list'.",
  },
  token_not_found: {
    status: 404,
    sentence: "There is no such access token.",
    remedy: "List the tokens with 'svc token list'.",
  },
  push_not_found: {
    status: 404,
    sentence: "There is no such push subscription.",
    remedy: "List them again: the browser may have ended it, or its session was signed out.",
  },
  direct_not_found: {
    status: 404,
    sentence: "This Group has no such Direct connection.",
    remedy: "List them with 'svc direct status'.",
  },
  method_not_allowed: {
    status: 405,
    sentence: "This address doesn't support that method.",
    remedy: "Use one of the methods named in the Allow header.",
  },
  not_acceptable: {
    status: 406,
    sentence: "This address can't answer with an accepted content type.",
    remedy: "Accept the type named in details.",
  },
  request_timeout: {
    status: 408,
    sentence: "The request took too long to arrive.",
    remedy: "Send it again on a faster connection.",
  },
  idempotency_conflict: {
    status: 409,
    sentence: "This key was already used for a message with different content.",
    remedy: "Use a new idempotency key for a new message.",
  },
  connect_replayed: {
    status: 409,
    sentence: "This request was received before.",
    remedy: "Send a new request with its own id.",
  },
  outbox_full: {
    status: 409,
    sentence: "Too much is already queued for other instances.",
    remedy: "Wait until some of it has been delivered.",
  },
  connect_route_missing: {
    status: 409,
    sentence: "The instance has no origin set, so nothing can reach it.",
    remedy: "Set one there with 'svc origin set https://HOST'.",
  },
  connect_host_overlap: {
    status: 409,
    sentence:
      "Another instance has the same hostname, and browsers don't keep sign-ins of different ports apart.",
    remedy: "Give each instance a hostname of its own: set it there with 'svc origin set https://HOST'.",
  },
  connect_receipt_required: {
    status: 409,
    sentence: "The message hasn't arrived on the other instance, so nothing can follow it there.",
    remedy: "Wait until it is sent, or send a new message.",
  },
  connect_reply_expired: {
    status: 409,
    sentence: "The time to reply to that message has expired.",
    remedy: "Send a new message.",
  },
  already_exists: {
    status: 409,
    sentence: "It already exists.",
    remedy: "Choose another name, or change the one that exists.",
  },
  runtime_not_installed: {
    status: 409,
    sentence: "The runtime's program isn't on this machine.",
    remedy: "Install it, or give the Actor another command.",
  },
  not_running: {
    status: 409,
    sentence: "The Actor's process isn't running.",
    remedy: "Start the Actor first.",
  },
  question_closed: {
    status: 409,
    sentence: "The question isn't open any more.",
    remedy: "Look at the Actor's terminal, and list the open questions with 'svc actor answer ACTOR'.",
  },
  runner_mismatch: {
    status: 409,
    sentence: "This works only for Actors whose process the daemon runs.",
    remedy: "Interrupt it where it runs, or add an Actor with a runtime other than 'external'.",
  },
  conflict: {
    status: 409,
    sentence: "Someone else has changed it in the meantime.",
    remedy: "Reload and try again.",
  },
  instance_conflict: {
    status: 409,
    sentence: "The instance or the device already has another active binding.",
    remedy: "Retire the other device on the account's page, then try again.",
  },
  direct_invitation_expired: {
    status: 409,
    sentence: "The invitation has expired.",
    remedy: "Ask for a new invitation.",
  },
  direct_invitation_used: {
    status: 409,
    sentence: "The invitation belongs to a connection that was removed, or to another Group.",
    remedy: "Ask for a new invitation.",
  },
  direct_listener_off: {
    status: 409,
    sentence: "This instance doesn't listen for connections, so no one could accept the invitation.",
    remedy: "Turn listening on first with 'svc direct listen --bind IP:PORT --address HOST:PORT'.",
  },
  direct_state: {
    status: 409,
    sentence: "The connection's state doesn't allow this.",
    remedy: "Check 'svc direct status'.",
  },
  imported_history: {
    status: 409,
    sentence: "That message was imported. It is history, and nothing can follow from it here.",
    remedy: "Send a new message instead.",
  },
  already_replied: {
    status: 409,
    sentence: "The request has already been answered.",
    remedy: "Send an ordinary message instead.",
  },
  not_pending: {
    status: 409,
    sentence: "There is nothing left to cancel or deliver.",
    remedy: "Check the message's current state.",
  },
  delivery_ambiguous: {
    status: 409,
    sentence: "An earlier attempt may have arrived.",
    remedy:
      "Ask the recipient, or deliver again on purpose with force_ambiguous ('svc deliver EVENT --force-ambiguous').",
  },
  group_busy: {
    status: 409,
    sentence: "The Group is being deleted, reset or imported.",
    remedy: "Wait until that has finished.",
  },
  limit_reached: {
    status: 409,
    sentence: "A limit has been reached.",
    remedy: "Remove something first.",
  },
  length_required: {
    status: 411,
    sentence: "The upload doesn't state its length.",
    remedy: "Send a Content-Length header.",
  },
  too_large: {
    status: 413,
    sentence: "The body is larger than this address allows.",
    remedy: "Send less.",
  },
  unsupported_media_type: {
    status: 415,
    sentence: "This address doesn't accept the body's content type.",
    remedy: "Send JSON as application/json.",
  },
  wrong_host: {
    status: 421,
    sentence: "The request names a host that isn't this instance.",
    remedy: "Use the address that 'svc daemon status' shows.",
  },
  unsupported_version: {
    status: 426,
    sentence: "The other side's version isn't supported.",
    remedy: "Update the older side.",
  },
  rate_limited: {
    status: 429,
    sentence: "Too many requests.",
    remedy: "Wait for as long as Retry-After says.",
  },
  internal_error: {
    status: 500,
    sentence: "Something went wrong in the daemon.",
    remedy: "Look for the request id in the daemon's log.",
  },
  ledger_corrupt: {
    status: 500,
    sentence: "The Group's ledger can't be opened until a person decides how to repair it.",
    remedy: "Run 'svc doctor' and follow its advice. Nothing was changed.",
  },
  ledger_damaged: {
    status: 503,
    sentence: "Part of the Group's history is missing or damaged, so nothing new is recorded in it.",
    remedy:
      "Run 'svc doctor': it says what is missing. A person puts the files back and runs 'svc ledger reopen', or goes on without them with 'svc ledger continue'.",
  },
  event_unreadable: {
    status: 500,
    sentence: "The event can't be read: its bytes on disk are damaged.",
    remedy: "Run 'svc doctor' and follow its advice. Other events can be read.",
  },
  storage_failed: {
    status: 503,
    sentence: "Writing to disk failed. Nothing was recorded.",
    remedy: "Free or repair the disk, then send it again.",
  },
  too_many_open_files: {
    status: 503,
    sentence: "The daemon has as many files and connections open as the system lets it.",
    remedy:
      "Raise its limit (ulimit -n, or LimitNOFILE of the service) and start it again, or close connections and Groups.",
  },
  runtime_activity_unavailable: {
    status: 503,
    sentence: "An Actor's runtime activity can't be read because its file is damaged.",
    remedy: "Remove the file from the Group's runtime-activity folder. Only the recent activity is lost.",
  },
  group_unavailable: {
    status: 503,
    sentence: "The Group can't be opened.",
    remedy: "Run 'svc doctor' and follow its advice.",
  },
  program_gone: {
    status: 503,
    sentence: "The program that the daemon runs isn't there any more.",
    remedy:
      "It was updated or removed. Run 'svc daemon stop' and 'svc daemon start' with the svc that is installed.",
  },
  shutting_down: { status: 503, sentence: "The daemon is shutting down.", remedy: "Try again in a moment." },
  connect_unreachable: {
    status: 503,
    sentence: "The other instance can't be reached at its origin.",
    remedy: "Start it there, and check its origin there with 'svc origin check'.",
  },
  connect_group_unavailable: {
    status: 503,
    sentence: "The selected Group can't be confirmed right now.",
    remedy: "Try the same selection again in a moment.",
  },
  connect_unavailable: {
    status: 503,
    sentence: "The connection to that Group can't be confirmed right now.",
    remedy: "Try again when it is confirmed. 'svc connect' shows its state.",
  },
  account_unavailable: {
    status: 503,
    sentence: "The account service can't be asked right now.",
    remedy: "Try again in a moment.",
  },
  connect_catalog_unavailable: {
    status: 503,
    sentence: "The other Group's Actors aren't known yet.",
    remedy: "Try again after the other instance has been reached once.",
  },
  overloaded: { status: 503, sentence: "Too much is already waiting.", remedy: "Try again in a moment." },
  storage_full: {
    status: 507,
    sentence: "The disk is full. Nothing was recorded.",
    remedy: "Free space, then send it again.",
  },
} as const satisfies Record<string, CatalogueEntry>;

export type ErrorCode = keyof typeof entries;
export const ERRORS: Readonly<Record<ErrorCode, CatalogueEntry>> = entries;

/** The failing half of every envelope (docs/protocol.md#envelopes-and-errors). */
export interface ErrorBody {
  code: ErrorCode;
  message: string;
  details: Record<string, unknown>;
}

/**
 * What is wrong with one field of the arguments, as a sentence. The problem is a verb phrase
 * ("isn't an Actor id").
 */
export function fieldSentence(field: string, problem: string): string {
  return `${field === "" ? "The input" : `'${field}'`} ${problem}.`;
}

/** A refusal that a caller sees. It contains no secret. */
export class Refusal extends Error {
  readonly code: ErrorCode;
  readonly details: Record<string, unknown>;

  /**
   * `specifics` and `remedy` replace the catalogue's texts if they are more helpful to this caller.
   * Both parts are always shown.
   */
  constructor(
    code: ErrorCode,
    options: { specifics?: string; remedy?: string; details?: Record<string, unknown>; cause?: unknown } = {},
  ) {
    super(
      `${options.specifics ?? entries[code].sentence} ${options.remedy ?? entries[code].remedy}`,
      options.cause === undefined ? undefined : { cause: options.cause },
    );
    this.name = "Refusal";
    this.code = code;
    this.details = options.details ?? {};
  }

  get status(): number {
    return entries[this.code].status;
  }

  body(): ErrorBody {
    return { code: this.code, message: this.message, details: this.details };
  }
}
