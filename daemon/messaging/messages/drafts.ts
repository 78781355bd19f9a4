/**
 * Operations `draft_get` and `draft_put`: the person's unsent text, one owner-only document per
 * Group, the same in every browser.
 */
import { join } from "node:path";
import * as z from "zod";
import { timestamp } from "../../../platform/clock.ts";
import { JsonDocument } from "../../../platform/documents.ts";
import { ensureDirectory, storageRefusal } from "../../../platform/durable.ts";
import { Refusal } from "../../../shared/errors.ts";
import type { InputOf, ResultOf } from "../../../shared/operations/registry.ts";
import type { Chats, GroupChat, MessagingDependencies } from "../group-chat.ts";

const StoredDraft = z.strictObject({
  v: z.literal(1),
  draft: z.looseObject({}).nullable(),
  updated_at: z.string(),
});
type StoredDraft = z.infer<typeof StoredDraft>;

export class Drafts {
  readonly #chats: Chats;
  readonly #deps: MessagingDependencies;
  readonly #documents = new WeakMap<GroupChat, Promise<JsonDocument<StoredDraft> | null>>();

  constructor(chats: Chats, deps: MessagingDependencies) {
    this.#chats = chats;
    this.#deps = deps;
  }

  async get(input: InputOf<"draft_get">): Promise<ResultOf<"draft_get">> {
    const document = await this.#open(this.#chats.get(input.group_id));
    return { draft: document?.value.draft ?? null, updated_at: versionOf(document) };
  }

  async put(input: InputOf<"draft_put">): Promise<ResultOf<"draft_put">> {
    const chat = this.#chats.get(input.group_id);
    const stored: StoredDraft = { v: 1, draft: input.draft, updated_at: timestamp(this.#deps.clock) };
    const { based_on: basedOn } = input;
    let overtaken = false;
    // One after the other: the first one creates the document.
    const next = this.#open(chat).then(async (document) => {
      overtaken = basedOn !== undefined && basedOn !== versionOf(document);
      if (overtaken) return document;
      if (document === null) return input.draft === null ? null : await this.#create(chat, stored);
      await document.update(() => stored);
      return document;
    });
    this.#keep(chat, next);
    await next;
    if (overtaken) throw new Refusal("conflict");
    return { updated_at: input.draft === null ? null : stored.updated_at };
  }

  #open(chat: GroupChat): Promise<JsonDocument<StoredDraft> | null> {
    let document = this.#documents.get(chat);
    if (document === undefined) {
      document = JsonDocument.read(this.#options(chat)).catch((error: unknown) => {
        throw storageRefusal(error);
      });
      this.#keep(chat, document);
    }
    return document;
  }

  /** After a failure the document is read again. */
  #keep(chat: GroupChat, document: Promise<JsonDocument<StoredDraft> | null>): void {
    this.#documents.set(chat, document);
    document.catch(() => {
      if (this.#documents.get(chat) === document) this.#documents.delete(chat);
    });
  }

  async #create(chat: GroupChat, stored: StoredDraft): Promise<JsonDocument<StoredDraft>> {
    await ensureDirectory(this.#deps.files, chat.group.paths.drafts);
    return JsonDocument.create(this.#options(chat), stored);
  }

  #options(chat: GroupChat) {
    const path = join(chat.group.paths.drafts, "user.json");
    return { files: this.#deps.files, path, version: 1, schema: StoredDraft };
  }
}

/** Distinguishes one text from the next; null when there is none. */
function versionOf(document: JsonDocument<StoredDraft> | null): string | null {
  return document === null || document.value.draft === null ? null : document.value.updated_at;
}
