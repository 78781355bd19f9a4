/** Ways to begin a message from another one. What is already written stays, before it. */
import { shownText } from "../../../shared/foreign-text.ts";
import { LIMITS } from "../../../shared/limits.ts";
import { partiesOf, senderWithPlace } from "../../../shared/message-parties.ts";
import type { MessageAction } from "../../feed/message.ts";
import type { Uploaded } from "../../hosts/host.ts";
import type { Conversation } from "../../state/conversation.ts";
import { isBlank } from "../../state/draft.ts";

export type Rewriting = MessageAction & { kind: "quote" | "forward" | "edit" };

export function isRewriting(action: MessageAction): action is Rewriting {
  return action.kind === "quote" || action.kind === "forward" || action.kind === "edit";
}

/** A text as a quotation in Markdown. */
export function quoted(text: string): string {
  return text
    .trimEnd()
    .split("\n")
    .map((line) => (line === "" ? ">" : `> ${line}`))
    .join("\n");
}

/**
 * The draft goes to an Actor as well. Waits for the stored draft: one that is begun before it was
 * read would stand against it.
 */
export async function writeTo({ draft: keeper, draftRead }: Conversation, actorId: string): Promise<void> {
  await draftRead;
  const { draft } = keeper;
  const to = draft.remote === null && !draft.carried ? draft.to : [];
  if (!to.includes(actorId)) keeper.update({ to: [...to, actorId], elsewhere: null, remote: null });
}

/** Adds to the draft, after what is already written. */
export async function addText(
  { draft: keeper, draftRead }: Conversation,
  text: string,
  files: readonly Uploaded[] = [],
): Promise<void> {
  await draftRead;
  const { text: written, attachments } = keeper.draft;
  const before = written.trimEnd();
  const known = new Set(attachments.map(({ sha256 }) => sha256));
  const more = files.filter(({ sha256 }) => !known.has(sha256));
  keeper.update({
    text: before === "" ? text : `${before}\n\n${text}`,
    attachments: [...attachments, ...more].slice(0, LIMITS.message.attachments),
  });
}

/** Quotes or forwards a message, or makes the person's own one a draft again. */
export async function rewrite(conversation: Conversation, action: Rewriting): Promise<void> {
  const { event, kind, quote } = action;
  const { data } = event;
  const text = shownText(data.text);
  if (kind === "quote") return addText(conversation, `${quoted(quote ?? text)}\n\n`);
  if (kind === "forward") {
    const sender = senderWithPlace(partiesOf(event, (id) => conversation.group.name(id)));
    const who = sender === "you" ? "I wrote:" : `${sender} wrote:`;
    return addText(conversation, `${who}\n\n${quoted(text)}\n\n`, data.attachments);
  }
  await conversation.draftRead;
  const isFirst = isBlank(conversation.draft.draft);
  await addText(conversation, text, data.attachments);
  // A draft that was begun keeps its own destination.
  if (isFirst && data.dst_instance_id === undefined)
    conversation.draft.update({
      mode: data.message_mode,
      to: data.to.filter((to) => to.startsWith("@") || conversation.group.actors.some(({ id }) => id === to)),
    });
}
