/**
 * Operations `presentation_*`: what Actors show beside the conversation (docs/presentations.md).
 * The file is written first, then the event; a file whose event never came is removed with other
 * files that nothing refers to.
 */
import { hash } from "node:crypto";
import type { ProjectFiles } from "../../../platform/project-files.ts";
import { defined } from "../../../shared/defined.ts";
import { Refusal } from "../../../shared/errors.ts";
import type { EventData, EventOf } from "../../../shared/events.ts";
import { LIMITS } from "../../../shared/limits.ts";
import type { CallContext, Caller } from "../../../shared/operations/caller.ts";
import type { HandlersFor } from "../../../shared/operations/handlers.ts";
import type { Presentation, presentationOperations } from "../../../shared/operations/presentations.ts";
import type { InputOf, ResultOf } from "../../../shared/operations/registry.ts";
import { openInScope } from "../../groups/scopes.ts";
import { type BlobReading, missing } from "../files/blobs.ts";
import { type Chunks, fileChunks } from "../files/file-streams.ts";
import type { Chats, GroupChat } from "../group-chat.ts";
import { checkNamesFiles } from "../messages/attachments.ts";
import { onceFor } from "../messages/idempotency.ts";
import type { Author } from "../messages/message-event.ts";
import { presentationKey } from "../projection/message-keys.ts";
import { ContentCheck, checkContentSize, type FileKind, servedType } from "./content.ts";

type Publish = InputOf<"presentation_publish">;
type Published = ResultOf<"presentation_publish">;
type PublishEvent = EventOf<"presentation.publish">;

/** The content of one version, for a browser. */
export interface ShownContent {
  kind: FileKind;
  title: string;
  mime_type: string;
  sha256: string;
  reading: BlobReading;
}

export class Presentations {
  readonly #chats: Chats;
  readonly #projects: ProjectFiles;

  constructor(chats: Chats, projects: ProjectFiles) {
    this.#chats = chats;
    this.#projects = projects;
  }

  handlers(): HandlersFor<typeof presentationOperations> {
    return {
      presentation_publish: (input, { caller }) => this.#publish(input, caller),
      presentation_clear: (input, { caller }) => this.#clear(input, caller),
      presentation_list: (input, context) => this.#list(input, context),
    };
  }

  /**
   * The content of what the slot shows, or of the version with this event id. Throws
   * presentation_not_found, or blob_not_found when an import lacked the file.
   */
  content(groupId: string, slot: number, eventId: string | null): ShownContent {
    const chat = this.#chats.get(groupId);
    const { current, versions } = chat.presentations.slot(slot);
    const ordinal = eventId === null ? (current ?? undefined) : chat.ledger.ordinalOf(eventId);
    if (ordinal === undefined || !versions.includes(ordinal)) throw notFound(slot);
    const { kind, title, sha256, mime_type: mimeType } = publishedAt(chat, ordinal).data;
    if (kind === "url" || sha256 === undefined) throw notFound(slot);
    const type = servedType(kind, mimeType);
    if (type === null) throw notFound(slot);
    return { kind, title, mime_type: type, sha256, reading: chat.blobs.read(sha256) };
  }

