/**
 * A message on its way out: checked, put into the outbox, recorded in the source Group
 * (docs/protocol.md#acceptance).
 */

import type { Clock } from "../../../platform/clock.ts";
import { errorFields, type Log } from "../../../platform/log.ts";
import type { ProjectFiles } from "../../../platform/project-files.ts";
import type { Random } from "../../../platform/random.ts";
import { Refusal } from "../../../shared/errors.ts";
import type { ChatMessage, MessageEvent } from "../../../shared/events.ts";
import { LIMITS } from "../../../shared/limits.ts";
import type { Attachment, MessageMode } from "../../../shared/model.ts";
import type { Caller } from "../../../shared/operations/caller.ts";
import { sizeWords } from "../../../shared/size-words.ts";
import { type ConnectActor, ConnectMessage } from "../../../shared/wire/v1/message.ts";
import { type GroupChat, wakeGroup } from "../../messaging/group-chat.ts";
import { withAttachments } from "../../messaging/messages/attachments.ts";
import { type Author, messageData, type Said } from "../../messaging/messages/message-event.ts";
import type { Grant } from "../authority.ts";
import type { Outbox } from "../outbox/outbox.ts";
import type { OutboxEntry } from "../outbox/outbox-entry.ts";
import type { SourceEvents } from "../requests/source-event.ts";
import { type Content, contentOf } from "../wire/digests.ts";

interface Dependencies {
  clock: Clock;
  random: Random;
  log: Log;
  projects: ProjectFiles;
  outbox: Outbox;
  source: SourceEvents;
  /** Work was accepted. */
  wake(): void;
}

/** A message whose route and audience are known. */
export interface OutgoingMessage {
  grant: Grant;
  target: { group_id: string; title: string };
  recipients: readonly ConnectActor[];
  mode: MessageMode;
  said: Said;
  author: Author;
  caller: Caller;
  /** What the target knows about the message that this one answers, and its event here. */
  reply: { delivery_id: string; event_id: string; local_event_id: string } | null;
  /** Paths must be in the caller's own project, whoever the caller is (MSG-062). */
  projectOnly: boolean;
  /** Digest of the caller's input, if it gave a key. */
  digest: string | undefined;
  /** Throws if the route may no longer be used. Reading the files may have taken a while. */
  confirm(): void;
}

export class Outgoing {
  readonly #deps: Dependencies;

  constructor(deps: Dependencies) {
    this.#deps = deps;
  }

  /**
   * Accepted when resolved: the record is durable. A source event that couldn't be recorded now is
   * recorded later (OUT-021). Throws what attachments throw, invalid_args for what the wire doesn't
   * allow, outbox_full, too_large, storage_full or storage_failed.
   */
  async send(
    chat: GroupChat,
    outgoing: OutgoingMessage,
  ): Promise<{ entry: OutboxEntry; event: MessageEvent }> {
    const { projects, log } = this.#deps;
    const accept = (attachments: Attachment[]) => this.#accept(chat, outgoing, attachments);
    const { said, caller, projectOnly } = outgoing;
    const rules = { totalBytes: LIMITS.connect.blobBytes, projectOnly };
    const accepted = await withAttachments(chat, projects, said, caller, accept, rules);
    this.#deps.wake();
    const wakes = outgoing.caller.kind !== "actor" && outgoing.mode !== "mail";
    if (wakes && chat.group.record.state === "idle") await wakeGroup(chat, log);
    return accepted;
  }

