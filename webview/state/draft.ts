/**
 * Unsent text per Group. The daemon keeps it for the same person everywhere; until it has
 * acknowledged, a copy stays here, so that neither a reload nor an outage loses a character. A text
 * that another window has saved in the meantime is never replaced without asking.
 */
import type { MessageEvent } from "../../shared/events.ts";
import type { Actor, MessageMode } from "../../shared/model.ts";
import { isSlot, PRESENTATION_REFERENCE } from "../../shared/presentation-kind.ts";
import { Store } from "../controls/store.ts";
import { type Host, HostError, type Uploaded } from "../hosts/host.ts";

/** A Group of another instance, with the names that it had when it was chosen. */
export type RemotePlace = {
  instance_id: string;
  instance_name: string;
  group_id: string;
  title: string;
};

/**
 * What a message says about a Group of another instance, without going there
 * (docs/protocol.md#ledger-events).
 */
export type GroupReference = RemotePlace & { kind: typeof GROUP_REFERENCE };
export const GROUP_REFERENCE = "connect_group_ref";

/** What a message says about a slot: this version of it (docs/presentations.md). */
export type SlotReference = {
  kind: typeof PRESENTATION_REFERENCE;
  slot: number;
  event_id: string;
  title: string;
};
export type Reference = GroupReference | SlotReference;

export interface Draft {
  text: string;
  to: string[];
  mode: MessageMode;
  replyTo: string | null;
  /** The quoted part of the answered message. */
  quote: string | null;
  /** Another Group the message goes to. */
  elsewhere: string | null;
  /** A Group of another instance that the message goes to; `to` names recipients there. */
  remote: RemotePlace | null;
  /** Groups of other instances that the message mentions, and slots that it refers to. */
  refs: Reference[];
  attachments: Uploaded[];
  /** It goes where the message before it went, and nobody has said so for this one. */
  carried: boolean;
}

export function emptyDraft(): Draft {
  return {
    text: "",
    to: [],
    mode: "send",
    replyTo: null,
    quote: null,
    elsewhere: null,
    remote: null,
    refs: [],
    attachments: [],
    carried: false,
  };
}

/** Nothing was begun, whoever would get it. */
export function isBlank(draft: Readonly<Draft>): boolean {
  return (
    draft.text === "" && draft.replyTo === null && draft.refs.length === 0 && draft.attachments.length === 0
  );
}

/** Nothing to keep. */
function isEmpty(draft: Draft): boolean {
  return isBlank(draft) && draft.to.length === 0 && draft.elsewhere === null && draft.remote === null;
}

/** Everything in a draft that would be sent to the daemon, for comparing. */
function contentOf({ text, to, mode, replyTo, quote, elsewhere, remote, refs, attachments }: Draft): string {
  const files = attachments.map(({ sha256, name, mime_type: mimeType }) => [sha256, name, mimeType]);
  return JSON.stringify([text, to, mode, replyTo, quote, elsewhere, remote, refs, files]);
}

/** True when nothing of `other` would be lost if `draft` took its place. */
function contains(draft: Draft, other: Draft): boolean {
  return (
    draft.text.includes(other.text) &&
    other.attachments.every(({ sha256 }) => draft.attachments.some((file) => file.sha256 === sha256))
  );
}

const SAVE_AFTER_MS = 400;
/** Texts whose answer didn't come are remembered up to this many. */
const UNANSWERED = 64;
const RETRY_AFTER_MS = 3000;

type DraftHost = Pick<Host, "call" | "remember" | "recall">;

