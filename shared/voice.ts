/**
 * How svc tells others' words from its own (docs/protocol.md#names-of-others). On svc's own lines
 * everything that someone else chose stands in “quotation marks”, which it can't close. Ids stand
 * bare. A sender at another instance has a mark that nobody there chooses.
 */

import type { LedgerEvent, MessageEvent } from "./events.ts";
import { quotedName, shownName } from "./foreign-text.ts";
import { ID_PATTERNS } from "./id-patterns.ts";
import { imitates } from "./imitation.ts";

/** Someone else's words in a sentence of svc: on one line, without a way out of the quotation. */
export function quoted(words: string, most?: number): string {
  return `“${quotedName(words, most)}”`;
}

const LABEL_CHARACTERS = 400;
/** Letters, digits and what joins words. */
const PLAIN = /^[\p{L}\p{N}/~._-][\p{L}\p{M}\p{N} _/+#-]*(?:[.:][\p{L}\p{N}][\p{L}\p{M}\p{N} _/+#-]*)*$/u;
const OWN_WORDS = /(?<![\p{L}\p{N}])(?:svc|user|person|system|you|your)(?![\p{L}\p{N}])/iu;

/** The same under a label, where a plain name needs no quotation marks. */
export function labelled(name: string, most: number = LABEL_CHARACTERS): string {
  if (name.trim() === "") return "";
  const isPlain = PLAIN.test(name) && !OWN_WORDS.test(name) && !imitates(name);
  return isPlain ? name : quoted(name, most);
}

/** An id, bare where it can't be anything else. */
export function shownId(id: string): string {
  const isId = Object.values(ID_PATTERNS).some((pattern) => pattern.test(id));
  return isId && !imitates(id) ? id : quoted(id);
}

/** The same for someone of this Home, where `user` and `system` are who they say. */
export function localId(id: string): string {
  return id === "user" || id === "system" ? id : shownId(id);
}

const STEERING = /[\p{Cc}\u2028\u2029]/u;

/**
 * Whether a title that exists may be shown for what it names: nobody could take it for another's.
 */
export function mayStand(title: string): boolean {
  return title.trim() !== "" && !STEERING.test(title) && !imitates(shownName(title));
}

/** A title where it is the whole text of its place: the id instead of one that imitates. */
export function titleOf(title: string, id: string): string {
  return mayStand(title) ? shownName(title) : shownId(id);
}

/** `lead (“Lead”)`; `id` where the title says no more, or imitates. */
export function idAndTitle(id: string, title: string): string {
  return title === id || !mayStand(title) ? shownId(id) : `${shownId(id)} (${quoted(title)})`;
}

/** What the daemon adds to an event that came with an import. */
export interface Marked {
  _imported?: true;
}

const KEY_CHARACTERS = 10;
const CONNECTION_CHARACTERS = 8;

/** The end of an instance's id, which is its public key: enough to tell two apart. */
function shortKey(instanceId: string): string {
  const end = instanceId.slice(-KEY_CHARACTERS);
  return /^[1-9A-HJ-NP-Za-km-z]{10}$/.test(end) ? end : "unknown";
}

function connectionWords(id: unknown): string {
  if (typeof id !== "string") return "this account";
  const [, direct = "", rest = ""] = /^(direct-)?([0-9A-Za-z-]{1,128})$/.exec(id) ?? [];
  if (rest === "") return "connection unknown";
  return `${direct === "" ? "connection" : "Direct"} ${rest.slice(0, CONNECTION_CHARACTERS)}`;
}

/**
 * The mark of what came from another instance: its key and the connection, which svc has checked.
 */
export function outsideMark({
  src_instance_id: instanceId = "",
  connect_message: message,
}: MessageEvent["data"]): string {
  return `outside, key ${shortKey(instanceId)}, ${connectionWords(message?.connection_id)}`;
}

/** `in “Lab” on “office”`. */
function placeWords(title: string, groupId: string, instance = ""): string {
  const group = mayStand(title) ? quoted(title) : shownId(groupId);
  return `in ${group}${mayStand(instance) ? ` on ${quoted(instance)}` : ""}`;
}

/**
 * Who wrote a message, in svc's words: `user`, `lead (“Lead”)`, or with the mark of another
 * instance. Only the person of this Home is ever `user`.
 */
export function senderWords(event: Pick<MessageEvent, "by" | "data"> & Marked): string {
  const { by, data } = event;
  const { src_group_title: groupTitle, source_user_id: id = "", source_user_name: name = "" } = data;
  const groupId = data.src_group_id ?? "";
  const where = groupTitle === undefined ? "" : ` ${placeWords(groupTitle, groupId, data.src_instance_name)}`;
  const imported = event._imported === true ? "imported: " : "";
  if (data.src_instance_id !== undefined) {
    const who = id === "user" ? "a person there" : `Actor ${idAndTitle(id, name)}`;
    return `${imported}[${outsideMark(data)}] ${who}${where}`;
  }
  const who = by === "user" ? authorId(event) : idAndTitle(by, data.sender_title);
  return `${imported}${who}${groupTitle === undefined ? "" : `${where}, another Group here`}`;
}

/** Whoever an import calls its person, or svc, is neither here. */
function authorId({ by, _imported: imported }: { by: string } & Marked): string {
  if (imported !== true || localId(by) === shownId(by)) return localId(by);
  return by === "user" ? "a person" : "another instance";
}

/** Who did it, of any event. */
export function authorWords(event: LedgerEvent & Marked): string {
  if (event.kind === "chat.message") return senderWords(event);
  return `${event._imported === true ? "imported: " : ""}${authorId(event)}`;
}

/** What notices say for svc itself, word for word. */
export const NOTICES = {
  mail_notice: { title: "Unread Mail", message: "You have unread Mail. Read your Inbox." },
  reply_notice: {
    title: "Reply owed",
    message: "A message to you asks for a reply. Answer it, or say why you can't.",
  },
  failed: { title: "Message not delivered" },
  unconfirmed: { title: "Delivery not confirmed" },
} as const;
const OWN: ReadonlySet<string> = new Set(Object.values(NOTICES).flatMap((notice) => Object.values(notice)));

/** A part of a notice on svc's own line: anything but svc's own words may hold others'. */
export function noticeWords(part: string, most?: number): string {
  return OWN.has(part) ? part : quoted(part, most);
}
