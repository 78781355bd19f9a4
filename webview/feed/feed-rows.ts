/** The rows of a feed with what separates them, and what it says while there are no messages. */
import { html, nothing, type TemplateResult } from "lit";
import type { Address } from "../../shared/address.ts";
import type { LedgerEvent, MessageEvent as Message } from "../../shared/events.ts";
import { day, exact, sameDay } from "../../shared/time-words.ts";
import { icon } from "../controls/icons.ts";
import { button } from "../controls/toolkit.ts";
import type { Host } from "../hosts/host.ts";
import type { Conversation } from "../state/conversation.ts";
import { type EventWords, eventWords } from "./event-words.ts";
import { messageLabel } from "./message-label.ts";

/** Messages of one sender to the same people within this time share a header. */
const CONTINUED_MS = 3 * 60_000;

interface Shown {
  conversation: Conversation;
  host: Host;
  mayWrite: boolean;
}

/** Give the same `name` each time: a message is drawn again for another function. */
export function feedRow(
  row: LedgerEvent,
  before: LedgerEvent | undefined,
  shown: Shown,
  name: (id: string) => string,
): TemplateResult {
  const { conversation, host, mayWrite } = shown;
  const { feed, group } = conversation;
  const newDay = before === undefined || !sameDay(before.ts, row.ts);
  const isNew = row.id === feed.newFrom?.id;
  const line = (what: string, label: string) =>
    html`<div class=${what} role="separator" aria-label=${label}><span>${label}</span></div>`;
  const separator = html`${newDay ? line("day", day(row.ts, Date.now())) : nothing}${isNew ? line("day new-from", "New") : nothing}`;
  if (row.kind !== "chat.message") {
    const words = eventWords(row, name);
    return html`${separator}
      <div class="system" data-row=${row.id} title=${exact(row.ts)}>
        ${icon(words.icon)}<span class="system-text">${leading(words, row, conversation)}</span><svc-time class="when" value=${row.ts}></svc-time>
      </div>`;
  }
  const { reply_to: replyTo } = row.data;
  return html`${separator}<svc-message
      role="article"
      aria-label=${messageLabel(row, name)}
      data-row=${row.id}
      .event=${row}
      .status=${feed.status(row.id)}
      .original=${replyTo === undefined ? undefined : feed.original(replyTo)}
      .host=${host}
      .name=${name}
      .names=${group.actors}
      ?continued=${!newDay && !isNew && continues(before, row)}
      ?mayWrite=${mayWrite}
    ></svc-message>`;
}

/** The sentence; what it names can be opened, by Enter on the row as well (feed.ts). */
function leading({ text, leads }: EventWords, row: LedgerEvent, { slots }: Conversation) {
  if (leads === undefined || row.kind !== "presentation.publish") return text;
  const { slot } = row.data;
  const isShown = slots.list.some(({ event_id: id }) => id === row.id);
  const to: Partial<Address> = { groupId: row.group_id, slot, versionId: isShown ? null : row.id };
  const open = ({ target }: Event) =>
    target?.dispatchEvent(new CustomEvent("go-to", { detail: to, bubbles: true, composed: true }));
  const at = text.lastIndexOf(leads);
  return html`${text.slice(0, at)}<button type="button" class="link" tabindex="-1" title="Show it beside the conversation" @click=${open}><bdi>${leads}</bdi></button>${text.slice(at + leads.length)}`;
}

interface Empty {
  hasActors: boolean;
  /** Adds an Actor; null for those who may not. */
  add: (() => void) | null;
  /** Begins a message with this text. */
  suggest: (text: string) => void;
}

export function emptyFeed({ hasActors, add, suggest }: Empty): TemplateResult {
  return html`<div class="empty">
    ${icon("comment-discussion", "empty-icon")}
    <h2>No messages yet</h2>
    ${
      hasActors
        ? html`<p>Write to your agents below. For example:</p>
            <ul class="examples">
              ${[
                "What are you working on?",
                "Please run the tests and tell me what fails.",
                "Review the last change and list what you would fix.",
              ].map(
                (text) =>
                  html`<li><button type="button" class="link" @click=${() => suggest(text)}>${text}</button></li>`,
              )}
            </ul>`
        : html`<p>Add an Actor first: an agent that takes part in this Group. Then write to it below.</p>
            ${add === null ? nothing : button({ label: "Add an Actor…", icon: "person-add", primary: true, onClick: add })}`
    }
  </div>`;
}

function continues(before: LedgerEvent | undefined, row: Message): boolean {
  if (before?.kind !== "chat.message" || before.by !== row.by) return false;
  if (Date.parse(row.ts) - Date.parse(before.ts) > CONTINUED_MS) return false;
  const a = before.data;
  const b = row.data;
  return (
    b.reply_to === undefined &&
    a.message_mode === b.message_mode &&
    a.src_group_id === b.src_group_id &&
    a.src_group_title === b.src_group_title &&
    a.source_user_id === b.source_user_id &&
    a.sender_title === b.sender_title &&
    a.dst_instance_id === b.dst_instance_id &&
    a.dst_group_id === b.dst_group_id &&
    a.dst_to?.join() === b.dst_to?.join() &&
    a.to.join() === b.to.join()
  );
}