export class DraftKeeper extends Store {
  readonly groupId: string;
  readonly #host: DraftHost;
  readonly #settle: (next: Draft, before: Readonly<Draft>) => Draft;
  #draft: Draft = emptyDraft();
  /** When the message before it was sent, by the daemon's clock; null while unknown. */
  #carriedAt: string | null = null;
  /** Where the draft went before it became a reply. */
  #beforeReply: Pick<Draft, "to" | "elsewhere" | "remote" | "mode"> | null = null;
  /** The recipients that the reply began with. */
  #replyTo: readonly string[] = [];
  /** The version at the daemon that this text is based on; null when there was none. */
  #base: string | null = null;
  #other: { draft: Draft; base: string | null } | null = null;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #saving: Promise<void> | null = null;
  #dirty = false;
  /** The stored draft has been read. */
  #known = false;
  #again: ReturnType<typeof setTimeout> | null = null;
  /** What may have reached the daemon, but whose answer got lost: texts of this window. */
  #unanswered: string[] = [];
  /** Counts changes, so that an outdated answer is recognised. */
  #revision = 0;
  #closed = false;

  /** `settle` completes what the person changed. */
  constructor(
    host: DraftHost,
    groupId: string,
    settle: (next: Draft, before: Readonly<Draft>) => Draft = (next) => next,
  ) {
    super();
    this.#host = host;
    this.groupId = groupId;
    this.#settle = settle;
  }

  get draft(): Readonly<Draft> {
    return this.#draft;
  }

  /** The daemon has all of it. */
  get saved(): boolean {
    return !this.#dirty;
  }

  /** What another window saved while this one was being written. The person chooses. */
  get other(): Readonly<Draft> | null {
    return this.#other?.draft ?? null;
  }

  /**
   * Reads the stored draft. A copy left here is newer than the daemon's and wins. Text typed in the
   * meantime stays.
   */
  async load(): Promise<void> {
    const kept = this.#host.recall(this.#key);
    const draft = readDraft(kept);
    if (draft === null) return this.refresh();
    const { base, carriedAt } = kept as { base?: unknown; carriedAt?: unknown };
    this.#draft = draft;
    this.#carriedAt = typeof carriedAt === "string" ? carriedAt : null;
    this.#base = typeof base === "string" ? base : null;
    this.#dirty = true;
    this.#known = true;
    this.changed();
    this.#schedule(0);
  }

