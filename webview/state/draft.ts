/**
 * Unsent text per Group. The daemon keeps it for the same person everywhere; until it has acknowledged, a copy stays here, so that
 * neither a reload nor an outage loses a letter.
 */
import type { MessageMode } from "../../shared/model.ts";
import type { Host, Uploaded } from "../host.ts";
import { Store } from "./store.ts";

export interface Draft {
  text: string;
  to: string[];
  mode: MessageMode;
  replyTo: string | null;
  /** Another Group the message goes to; kept here only. */
  elsewhere: string | null;
  attachments: Uploaded[];
}

export function emptyDraft(): Draft {
  return { text: "", to: [], mode: "send", replyTo: null, elsewhere: null, attachments: [] };
}

export function isEmpty(draft: Draft): boolean {
  return (
    draft.text === "" && draft.to.length === 0 && draft.replyTo === null && draft.attachments.length === 0
  );
}

const SAVE_AFTER_MS = 400;
const RETRY_AFTER_MS = 3000;

type DraftHost = Pick<Host, "call" | "remember" | "recall">;

export class DraftKeeper extends Store {
  readonly groupId: string;
  readonly #host: DraftHost;
  #draft: Draft = emptyDraft();
  #timer: ReturnType<typeof setTimeout> | null = null;
  #saving: Promise<void> | null = null;
  #dirty = false;
  #touched = false;
  #closed = false;

  constructor(host: DraftHost, groupId: string) {
    super();
    this.#host = host;
    this.groupId = groupId;
  }

  get draft(): Readonly<Draft> {
    return this.#draft;
  }

  /** True while the daemon hasn't acknowledged the newest letter. */
  get unsaved(): boolean {
    return this.#dirty;
  }

  /** Reads what was kept; a copy left here is newer than the daemon's and wins. What was typed meanwhile stays. */
  async load(): Promise<void> {
    const kept = readDraft(this.#host.recall(this.#key));
    if (kept !== null) {
      this.#draft = kept;
      this.#dirty = true;
      this.changed();
      this.#schedule(0);
      return;
    }
    try {
      const { draft } = await this.#host.call("draft_get", { group_id: this.groupId });
      const read = readDraft(draft);
      if (read !== null && !this.#touched && !this.#closed) {
        this.#draft = read;
        this.changed();
      }
    } catch {
      // Offline: the composer starts empty, and what is typed is kept here.
    }
  }

  update(change: Partial<Draft>): void {
    this.#touched = true;
    this.#draft = { ...this.#draft, ...change };
    this.#dirty = true;
    this.#host.remember(this.#key, isEmpty(this.#draft) ? emptyDraft() : this.#draft);
    this.#schedule(SAVE_AFTER_MS);
    this.changed();
  }

  /** After the message was taken: nothing is left to keep but the choice of mode. */
  clear(): void {
    this.update({ ...emptyDraft(), mode: this.#draft.mode === "mail" ? "mail" : "send" });
    this.#schedule(0);
  }

  /** Saves at once and stops; the copy here stays until it is acknowledged. */
  close(): void {
    this.#closed = true;
    if (this.#dirty) void this.#save();
  }

  get #key(): string {
    return `draft/${this.groupId}`;
  }

  #schedule(after: number): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#save(), after);
  }

  async #save(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#saving !== null) {
      await this.#saving;
      if (!this.#dirty) return;
    }
    const draft = this.#draft;
    this.#saving = this.#put(draft).then(
      () => {
        if (this.#draft === draft) {
          this.#dirty = false;
          this.#host.remember(this.#key, null);
          this.changed();
        } else if (!this.#closed) this.#schedule(SAVE_AFTER_MS);
      },
      () => {
        if (!this.#closed) this.#schedule(RETRY_AFTER_MS);
      },
    );
    await this.#saving;
    this.#saving = null;
  }

  async #put(draft: Draft): Promise<void> {
    await this.#host.call("draft_put", {
      group_id: this.groupId,
      draft: isEmpty(draft)
        ? null
        : {
            text: draft.text,
            to: draft.to,
            message_mode: draft.mode,
            ...(draft.replyTo === null ? {} : { reply_to: draft.replyTo }),
            attachments: draft.attachments.map(({ sha256, name, mime_type }) => ({
              sha256,
              name,
              mime_type,
            })),
          },
    });
  }
}

/** A draft from either keeper; null when there is none or it isn't one. */
function readDraft(value: unknown): Draft | null {
  if (typeof value !== "object" || value === null) return null;
  const kept = value as Record<string, unknown>;
  if (typeof kept["text"] !== "string") return null;
  const mode = kept["mode"] ?? kept["message_mode"];
  const replyTo = kept["replyTo"] ?? kept["reply_to"];
  const elsewhere = kept["elsewhere"];
  return {
    text: kept["text"],
    to: Array.isArray(kept["to"]) ? kept["to"].filter((to) => typeof to === "string") : [],
    mode: mode === "mail" || mode === "request_reply" ? mode : "send",
    replyTo: typeof replyTo === "string" ? replyTo : null,
    elsewhere: typeof elsewhere === "string" ? elsewhere : null,
    attachments: Array.isArray(kept["attachments"]) ? kept["attachments"].flatMap(readAttachment) : [],
  };
}

function readAttachment(value: unknown): Uploaded[] {
  if (typeof value !== "object" || value === null) return [];
  const { sha256, name, mime_type, bytes } = value as Record<string, unknown>;
  if (typeof sha256 !== "string" || typeof name !== "string") return [];
  return [
    {
      sha256,
      name,
      mime_type: typeof mime_type === "string" ? mime_type : "application/octet-stream",
      bytes: typeof bytes === "number" ? bytes : 0,
    },
  ];
}
