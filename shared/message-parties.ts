/**
 * Who wrote a message and to whom, by their shown names. For other instances these are snapshots
 * from when it was sent.
 */

import type { ChatMessage, MessageEvent } from "./events.ts";
import { shownName } from "./foreign-text.ts";
import { lookUp } from "./look-up.ts";
import { labelled, localId, type Marked, mayStand, outsideMark, titleOf } from "./voice.ts";

/** The person of another instance's Group, who has no name there. */
const PERSON = "person";

export interface Parties {
  sender: string;
  recipients: string[];
  /** The other Group that the message came from or went to, if any: "Lab at office". */
  from: string | null;
  to: string | null;
  /**
   * Of what nobody here wrote: where it comes from, as far as svc has checked it. What an import
   * says of that is the import's word.
   */
  mark: string | null;
}

/** What someone elsewhere calls something, in quotation marks where it isn't a plain name. */
function text(value: unknown): string {
  return typeof value === "string" && value.trim() !== "" ? labelled(value) : "";
}

/** "Lab at office". */
export function placeOf(title: unknown, instance: unknown): string {
  const at = text(instance);
  const group = text(title);
  return at === "" ? group : `${group === "" ? "a Group" : group} at ${at}`;
}

/** The name of a recipient at another instance; the id if there is none (MSG-034). */
export function remoteName(id: string, titles: Readonly<Record<string, string>> = {}): string {
  if (id === "user") return PERSON;
  return titleOf(lookUp(titles, id) ?? "", id);
}

/** A recipient as statuses name it: "lead", or "lead elsewhere". */
export function recipientWords(recipient: string): string {
  const id = recipient.replace(/^connect:[^:]+::/u, "");
  return id === recipient ? localId(id) : `${remoteName(id)} elsewhere`;
}

/** Whether a message goes only to the person, as its sender wrote it. */
export function isForPersonAlone(to: readonly unknown[]): boolean {
  return to.length > 0 && to.every((recipient) => recipient === "user");
}

function senderElsewhere({ source_user_id: id = "", sender_title: title }: ChatMessage): string {
  return id === "user" ? "a person there" : labelled(titleOf(title, id));
}

/** The sender where nothing else says that it isn't from here: "lead, outside". */
export function senderWithPlace({ sender, mark }: Pick<Parties, "sender" | "mark">): string {
  return mark === null ? sender : `${sender}, ${mark.split(",", 1)[0]}`;
}

export function isFromElsewhere({ src_instance_id: srcInstanceId }: ChatMessage): boolean {
  return srcInstanceId !== undefined;
}

/** `name` returns the shown name of a local party. */
export function partiesOf(
  { by, data: message, _imported: imported }: Pick<MessageEvent, "by" | "data"> & Marked,
  name: (id: string) => string,
): Parties {
  const {
    dst_instance_id: dstInstanceId,
    dst_group_title: dstGroupTitle,
    dst_to: dstTo,
    src_group_title: srcGroupTitle,
  } = message;
  const parties: Parties = {
    sender: mayStand(message.sender_title) ? shownName(message.sender_title) : name(by),
    recipients: message.to.map((id) => name(id)),
    from: srcGroupTitle === undefined ? null : placeOf(srcGroupTitle, message.src_instance_name),
    to: null,
    mark: isFromElsewhere(message) ? outsideMark(message) : null,
  };
  if (by === "user") parties.sender = imported === true ? "a person" : name("user");
  if (imported === true) parties.mark = parties.mark === null ? "imported" : `imported: ${parties.mark}`;
  if (isFromElsewhere(message)) parties.sender = senderElsewhere(message);
  if (dstInstanceId !== undefined) {
    parties.recipients = (dstTo ?? []).map((id) => remoteName(id, message.dst_actor_titles));
    parties.to = placeOf(dstGroupTitle, message.dst_instance_name);
  } else if (dstGroupTitle !== undefined) {
    parties.recipients = [];
    parties.to = `${labelled(dstGroupTitle)} (another Group)`;
  }
  return parties;
}

/** "lead, reviewer · Lab at office" */
export function addressOf({ recipients, to }: Parties): string {
  return [recipients.join(", "), to ?? ""].filter((part) => part !== "").join(" · ");
}