  /** Takes over what another window wrote, unless something here is unsaved. */
  async refresh(): Promise<void> {
    const revision = this.#revision;
    if (this.#dirty || this.#closed) return;
    try {
      const { draft, updated_at: updatedAt } = await this.#host.call("draft_get", { group_id: this.groupId });
      this.#known = true;
      if (revision !== this.#revision || this.#dirty || this.#closed || updatedAt === this.#base) return;
      this.#adopt(readDraft(draft) ?? emptyDraft(), updatedAt);
    } catch {
      // Offline: the text here stays, and what is typed is kept here.
      if (!this.#known && !this.#closed) this.#again = setTimeout(() => void this.refresh(), RETRY_AFTER_MS);
    }
  }

  update(change: Partial<Draft>): void {
    this.#revision += 1;
    const isReaddressed = "to" in change || "elsewhere" in change || "remote" in change;
    const carried = isReaddressed ? false : this.#draft.carried;
    this.#draft = this.#settle({ ...this.#draft, carried, ...change }, this.#draft);
    this.#dirty = true;
    if (this.#attempt !== null && this.#attempt.content !== contentOf(this.#draft))
      this.#host.remember(this.#attemptKey, null);
    this.#keepHere();
    this.#schedule(SAVE_AFTER_MS);
    this.changed();
  }

  /** Takes what was found out about the draft. The person hasn't changed it. */
  complete(find: (draft: Draft) => Draft): void {
    const found = find(this.#draft);
    if (found === this.#draft) return;
    this.#draft = found;
    this.update({});
  }

  /**
   * Starts a reply. Without recipients it goes to the sender. The draft's earlier destination comes
   * back when the reply is given up.
   */
  beginReply(replyTo: string, quote: string | null, recipients: readonly string[] = []): void {
    const { to, elsewhere, remote, mode } = this.#draft;
    if (this.#draft.replyTo === null) this.#beforeReply = { to, elsewhere, remote, mode };
    this.#replyTo = recipients;
    this.update({
      replyTo,
      quote,
      to: [...recipients],
      elsewhere: null,
      remote: null,
      mode: mode === "request_reply" ? "send" : mode,
    });
  }

  /** Gives the reply up. Recipients that were chosen for it stay. */
  endReply(): void {
    const isUnchosen = this.#draft.to.length === 0 || this.#draft.to.join() === this.#replyTo.join();
    const before = isUnchosen ? this.#beforeReply : null;
    this.#beforeReply = null;
    this.update({ replyTo: null, quote: null, ...before });
  }

  /**
   * After the message was accepted: who got it gets the next one too, and what another window wrote
   * is kept. `sent` is its event: a reply goes to the sender without naming them.
   */
  clear(sent: MessageEvent | null = null): void {
    const { to, elsewhere, remote, replyTo } = this.#draft;
    const goes = { to, elsewhere, remote };
    const isReply = replyTo !== null && to.length === 0 && elsewhere === null && remote === null;
    const next = isReply ? answered(sent, this.#beforeReply ?? goes) : goes;
    this.#beforeReply = null;
    this.#carriedAt = sent?.ts ?? null;
    this.update({ ...emptyDraft(), ...next, carried: true });
    if (this.#other === null) this.#schedule(0);
    else this.takeOther();
  }

  /**
   * Who got the message before it and isn't here any more, or is another Actor under the same id,
   * isn't written to unless the person says so.
   */
  retain(actors: readonly Pick<Actor, "id" | "created_at">[]): void {
    const { carried, elsewhere, remote, to } = this.#draft;
    if (!carried || elsewhere !== null || remote !== null || !isBlank(this.#draft)) return;
    const at = this.#carriedAt;
    const isHere = (id: string) =>
      actors.some((actor) => actor.id === id && (at === null || actor.created_at <= at));
    const left = to.filter((id) => id.startsWith("@") || isHere(id));
    if (left.length < to.length) this.update({ to: left, carried: true });
  }

  /** The other window's text replaces this one. */
  takeOther(): void {
    if (this.#other === null) return;
    const { draft, base } = this.#other;
    this.#adopt(draft, base);
  }

  /** This text replaces the other window's. */
  keepMine(): void {
    if (this.#other === null) return;
    this.#base = this.#other.base;
    this.#other = null;
    this.#keepHere();
    this.#schedule(0);
    this.changed();
  }

  /**
   * The idempotency key of the draft as it is: the same until it is accepted or changed, even over
   * reloads, so that a lost answer never makes two messages.
   */
  keyOf(draft: Readonly<Draft>): string {
    const content = contentOf(draft);
    const attempt = this.#attempt;
    if (attempt?.content === content) return attempt.id;
    const id = crypto.randomUUID();
    this.#host.remember(this.#attemptKey, { content, id, waiting: false });
    return id;
  }

  /**
   * The key of a message whose answer is still to come; null until the stored draft has been read.
   */
  get attempted(): string | null {
    return this.#known ? (this.#attempt?.id ?? null) : null;
  }

  /** Whether the draft, as it is, should be sent again automatically. Remembered with its key. */
  wait(waiting: boolean): void {
    const attempt = this.#attempt;
    if (attempt === null || attempt.content !== contentOf(this.#draft)) return;
    this.#host.remember(this.#attemptKey, { ...attempt, waiting });
    this.changed();
  }

  get waiting(): boolean {
    const attempt = this.#known || this.#dirty ? this.#attempt : null;
    return attempt?.waiting === true && attempt.content === contentOf(this.#draft);
  }

  /** The attempted message was accepted, as its event shows, so it is no longer a draft. */
  taken(event: MessageEvent | null = null): void {
    if (this.#attempt?.content === contentOf(this.#draft)) this.clear(event);
    this.#host.remember(this.#attemptKey, null);
  }

  /** Saves at once and stops; the copy here stays until it is acknowledged. */
  close(): void {
    this.#closed = true;
    if (this.#again !== null) clearTimeout(this.#again);
    if (this.#dirty) void this.#save();
  }

  get #key(): string {
    return `draft/${this.groupId}`;
  }

  get #attemptKey(): string {
    return `sending/${this.groupId}`;
  }

  get #attempt(): { content: string; id: string; waiting: boolean } | null {
    const kept = this.#host.recall(this.#attemptKey) as Record<string, unknown> | null;
    return typeof kept?.["content"] === "string" && typeof kept["id"] === "string"
      ? { content: kept["content"], id: kept["id"], waiting: kept["waiting"] === true }
      : null;
  }

  #keepHere(): void {
    this.#host.remember(this.#key, { ...this.#draft, base: this.#base, carriedAt: this.#carriedAt });
  }

  /** Acknowledged: the copy is removed, unless it belongs to another window of the same browser. */
  #forgetHere(): void {
    const kept = readDraft(this.#host.recall(this.#key));
    if (kept === null || contentOf(kept) === contentOf(this.#draft)) this.#host.remember(this.#key, null);
  }

  #adopt(draft: Draft, base: string | null): void {
    this.#revision += 1;
    this.#draft = { ...draft, carried: isBlank(draft) };
    this.#carriedAt = base;
    this.#base = base;
    this.#other = null;
    this.#dirty = false;
    this.#host.remember(this.#key, null);
    this.changed();
  }

  #schedule(after: number): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#save(), after);
  }

  async #save(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    while (this.#saving !== null) await this.#saving;
    if (!this.#dirty || this.#other !== null) return;
    this.#saving = this.#saveNow();
    await this.#saving;
    this.#saving = null;
  }

  async #saveNow(): Promise<void> {
    const draft = this.#draft;
    this.#unanswered = [...this.#unanswered, contentOf(draft)].slice(-UNANSWERED);
    try {
      this.#base = await this.#put(draft);
      this.#unanswered = [];
      if (this.#draft !== draft) {
        this.#keepHere();
        if (!this.#closed) this.#schedule(SAVE_AFTER_MS);
        return;
      }
      this.#dirty = false;
      this.#forgetHere();
      this.changed();
    } catch (error) {
      const overtaken = error instanceof HostError && error.code === "conflict";
      if (!this.#closed && !(overtaken && (await this.#meet()))) this.#schedule(RETRY_AFTER_MS);
    }
  }

  /**
   * The daemon has another text than this one was based on. If it is this window's own, whose
   * answer got lost, this one replaces it. If another window was first, nothing of it is lost: it
   * is part of this text, or takes its empty place, or the person chooses.
   */
  async #meet(): Promise<boolean> {
    try {
      const { draft, updated_at: updatedAt } = await this.#host.call("draft_get", { group_id: this.groupId });
      const theirs = readDraft(draft);
      const isOwn = theirs !== null && this.#unanswered.includes(contentOf(theirs));
      if (theirs === null || isOwn || contains(this.#draft, theirs)) {
        this.#base = updatedAt;
        this.#schedule(0);
      } else if (isBlank(this.#draft)) this.#adopt(theirs, updatedAt);
      else {
        this.#other = { draft: theirs, base: updatedAt };
        this.changed();
      }
      return true;
    } catch {
      return false;
    }
  }

  /** The version that the daemon keeps now. */
  async #put(draft: Draft): Promise<string | null> {
    const { updated_at: updatedAt } = await this.#host.call("draft_put", {
      group_id: this.groupId,
      based_on: this.#base,
      draft: isEmpty(draft)
        ? null
        : {
            text: draft.text,
            to: draft.to,
            message_mode: draft.mode,
            ...(draft.replyTo === null ? {} : { reply_to: draft.replyTo }),
            ...(draft.quote === null ? {} : { quote_text: draft.quote }),
            ...(draft.elsewhere === null ? {} : { dst_group_id: draft.elsewhere }),
            ...(draft.remote === null ? {} : { dst_remote: draft.remote }),
            refs: draft.refs,
            attachments: draft.attachments.map(({ sha256, name, mime_type: mimeType, bytes }) => ({
              sha256,
              name,
              mime_type: mimeType,
              bytes,
            })),
          },
    });
    return updatedAt;
  }
}

/** To whom a reply went; `before` if they are in another Group. */
function answered(
  sent: MessageEvent | null,
  { to, elsewhere, remote }: Pick<Draft, "to" | "elsewhere" | "remote">,
): Pick<Draft, "to" | "elsewhere" | "remote"> {
  const isHere = sent?.data.dst_group_id === undefined && sent?.data.dst_instance_id === undefined;
  const those = sent?.data.to.filter((id) => id !== "user") ?? [];
  return isHere && those.length > 0
    ? { to: those, elsewhere: null, remote: null }
    : { to, elsewhere, remote };
}

/** A draft from the browser or the daemon; null when there is none or it isn't valid. */
function readDraft(value: unknown): Draft | null {
  if (typeof value !== "object" || value === null) return null;
  const kept = value as Record<string, unknown>;
  if (typeof kept["text"] !== "string") return null;
  const mode = kept["mode"] ?? kept["message_mode"];
  const replyTo = kept["replyTo"] ?? kept["reply_to"];
  const quote = kept["quote"] ?? kept["quote_text"];
  const elsewhere = kept["elsewhere"] ?? kept["dst_group_id"];
  return {
    text: kept["text"],
    to: Array.isArray(kept["to"]) ? kept["to"].filter((to) => typeof to === "string") : [],
    mode: mode === "mail" || mode === "request_reply" ? mode : "send",
    replyTo: typeof replyTo === "string" ? replyTo : null,
    quote: typeof quote === "string" ? quote : null,
    elsewhere: typeof elsewhere === "string" ? elsewhere : null,
    remote: readPlace(kept["remote"] ?? kept["dst_remote"]),
    refs: Array.isArray(kept["refs"]) ? kept["refs"].flatMap(readReference) : [],
    attachments: Array.isArray(kept["attachments"]) ? kept["attachments"].flatMap(readAttachment) : [],
    carried: kept["carried"] === true,
  };
}

function readPlace(value: unknown): RemotePlace | null {
  if (typeof value !== "object" || value === null) return null;
  const {
    instance_id: instanceId,
    instance_name: instanceName,
    group_id: groupId,
    title,
  } = value as Record<string, unknown>;
  return typeof instanceId === "string" &&
    typeof instanceName === "string" &&
    typeof groupId === "string" &&
    typeof title === "string"
    ? { instance_id: instanceId, instance_name: instanceName, group_id: groupId, title }
    : null;
}

function readReference(value: unknown): Reference[] {
  const { kind, slot, event_id: eventId, title } = (value ?? {}) as Record<string, unknown>;
  if (kind === PRESENTATION_REFERENCE)
    return isSlot(slot) && typeof eventId === "string" && typeof title === "string"
      ? [{ kind: PRESENTATION_REFERENCE, slot, event_id: eventId, title }]
      : [];
  const place = readPlace(value);
  return place === null ? [] : [{ kind: GROUP_REFERENCE, ...place }];
}

function readAttachment(value: unknown): Uploaded[] {
  if (typeof value !== "object" || value === null) return [];
  const { sha256, name, mime_type: mimeType, bytes } = value as Record<string, unknown>;
  if (typeof sha256 !== "string" || typeof name !== "string") return [];
  return [
    {
      sha256,
      name,
      mime_type: typeof mimeType === "string" ? mimeType : "application/octet-stream",
      bytes: typeof bytes === "number" ? bytes : 0,
    },
  ];
}
