/** Turns a validated message into its ledger event, and an event into the key it is found by. */
import { hash } from "node:crypto";
import { defined } from "../../../shared/defined.ts";
import type { ChatMessage, LedgerEvent, MessageEvent } from "../../../shared/events.ts";
import { isForPersonAlone } from "../../../shared/message-parties.ts";
import type { Attachment, MessageMode } from "../../../shared/model.ts";
import { CONNECT_PLATFORM } from "../../../shared/names.ts";
import type { Caller } from "../../../shared/operations/caller.ts";
import type { ConnectMessage } from "../../../shared/wire/v1/message.ts";
import type { Audience } from "../../groups/recipients.ts";

/** The author, as the credential says. */
export interface Author {
  by: string;
  /** Generation of an Actor; absent for the person. */
  generation?: string;
  title: string;
}

/** What a caller sends, whichever operation carries it. */
export interface Said {
  text: string;
  format: "plain" | "markdown";
  insight?: string | undefined;
  quote_text?: string | undefined;
  attachments: readonly { sha256: string; name: string; mime_type: string }[];
  paths: readonly string[];
  refs: Record<string, unknown>[];
  client_id?: string | undefined;
}

/** A message whose every part was checked. */
export interface Message {
  mode: MessageMode;
  audience: Audience;
  author: Author;
  said: Said;
  attachments: Attachment[];
  reply_to?: string | undefined;
  /** Digest of the caller's input, if it gave a key. */
  digest?: string | undefined;
  /** Of a record in the source Group: where the message goes. */
  destination?:
    | { group_id: string; group_title: string; audience: Audience; reply_to: string | undefined }
    | undefined;
  /** Of a message from another local Group. */
  source?: { group_id: string; event_id: string; group_title: string } | undefined;
  /** Of a message to another instance. */
  outgoing?: Outgoing | undefined;
  /** Of a message from another instance. */
  incoming?: Incoming | undefined;
}

/** Where a Connect message goes (docs/protocol.md#ledger-events). */
export interface Outgoing {
  delivery_id: string;
  instance_id: string;
  /** Snapshot from the directory or relation. */
  instance_name: string | null;
  group_id: string;
  group_title: string;
  audience: Audience;
  /** By recipient, of those that have one. */
  actor_titles: Record<string, string>;
  /** ConnectMessage as it goes out, and its digest. */
  connect_message: ConnectMessage;
  connect_message_sha256: string;
}

/**
 * Where a Connect message came from. `author` of the message has the remote Actor's generation and
 * title.
 */
export interface Incoming {
  delivery_id: string;
  instance_id: string;
  instance_name: string | null;
  /** The local instance's name as the directory had it. */
  dst_instance_name: string | null;
  group_id: string;
  group_title: string;
  event_id: string;
  /** The remote Actor's id, or `user`. */
  user_id: string;
  user_name: string;
  connect_message: ConnectMessage;
  connect_message_sha256: string;
}

/**
 * `chat.message` data in the order of shared/events.ts: what projections need comes before `text`.
 */
export function messageData(message: Message): ChatMessage {
  const { said, author, audience, digest, source, destination, outgoing, incoming } = message;
  const isLocal = (destination ?? source ?? outgoing ?? incoming) === undefined;
  return {
    message_mode: message.mode,
    to: audience.to,
    to_generations: audience.to_generations,
    ...defined({
      reply_to: message.reply_to,
      client_id: digest === undefined ? undefined : said.client_id,
      sender_generation: author.generation,
    }),
    sender_title: author.title,
    ...(isLocal ? {} : ends(message)),
    text: said.text,
    format: said.format,
    ...defined({ insight: said.insight, quote_text: said.quote_text }),
    attachments: message.attachments,
    refs: said.refs,
    ...(digest === undefined ? {} : { client_sha256: digest }),
    ...(isLocal ? {} : names(message)),
  };
}

/** Between which Groups it goes. */
function ends({ destination, outgoing, incoming }: Message): Partial<ChatMessage> {
  const target = outgoing ?? destination;
  return defined({
    delivery_id: (outgoing ?? incoming)?.delivery_id,
    dst_instance_id: outgoing?.instance_id,
    dst_group_id: target?.group_id,
    dst_to: target?.audience.to,
    dst_to_generations: target?.audience.to_generations,
    dst_reply_to: destination?.reply_to,
    src_instance_id: incoming?.instance_id,
    source_user_id: incoming?.user_id,
  });
}

/** What both sides are called, and the message as it crossed. */
function names({ destination, source, outgoing, incoming }: Message): Partial<ChatMessage> {
  const sender = source ?? incoming;
  const crossed = outgoing ?? incoming;
  return defined({
    dst_group_title: (outgoing ?? destination)?.group_title,
    src_group_id: sender?.group_id,
    src_event_id: sender?.event_id,
    src_group_title: sender?.group_title,
    src_instance_name: incoming?.instance_name ?? undefined,
    dst_instance_name: outgoing?.instance_name ?? incoming?.dst_instance_name ?? undefined,
    dst_actor_titles: outgoing?.actor_titles,
    source_platform: incoming === undefined ? undefined : CONNECT_PLATFORM,
    source_user_name: incoming?.user_name,
    connect_message_sha256: crossed?.connect_message_sha256,
    connect_message: crossed?.connect_message,
  });
}

/** Whether it is a message of this author, in the same generation. */
export function isBy(event: LedgerEvent, { by, generation }: Pick<Author, "by" | "generation">): boolean {
  return event.kind === "chat.message" && event.by === by && event.data.sender_generation === generation;
}

/** Whether a message went to or came from another instance. */
export function isRemote({ data }: MessageEvent): boolean {
  return (data.dst_instance_id ?? data.src_instance_id) !== undefined;
}

/**
 * The default is send for people and the command line, and Mail for agents. But Mail goes only to
 * agents, so a message to the person uses send.
 */
export function defaultMode(caller: Caller, to: readonly string[]): MessageMode {
  if (caller.kind !== "actor") return "send";
  return isForPersonAlone(to) ? "send" : "mail";
}

/**
 * Digest of the caller's input: mode, recipients as written, reference and body. It doesn't include
 * what they resolved to, so that a retry finds its first event even if Actors have changed or a
 * file is gone.
 */
export function contentDigest(
  said: Said,
  address: { mode: MessageMode; to: readonly string[]; reply_to?: string | undefined; dst_group_id?: string },
): string {
  const content = [
    address.mode,
    address.to,
    address.reply_to ?? null,
    address.dst_group_id ?? null,
    said.text,
    said.format,
    said.insight ?? null,
    said.quote_text ?? null,
    said.attachments.map(({ sha256, name, mime_type: mimeType }) => [sha256, name, mimeType]),
    said.paths,
    said.refs.map(ordered),
  ];
  return hash("sha256", JSON.stringify(content));
}

/** The same JSON value with members in one order. */
function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return members.map(([name, member]) => [name, ordered(member)]);
}
