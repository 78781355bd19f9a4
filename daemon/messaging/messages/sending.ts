/**
 * Operations `send`, `send_files`, `reply` and `message_upload_preflight`: everything is checked
 * before anything is written.
 */
import { Refusal } from "../../../shared/errors.ts";
import type { MessageEvent } from "../../../shared/events.ts";
import { LIMITS } from "../../../shared/limits.ts";
import type { Attachment, MessageMode } from "../../../shared/model.ts";
import type { CallContext, Caller } from "../../../shared/operations/caller.ts";
import type { InputOf, ResultOf } from "../../../shared/operations/registry.ts";
import { type Audience, resolveRecipients, type Sender } from "../../groups/recipients.ts";
import {
  type Chats,
  type GroupChat,
  type MessagingDependencies,
  type RemoteMessages,
  wakeGroup,
} from "../group-chat.ts";
import { messageKey } from "../projection/message-keys.ts";
import { carriesFiles, checkBody, checkFileSize, withAttachments } from "./attachments.ts";
import { type CrossGroup, remoteId } from "./cross-group.ts";
import { once } from "./idempotency.ts";
import {
  type Author,
  contentDigest,
  defaultMode,
  isBy,
  isRemote,
  messageData,
  type Said,
} from "./message-event.ts";

type Sent = ResultOf<"send">;

/** A destination that is known to be allowed. */
interface Address {
  mode: MessageMode;
  /** As written. */
  to: readonly string[];
  reply_to?: string | undefined;
}

/** Where a reply without recipients goes. */
type Way =
  | { kind: "here"; to: string[] }
  /** To the Group that the message came from or went to, where it has the id `event_id`. */
  | {
      kind: "across";
      group_id: string;
      to: string[];
      event_id: string;
      generations: Generations;
    };
type Generations = Readonly<Record<string, string>>;

export class Sending {
  readonly #chats: Chats;
  readonly #deps: MessagingDependencies;
  readonly #cross: CrossGroup;

  constructor(chats: Chats, deps: MessagingDependencies, cross: CrossGroup) {
    this.#chats = chats;
    this.#deps = deps;
    this.#cross = cross;
  }

  send(input: InputOf<"send">, { caller }: CallContext): Promise<Sent> | Sent {
    const { reply_to: replyTo, message_mode: messageMode, to } = input;
    if (replyTo !== undefined) return this.#reply(input, replyTo, caller);
    const mode = messageMode ?? defaultMode(caller, to);
    return this.#send(this.#chats.get(input.group_id), input, { mode, to }, caller);
  }

  sendFiles(input: InputOf<"send_files">, { caller }: CallContext): Promise<Sent> | Sent {
    const mode = input.message_mode ?? defaultMode(caller, input.to);
    return this.#send(this.#chats.get(input.group_id), input, { mode, to: input.to }, caller);
  }

  reply(input: InputOf<"reply">, { caller }: CallContext): Promise<Sent> | Sent {
    return this.#reply(input, input.event_id, caller);
  }

  preflight(
    input: InputOf<"message_upload_preflight">,
    { caller }: CallContext,
  ): ResultOf<"message_upload_preflight"> {
    const chat = this.#chats.get(input.group_id);
    const author = chat.author(caller);
    const { uploadBytes } = LIMITS.attachment;
    for (const { name, bytes } of input.files) checkFileSize(name, bytes);
    chat.blobs.checkQuota(input.files.reduce((sum, { bytes }) => sum + bytes, 0));
    const mode = input.message_mode ?? defaultMode(caller, input.to);
    let to: readonly string[] = input.to;
    if (input.reply_to !== undefined) {
      const original = chat.actionableMessage(caller, input.reply_to);
      const { event } = original;
      if (isRemote(event)) {
        const mode = input.message_mode === "request_reply" ? undefined : input.message_mode;
        remoteOf(chat).checkReply(chat, { original, mode, to }, author);
        return { accepted: true, upload_limit: Math.min(uploadBytes, LIMITS.connect.blobBytes) };
      }
      const way = to.length > 0 ? null : this.#wayBack(chat, event, author, caller);
      if (way?.kind === "across") return { accepted: true, upload_limit: uploadBytes };
      to = way?.to ?? to;
    }
    resolveRecipients(chat.group.record, { to, mode, sender: senderOf(caller) });
    return { accepted: true, upload_limit: uploadBytes };
  }

