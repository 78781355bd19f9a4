/**
 * The tools as data. The operations' contracts define what an agent may pass
 * (mcp-server/derive.ts). A row here says which operation a tool calls, how its arguments are
 * named, and what to tell the agent about them. Group and Actor are never arguments, because they
 * follow from the launch identity.
 */
import { LIMITS } from "../shared/limits.ts";
import { isForPersonAlone } from "../shared/message-parties.ts";
import type { OperationName } from "../shared/operations/registry.ts";

export interface Tool {
  name: string;
  title: string;
  description: string;
  /**
   * By the value of the argument `action`. A tool without it has one operation, and the help has
   * none.
   */
  operations: Readonly<Record<string, OperationName>>;
  /** The default `action`. */
  defaultAction?: string;
  /** Argument name to operation field, where they differ. */
  fields?: Readonly<Record<string, string>>;
  /** Fields of the operation that an agent doesn't set. */
  hidden?: readonly string[];
  /** Arguments that are required although the operations don't require them. */
  required?: readonly string[];
  /** Descriptions of single arguments. */
  arguments?: Readonly<Record<string, string>>;
  /** Values used if the agent gives none. */
  defaults?: Readonly<Record<string, unknown>>;
  /** Whether these arguments have their own defaults; null for those in `defaults`. */
  defaultsFor?: (given: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>> | null;
  /**
   * If one of these arguments is present, the call goes to another operation. The value is that
   * operation's field.
   */
  switches?: readonly { arguments: Readonly<Record<string, string>>; operation: OperationName }[];
  /**
   * What it can touch. `svc`: only messages, requests and svc's own data; an agent may use it
   * without asking its person each time. `project`: it reads or writes project files by itself.
   * `processes`: it starts and ends agents.
   */
  reach: "svc" | "project" | "processes";
}

const MESSAGE_FIELDS = { idempotency_key: "client_id" };
const MESSAGE_HIDDEN = ["attachments", "quote_text"];
const REFS = "To a slot: [{kind: 'presentation_ref', slot: 1}].";
const TO = "Actor ids, unique titles, @all, @peers, @foreman, or user. Optional; the default is the Group's.";
const KEY = "Optional. Sending again with the same key and content doesn't create a second message.";
const PATHS = "Files of your project to attach.";

const REMOTE_FIELDS = { dst_instance_id: "instance_id", dst_group_id: "target_group_id" };
const REMOTE_ARGUMENTS = {
  dst_instance_id:
    "Another instance (svc_connect). It is queued; svc_message_history shows its delivery status.",
  dst_group_id: "The Group of that instance.",
};

/** Mail goes only to agents. A message only to the person uses send. */
function sentToPerson({ to }: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> | null {
  return Array.isArray(to) && isForPersonAlone(to) ? { message_mode: "send" } : null;
}

/** In the order of tools/list. */
export const TOOLS: readonly Tool[] = [
  {
    name: "svc_help",
    title: "How to work with svc",
    description: "Show the rules of this Group's messages. Read them once before your first message.",
    operations: {},
    reach: "svc",
  },
  {
    name: "svc_bootstrap",
    title: "Show where I am",
    description:
      "Show your Group, yourself, the other Actors, unread Mail and requests that wait for your reply. Call it first.",
    operations: { "": "bootstrap" },
    reach: "svc",
  },
  {
    name: "svc_connect",
    title: "List other instances",
    description:
      "List the instances and Groups that you can write to. With instance_id and target_group_id, list that Group's Actors.",
    operations: { "": "connect_catalog" },
    hidden: ["by"],
    arguments: { after: "next from the previous page." },
    reach: "svc",
  },
  {
    name: "svc_message_send",
    title: "Send a message",
    description:
      "Send a message. mail (the default) waits in the Inbox. send (the default to user) is delivered now. request_reply also asks every recipient for a reply. Answer messages with svc_message_reply.",
    operations: { "": "send" },
    fields: MESSAGE_FIELDS,
    hidden: MESSAGE_HIDDEN,
    required: ["text"],
    arguments: {
      to: TO,
      idempotency_key: KEY,
      paths: PATHS,
      refs: REFS,
      insight: "What the reader should take away, in one sentence.",
      reply_to: "The message that this one follows, without answering a request.",
      local_group_id: "Another Group on this machine to send to.",
      ...REMOTE_ARGUMENTS,
    },
    defaults: { message_mode: "mail" },
    defaultsFor: sentToPerson,
    switches: [
      { arguments: { local_group_id: "dst_group_id" }, operation: "send_cross_group" },
      { arguments: REMOTE_FIELDS, operation: "connect_send" },
    ],
    reach: "svc",
  },
  {
    name: "svc_message_reply",
    title: "Reply to a message",
    description:
      "Answer a message by its event id. The reply goes to the sender and settles the reply that you owe.",
    operations: { "": "reply" },
    fields: MESSAGE_FIELDS,
    hidden: MESSAGE_HIDDEN,
    required: ["text"],
    arguments: {
      event_id: "The message you answer.",
      to: "Set this only to answer someone other than the sender.",
      idempotency_key: KEY,
      paths: PATHS,
      refs: REFS,
    },
    reach: "svc",
  },
  {
    name: "svc_message_deliver",
    title: "Deliver a message again",
    description: "Deliver a message that you sent once more, on purpose.",
    operations: { "": "message_deliver" },
    fields: { event_id: "source_event_id" },
    arguments: { force_ambiguous: "Deliver it even where an earlier attempt may have arrived." },
    reach: "svc",
  },
  {
    name: "svc_message_history",
    title: "My messages",
    description: "List the messages that you sent or received, oldest first.",
    operations: { "": "message_history" },
    hidden: ["actor_id"],
    arguments: {
      query: "Only messages that contain this text.",
      before_event_id: "For the previous page: continue_before from the last answer.",
    },
    reach: "svc",
  },
  {
    name: "svc_inbox_read",
    title: "Read the Inbox",
    description:
      "Take your Mail and the messages delivered to you. If there are none, wait up to wait_seconds (0-50) for one. Acknowledge what you took by passing its batch_id as ack in the next call. has_more: call again, there is more; a long message comes in parts.",
    operations: { "": "inbox_read" },
    hidden: ["actor_id"],
    arguments: { ack: "batch_id of the previous batch." },
    defaults: { wait_seconds: LIMITS.inbox.waitSecondsDefault },
    reach: "svc",
  },
  {
    name: "svc_reply_request_cancel",
    title: "Cancel a reply request",
    description: "Withdraw the replies that a message of yours asked for. Running work isn't stopped.",
    operations: { "": "reply_request_cancel" },
    fields: { idempotency_key: "client_id" },
    reach: "svc",
  },
  {
    name: "svc_file",
    title: "Fetch an attachment",
    description:
      "Fetch a file attached to a message: its details, its text if it is small, and on request a copy in your project.",
    operations: { "": "file_fetch" },
    arguments: {
      sha256: "Which file, if there are several.",
      save_to: "Path in your project for the copy.",
    },
    reach: "project",
  },
  {
    name: "svc_file_send",
    title: "Send files",
    description: "Send 1-16 files of your project in one message.",
    operations: { "": "send_files" },
    fields: MESSAGE_FIELDS,
    hidden: [...MESSAGE_HIDDEN, "refs"],
    arguments: { to: TO, idempotency_key: KEY, ...REMOTE_ARGUMENTS },
    defaults: { message_mode: "mail" },
    defaultsFor: sentToPerson,
    switches: [{ arguments: REMOTE_FIELDS, operation: "connect_send_files" }],
    reach: "project",
  },
  {
    name: "svc_presentation",
    title: "Show a result",
    description:
      "Show the person a result (report, table, picture, page, link) beside the conversation instead of a path in it. publish puts it in one of four slots and replaces what that slot showed. HTML must be one page with everything inside: it reaches no network.",
    operations: {
      publish: "presentation_publish",
      clear: "presentation_clear",
      list: "presentation_list",
    },
    defaultAction: "list",
    fields: { idempotency_key: "client_id" },
    hidden: ["sha256"],
    arguments: {
      slot: "One slot for one subject.",
      path: "File of your project.",
      text: "The content itself, instead of path.",
      url: "For kind url.",
    },
    reach: "svc",
  },
  {
    name: "svc_group",
    title: "Groups",
    description:
      "show: your Group with its projects, Actors and settings. list: the Groups that you can see.",
    operations: { show: "group_show", list: "group_list" },
    defaultAction: "show",
    reach: "svc",
  },
  {
    name: "svc_actor",
    title: "Actors",
    description:
      "List or show Actors with their state. The foreman may add, start and remove them. You can also stop and restart yourself. add returns the path of an owner-only token file for the new process.",
    operations: {
      list: "actor_list",
      show: "actor_show",
      add: "actor_add",
      start: "actor_start",
      stop: "actor_stop",
      restart: "actor_restart",
      remove: "actor_remove",
    },
    defaultAction: "list",
    hidden: ["runner"],
    reach: "processes",
  },
];

/** Every operation that a call of the tool can reach. */
export function operationsOf({ operations, switches = [] }: Tool): OperationName[] {
  return [...Object.values(operations), ...switches.map(({ operation }) => operation)];
}

/** The tools that an agent may use without asking its person. */
export const OWN_TOOLS: readonly string[] = TOOLS.filter(({ reach }) => reach === "svc").map(
  ({ name }) => name,
);