  #publish(input: Publish, caller: Caller): Promise<Published> | Published {
    checkSource(input);
    const chat = this.#chats.get(input.group_id);
    const author = chat.author(caller);
    if (input.client_id === undefined) return this.#append(chat, input, author, caller);
    const key = presentationKey(author, input.client_id);
    const digest = digestOf(input);
    return onceFor(
      chat,
      { key, digest },
      () => this.#append(chat, input, author, caller, { key, digest }),
      () => {
        const ordinal = chat.byKey(key);
        if (ordinal === undefined) return undefined;
        const event = publishedAt(chat, ordinal);
        return {
          digest: event.data.client_sha256,
          answer: () => ({ presentation: shown(chat, event, ordinal), duplicate: true }),
        };
      },
    );
  }

  async #append(
    chat: GroupChat,
    input: Publish,
    author: Author,
    caller: Caller,
    once?: { key: string; digest: string },
  ): Promise<Published> {
    const { slot, title, kind, url } = input;
    const append = async (file: FileData | null): Promise<Published> => {
      // The Actor may have been removed while its file was read.
      chat.author(caller);
      const data: EventData<"presentation.publish"> = {
        slot,
        title,
        kind,
        ...file,
        ...defined({ url: url === undefined ? undefined : new URL(url).href }),
        attachments: file === null ? [] : [{ sha256: file.sha256 }],
        ...defined({
          actor_generation: author.generation,
          client_id: input.client_id,
          client_sha256: once?.digest,
        }),
      };
      const placed = await chat.ledger.append(chat.event("presentation.publish", author.by, data, once?.key));
      return { presentation: shown(chat, placed.event, placed.ordinal), duplicate: false };
    };
    if (kind === "url") return append(null);
    const check = new ContentCheck(kind);
    const { count } = chat.ledger;
    const blob =
      input.sha256 === undefined
        ? await this.#taken(chat, input, caller, check)
        : await uploaded(chat, input.sha256, check);
    const file = { ...blob, mime_type: check.mimeType };
    return chat.blobs.send([blob.sha256], count, () => append(file));
  }

  /** Keeps the given text or file for the Group, checked on the way. */
  async #taken(chat: GroupChat, input: Publish, caller: Caller, check: ContentCheck): Promise<Kept> {
    const { count } = chat.ledger;
    const source = this.#source(chat, input, caller);
    return chat.blobs.take(check.through(source.chunks), count).finally(source.close);
  }

  /** A path leads only into the attached projects, whoever the caller is (MSG-062). */
  #source(chat: GroupChat, { path, text }: Publish, caller: Caller): { chunks: Chunks; close: () => void } {
    if (path === undefined) return { chunks: [Buffer.from(text ?? "")], close: () => undefined };
    checkNamesFiles(caller);
    const { file } = openInScope(this.#projects, chat.reach(caller), path);
    try {
      checkContentSize(file.size());
    } catch (error) {
      file.close();
      throw error;
    }
    // A file may grow in the meantime. One that nobody begins to read has to be closed as well.
    const chunks = fileChunks(file, 0, LIMITS.presentation.contentBytes + 1, { shared: true });
    return { chunks, close: () => file.close() };
  }

  /** Nothing happens when the slot is empty already. */
  async #clear(
    { group_id: groupId, slot }: InputOf<"presentation_clear">,
    caller: Caller,
  ): Promise<ResultOf<"presentation_clear">> {
    const chat = this.#chats.get(groupId);
    const { by } = chat.author(caller);
    if (chat.presentations.slot(slot).current === null) return { slot, cleared: false };
    await chat.ledger.append(chat.event("presentation.clear", by, { slot }));
    return { slot, cleared: true };
  }

  #list(
    { group_id: groupId, slot: wanted }: InputOf<"presentation_list">,
    { caller }: CallContext,
  ): ResultOf<"presentation_list"> {
    const chat = this.#chats.get(groupId);
    chat.author(caller);
    const shownAt = (ordinal: number): Presentation => shown(chat, publishedAt(chat, ordinal), ordinal);
    const slots = Array.from({ length: LIMITS.presentation.slots }, (_, at) => {
      const { current, versions } = chat.presentations.slot(at + 1);
      return {
        slot: at + 1,
        presentation: current === null ? null : shownAt(current),
        versions: versions.length,
      };
    });
    const versions = wanted === undefined ? [] : chat.presentations.slot(wanted).versions;
    return { slots, versions: versions.toReversed().map(shownAt) };
  }
}

interface Kept {
  sha256: string;
  bytes: number;
}

interface FileData extends Kept {
  mime_type: string;
}

/** A file that the Group has already, checked whole. Throws invalid_attachments without it. */
async function uploaded(chat: GroupChat, sha256: string, check: ContentCheck): Promise<Kept> {
  const bytes = chat.blobs.bytesOf(sha256);
  if (bytes === null) throw missing(sha256);
  checkContentSize(bytes);
  const content = check.through(chat.blobs.read(sha256).chunks);
  while ((await content.next()).done !== true);
  return { sha256, bytes };
}

/** Exactly one source, and the one that the kind needs. Throws invalid_args. */
function checkSource(input: Publish): void {
  const given = (["path", "text", "sha256", "url"] as const).filter((name) => input[name] !== undefined);
  const [source] = given;
  const allowed: readonly string[] =
    input.kind === "url" ? ["url"] : input.kind === "pdf" ? ["path", "sha256"] : ["path", "text", "sha256"];
  if (given.length === 1 && allowed.includes(source!)) return;
  const words = allowed.map((name) => `'${name}'`).join(" or ");
  throw new Refusal("invalid_args", {
    specifics: `The kind '${input.kind}' needs ${words}, and nothing else.`,
    details: { field: given.find((name) => !allowed.includes(name)) ?? given[1] ?? allowed[0] },
  });
}

/** Without an uploaded file it stays as it was before there were any, for keys used then. */
function digestOf({ slot, title, kind, path, text, url, sha256 }: Publish): string {
  const given = [slot, title, kind, path ?? null, text ?? null, url ?? null];
  return hash("sha256", JSON.stringify(sha256 === undefined ? given : [...given, sha256]));
}

/** An event that the projection or a key knows. */
function publishedAt(chat: GroupChat, ordinal: number): PublishEvent {
  const event = chat.ledger.read(ordinal);
  if (event.kind === "presentation.publish") return event;
  throw new TypeError(`event ${event.id} isn't a presentation`);
}

function shown(chat: GroupChat, { id, ts, by, data }: PublishEvent, ordinal: number): Presentation {
  const { slot, title, kind, sha256, bytes, mime_type: mimeType, url } = data;
  const current = chat.presentations.slot(slot).current === ordinal;
  const file = defined({ sha256, bytes, mime_type: mimeType, url });
  return { slot, event_id: id, ts, by, title, kind, ...file, current };
}

function notFound(slot: number): Refusal {
  return new Refusal("presentation_not_found", { details: { slot } });
}