  async #accept(
    chat: GroupChat,
    outgoing: OutgoingMessage,
    attachments: Attachment[],
  ): Promise<{ entry: OutboxEntry; event: MessageEvent }> {
    const { clock, random, outbox, source, log } = this.#deps;
    outgoing.confirm();
    const now = clock.now();
    const id = random.uuid();
    const message = this.#message(chat, outgoing, attachments, { id, now });
    message.source_event_id = random.uuid().replaceAll("-", "");
    const content = contentOf(message);
    const event: MessageEvent = {
      v: 1,
      id: message.source_event_id,
      ts: message.created_at,
      kind: "chat.message",
      group_id: chat.group.group_id,
      scope_key: chat.scopeKey,
      by: outgoing.author.by,
      data: this.#data(outgoing, attachments, content),
    };
    const entry = await outbox.accept({ kind: "message", data: message }, event, content.json);
    try {
      await source.project(chat, event);
    } catch (error) {
      log.warn("connect_projection", { group_id: chat.group.group_id, ...errorFields(error) });
    }
    return { entry, event };
  }

  #message(
    chat: GroupChat,
    { grant, target, recipients, mode, said, author, caller, reply }: OutgoingMessage,
    attachments: readonly Attachment[],
    { id, now }: { id: string; now: number },
  ): ConnectMessage {
    const { group } = chat;
    const isDirect = grant.authority === "direct";
    const address = (end: Grant["local"], groupId: string, title: string) => ({
      instance_id: end.instance_id,
      ...(isDirect ? {} : { device_id: end.device_id }),
      group_id: groupId,
      title,
    });
    const at = (seconds: number) => new Date(now + seconds * 1000).toISOString();
    const given = {
      ...(grant.connection_id === null ? {} : { connection_id: grant.connection_id }),
      delivery_id: id,
      ...(isDirect ? {} : { account_origin: grant.account_origin, account_id: grant.account_id }),
      source: address(grant.local, group.group_id, group.record.title),
      sender: senderOf(chat, author, caller),
      // Replaced as soon as the event has its id.
      source_event_id: id,
      target: address(grant.remote, target.group_id, target.title),
      recipients,
      text: said.text,
      format: said.format,
      insight: said.insight ?? null,
      message_mode: mode,
      attachments: attachments.map(({ sha256, bytes, name, mime_type: mimeType }) => ({
        sha256,
        bytes,
        name,
        mime_type: mimeType,
      })),
      reply_to: reply === null ? null : { delivery_id: reply.delivery_id, event_id: reply.event_id },
      created_at: at(0),
      deliver_before: at(LIMITS.connect.deliverSeconds),
      reply_before: at(LIMITS.connect.replySeconds),
    };
    const parsed = ConnectMessage.safeParse(given);
    if (parsed.success) return parsed.data;
    const { path, message } = parsed.error.issues[0]!;
    if (path[0] === "attachments") {
      const limit = LIMITS.connect.blobBytes;
      throw new Refusal("invalid_attachments", {
        specifics: `A message to another instance can have at most ${LIMITS.message.attachments} files, and at most ${sizeWords(limit)} together.`,
        details: { limit },
      });
    }
    throw new Refusal("invalid_args", {
      specifics: `The message can't be sent to another instance: '${path.join(".")}' ${message}.`,
    });
  }

  #data(
    outgoing: OutgoingMessage,
    attachments: Attachment[],
    { value: message, sha256 }: Content<ConnectMessage>,
  ): ChatMessage {
    const { grant, recipients, author, said, mode, reply, digest } = outgoing;
    const { target } = message;
    const generations = recipients.map(({ id, generation }) => [id, generation] as const);
    const titles = recipients
      .filter(({ title }) => title !== "")
      .map(({ id, title }) => [id, title] as const);
    return messageData({
      mode,
      audience: { to: [], to_generations: {} },
      author,
      said,
      attachments,
      reply_to: reply?.local_event_id,
      digest,
      outgoing: {
        delivery_id: message.delivery_id,
        instance_id: target.instance_id,
        instance_name: grant.remote.name,
        group_id: target.group_id,
        group_title: target.title,
        audience: {
          to: recipients.map(({ id }) => id),
          to_generations: Object.fromEntries(generations.filter(([, generation]) => generation !== "")),
        },
        actor_titles: Object.fromEntries(titles),
        connect_message: message,
        connect_message_sha256: sha256,
      },
    });
  }
}

/** The sender, as the other side sees it. */
export function senderOf(chat: GroupChat, author: Author, caller: Caller): ConnectActor {
  if (caller.kind !== "actor") return personOf("user");
  const { id, title, generation, enabled } = chat.self(caller);
  return { id, title, generation: author.generation ?? generation, enabled, role: chat.group.roleOf(id) };
}

/** The person of a Group as a sender or recipient. */
export function personOf(title: string): ConnectActor {
  return { id: "user", title, generation: "", enabled: true, role: null };
}