  #send(chat: GroupChat, said: Said, address: Address, caller: Caller): Promise<Sent> | Sent {
    checkBody(said);
    const author = chat.author(caller);
    if (said.client_id === undefined) return this.#append(chat, said, address, author, caller);
    const digest = contentDigest(said, address);
    return once(
      chat,
      messageKey(author, said.client_id),
      digest,
      () => this.#append(chat, said, address, author, caller, digest),
      recorded,
    );
  }

  /**
   * A reply is `send` or `mail`. Without recipients it goes to the original sender, even in another
   * Group, and a reply to one's own message to those that got it. An Actor can reply only to what
   * it sent or received. The default mode for an Actor is `mail`, but `send` to the person.
   */
  #reply(
    input: Said & { group_id: string; message_mode?: MessageMode | undefined; to: readonly string[] },
    replyTo: string,
    caller: Caller,
  ): Promise<Sent> | Sent {
    if (input.message_mode === "request_reply") throw new Refusal("invalid_message_mode");
    checkBody(input);
    const chat = this.#chats.get(input.group_id);
    const author = chat.author(caller);
    // Before any check that may have changed since a first attempt: a retry gets the same answer.
    const mode = input.message_mode ?? defaultMode(caller, input.to);
    const written = { mode, to: input.to, reply_to: replyTo };
    const digest = input.client_id === undefined ? undefined : contentDigest(input, written);
    const first = (): Promise<Sent> => {
      const original = chat.actionableMessage(caller, replyTo);
      const { event } = original;
      if (isRemote(event)) {
        const mode = input.message_mode === "request_reply" ? undefined : input.message_mode;
        return remoteOf(chat)
          .reply(chat, input, { original, mode, to: input.to }, caller, digest)
          .then((event) => ({ ...recorded(event), duplicate: false }));
      }
      const way: Way =
        input.to.length > 0
          ? { kind: "here", to: [...input.to] }
          : this.#wayBack(chat, event, author, caller);
      const toPerson = way.to.length === 1 && way.to[0] === "user";
      const address = {
        mode: input.message_mode ?? (toPerson ? "send" : mode),
        to: way.to,
        reply_to: replyTo,
      };
      if (way.kind === "here") return this.#append(chat, input, address, author, caller, digest);
      return this.#cross
        .deliver(
          chat,
          input,
          { ...address, dst_group_id: way.group_id, answered: way },
          author,
          caller,
          digest,
        )
        .then(({ source_event: event, message_mode: messageMode }) => ({
          event,
          message_mode: messageMode,
          duplicate: false,
        }));
    };
    if (input.client_id === undefined || digest === undefined) return first();
    return once(
      chat,
      messageKey(author, input.client_id),
      digest,
      async () => first(),
      (event, ordinal) => {
        const isHere = event.data.dst_group_id === undefined;
        if (ordinal === undefined || isHere || isRemote(event)) return recorded(event);
        return this.#cross.complete(chat, event, ordinal).then(() => recorded(event));
      },
    );
  }

  /**
   * Throws invalid_recipient when the other side no longer exists, and what entering the other
   * Group throws.
   */
  #wayBack(chat: GroupChat, event: MessageEvent, author: Author, caller: Caller): Way {
    const { by, data } = event;
    const own = isBy(event, author);
    const across = (
      groupId: string,
      eventId: string,
      written: readonly string[],
      generations: Generations,
    ): Way => {
      checkReach(caller, groupId);
      const to = stillThere(this.#chats.get(groupId), written, generations);
      return { kind: "across", group_id: groupId, to, event_id: eventId, generations };
    };
    const { sender_generation: generation } = data;
    const then = (id: string): Generations => (generation === undefined ? {} : { [id]: generation });
    if (own && data.dst_group_id !== undefined) {
      const eventId = remoteId(chat.group.group_id, event.id);
      return across(data.dst_group_id, eventId, data.dst_to ?? [], data.dst_to_generations ?? {});
    }
    if (data.src_group_id !== undefined && data.src_event_id !== undefined) {
      const sender = by === "user" ? "user" : by.slice(by.indexOf("::") + 2);
      return across(data.src_group_id, data.src_event_id, [sender], then(sender));
    }
    if (own) return { kind: "here", to: stillThere(chat, data.to, data.to_generations) };
    if (by === "user") return { kind: "here", to: ["user"] };
    return { kind: "here", to: stillThere(chat, [by], then(by)) };
  }

  #append(
    chat: GroupChat,
    said: Said,
    address: Address,
    author: Author,
    caller: Caller,
    digest?: string,
  ): Promise<Sent> {
    const { mode, reply_to: replyTo } = address;
    const audience = resolveRecipients(chat.group.record, { to: address.to, mode, sender: senderOf(caller) });
    const wakes = caller.kind !== "actor" && mode !== "mail";
    const submit = (attachments: Attachment[]): Promise<Sent> =>
      submitMessage(
        chat,
        { mode, audience, author, said, attachments, reply_to: replyTo, digest },
        (sent) => {
          if (!wakes || chat.group.record.state !== "idle") return sent;
          return wakeGroup(chat, this.#deps.log).then(() => sent);
        },
      );
    if (!carriesFiles(said)) return submit([]);
    return withAttachments(chat, this.#deps.projects, said, caller, submit);
  }
}

function submitMessage(
  chat: GroupChat,
  message: {
    mode: MessageMode;
    audience: Audience;
    author: Author;
    said: Said;
    attachments: Attachment[];
    reply_to: string | undefined;
    digest: string | undefined;
  },
  recordedNow: (sent: Sent) => Sent | Promise<Sent>,
): Promise<Sent> {
  const { author, said, mode } = message;
  const key = said.client_id === undefined ? undefined : messageKey(author, said.client_id);
  const event = chat.event("chat.message", author.by, messageData(message), key);
  return new Promise((resolve, reject) => {
    chat.ledger.submit(event, (refusal, placed) => {
      if (refusal !== null) reject(refusal);
      else resolve(recordedNow({ event: placed!.event, message_mode: mode, duplicate: false }));
    });
  });
}

/** The answer to a retry. */
function recorded(event: MessageEvent): Sent {
  return { event, message_mode: event.data.message_mode, duplicate: true };
}

function remoteOf(chat: GroupChat): RemoteMessages {
  if (chat.remote === null) throw new Refusal("shutting_down");
  return chat.remote;
}

/** A restricted token's replies go into its own Groups only. */
function checkReach(caller: Caller, groupId: string): void {
  if (caller.kind === "member" && !caller.groups.has(groupId)) throw new Refusal("permission_denied");
}

function senderOf(caller: Caller): Sender {
  return caller.kind === "actor" ? { kind: "actor", actor_id: caller.actor_id } : { kind: "user" };
}

/**
 * The recipients that are the same Actors as then: a new one under an old id inherits nothing, in
 * this Group or another. Throws invalid_recipient.
 */
function stillThere({ group }: GroupChat, recipients: readonly string[], generations: Generations): string[] {
  const there = recipients.filter(
    (id) =>
      id === "user" ||
      group.record.actors.some((actor) => actor.id === id && actor.generation === generations[id]),
  );
  if (there.length > 0) return there;
  throw new Refusal("invalid_recipient", {
    specifics: "The other side of that message is no longer in its Group.",
    details: { recipients },
  });
}
