/** `<svc-message>`: one message of the feed, with its status and its actions. */

import { html, nothing } from "lit";
import { unsafeHTML } from "lit/directives/unsafe-html.js";
import { NOWHERE } from "../../shared/address.ts";
import type { ChatMessage, MessageEvent as Message } from "../../shared/events.ts";
import { shownText } from "../../shared/foreign-text.ts";
import { isFromElsewhere, partiesOf, placeOf, senderWithPlace } from "../../shared/message-parties.ts";
import type { MessageStatus } from "../../shared/operations/messages.ts";
import { isSlot, PRESENTATION_REFERENCE } from "../../shared/presentation-kind.ts";
import { labelled } from "../../shared/voice.ts";
import { iconButton } from "../controls/controls.ts";
import { copy, copyFrom } from "../controls/copy.ts";
import { icon } from "../controls/icons.ts";
import { opensElsewhere } from "../controls/links.ts";
import type { MenuItem } from "../controls/menu.ts";
import { View } from "../controls/view.ts";
import type { Host } from "../hosts/host.ts";
import { GROUP_REFERENCE } from "../state/draft.ts";
import { colored } from "./colored.ts";
import { deliveryLine, type Offer, settledWords } from "./delivery.ts";
import { type DeliveryWord, deliveries, type RecipientDelivery, settled } from "./delivery-words.ts";
import { flatten } from "./excerpt.ts";
import { initialsOf } from "./initials.ts";
import { renderMarkdown } from "./markdown.ts";

const MODE_WORDS = { send: "", request_reply: "asks for a reply", mail: "Mail" } as const;
const EXCERPT = 160;
/** What the keyboard reaches in a message. Its own link is in its menu too. */
const INSIDE = "a:not(.permalink), button, pre, .table-scroll";
/** A place in a file, such as `src/app.ts:12` or `src/app.ts:12:3`. */
const REFERENCE = /^[^\s:]*[^\s:/]\.[A-Za-z0-9]+:\d{1,7}(?::\d{1,5})?$/;

/** Beyond this a text is cut until the person asks for more. */
const LONG = { characters: 6000, lines: 60 } as const;

function isLong(text: string): boolean {
  return text.length > LONG.characters || text.split("\n", LONG.lines + 1).length > LONG.lines;
}

export interface MessageAction {
  kind: "reply" | "quote" | "forward" | "edit" | "jump" | "cancel" | "withdraw" | "again" | "unread";
  event: Message;
  /** The target of a jump, or who gets it again. */
  target?: string;
  force?: boolean;
  /** Text of this message that the person had selected. */
  quote?: string;
}

export class MessageElement extends View {
  static override readonly properties = {
    event: { attribute: false },
    status: { attribute: false },
    original: { attribute: false },
    host: { attribute: false },
    name: { attribute: false },
    names: { attribute: false },
    continued: { type: Boolean },
    unquoted: { type: Boolean },
    whole: { state: true },
    mayWrite: { type: Boolean },
  };
  declare event: Message;
  declare status: MessageStatus | undefined;
  /**
   * The message this one answers; null when it is gone, undefined when there is none or it isn't
   * known yet.
   */
  declare original: Message | null | undefined;
  declare host: Host;
  declare name: (id: string) => string;
  /** Changes when names do, so that the row follows. */
  declare names: unknown;
  /** The row above has the same sender and recipients, so the header isn't repeated. */
  declare continued: boolean;
  /** What it answers is beside it. */
  declare unquoted: boolean;
  /** A long text is shown whole. */
  declare whole: boolean;
  declare mayWrite: boolean;

  /** The keyboard is inside. */
  #entered = false;

  get #deliveries(): RecipientDelivery[] {
    return this.status === undefined ? [] : deliveries(this.status, this.event.data, this.name);
  }

  constructor() {
    super();
    this.whole = false;
    this.addEventListener("keydown", this.#onKey);
    this.addEventListener("focusout", (event) => {
      if (this.#entered && !this.contains(event.relatedTarget as Node | null)) this.#reach(false);
    });
  }

  /**
   * What the keyboard reaches inside: nothing until Enter on the message, so that Tab passes it in
   * one step.
   */
  get #inside(): HTMLElement[] {
    const all = this.querySelectorAll<HTMLElement>(INSIDE);
    return [...all].filter((element) => element.checkVisibility());
  }

  #reach(entered: boolean): void {
    this.#entered = entered;
    // Nothing that has the focus is cut off.
    if (entered) this.whole = true;
    for (const element of this.querySelectorAll<HTMLElement>(INSIDE)) element.tabIndex = entered ? 0 : -1;
  }

  readonly #onKey = (event: KeyboardEvent): void => {
    if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "Enter" && event.target === this) {
      this.#reach(true);
      this.#inside[0]?.focus();
    } else if (event.key === "Escape" && this.#entered) {
      this.#reach(false);
      this.focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };

  protected override updated(): void {
    this.#linkReferences();
    colored(this);
    // Parts that came in the meantime are as reachable as the rest.
    this.#reach(this.#entered);
  }

  protected override render() {
    const message = this.event.data;
    const list = this.#deliveries;
    const owes = this.status?.obligation_status["user"]?.state === "open";
    this.className = `message ${this.continued ? "continued" : ""} ${owes ? "owes" : ""}`;
    const over = settled(list);
    return html`${this.continued ? nothing : this.#head(message, over)}
      <div class="message-content">
        ${this.continued && over !== null ? settledWords(over) : nothing}
        ${message.reply_to === undefined || this.unquoted ? nothing : this.#reply(message.reply_to, message.quote_text)}
        ${this.#text(message)}
        ${message.insight === undefined ? nothing : html`<p class="insight">${icon("info")}<span>${shownText(message.insight)}</span></p>`}
        ${
          message.attachments.length === 0
            ? nothing
            : html`<div class="files">
                ${message.attachments.map(
                  (file) =>
                    html`<svc-attachment .host=${this.host} groupId=${this.event.group_id} .file=${file}></svc-attachment>`,
                )}
              </div>`
        }
        ${this.#mentions(message)} ${this.#shown(message)}
        ${over === null ? deliveryLine(list, this.#offer(list, owes)) : nothing}
      </div>
      ${this.#actions(message, list, owes)}`;
  }

  #head(message: ChatMessage, over: readonly DeliveryWord[] | null) {
    const mode = MODE_WORDS[message.message_mode];
    const mine = this.event.by === "user";
    const { sender, recipients: to, from, to: elsewhere, mark } = partiesOf(this.event, this.name);
    const address = [...(to.length === 0 ? [] : [to.join(", ")]), ...(elsewhere === null ? [] : [elsewhere])];
    return html`<div class="message-head">
      ${mine || message.source_user_id === "user" ? icon("account", "who-icon") : initialsOf(sender, isFromElsewhere(message) ? sender : this.event.by)}
      <span class="sender"><bdi>${sender}</bdi></span>
      ${
        address.length === 0
          ? nothing
          : html`<span class="arrow" aria-hidden="true">→</span><span class="only-heard">to</span
              ><span class="recipients" title=${address.join(" · ")}><bdi>${to.slice(0, 4).join(", ")}</bdi>${to.length > 4 ? ` +${to.length - 4}` : nothing}${elsewhere === null ? nothing : html`${to.length === 0 ? nothing : " · "}<bdi>${elsewhere}</bdi>`}</span>`
      }
      ${mode === "" ? nothing : html`<span class="mode">${icon(message.message_mode === "mail" ? "mail" : "reply")}${mode}</span>`}
      ${
        from === null && mark === null
          ? nothing
          : html`<span class="mode from" title=${mark ?? nothing}>${icon(mark === null ? "references" : "plug")}${mark === null ? "from " : html`<span class="outside">${mark}</span>${from === null ? nothing : "·"}`}<bdi>${from ?? ""}</bdi></span>`
      }
      <span class="head-end">
        ${over === null ? nothing : settledWords(over)}
        <a
          class="permalink"
          tabindex="-1"
          href=${this.host.addresses.href({ ...NOWHERE, groupId: this.event.group_id, eventId: this.event.id })}
          @click=${this.#onPermalink}
          ><svc-time class="when" value=${this.event.ts}></svc-time
        ></a>
      </span>
    </div>`;
  }

  #reply(replyTo: string, quote: string | undefined) {
    const original = this.original;
    const who =
      original === null || original === undefined ? "" : senderWithPlace(partiesOf(original, this.name));
    const text =
      quote ?? original?.data.text ?? (original === null ? "a message that no longer exists" : "…");
    const excerpt = flatten(shownText(text.slice(0, 4 * EXCERPT))).slice(0, EXCERPT);
    return html`<button
      type="button"
      class="quoted"
      title="Go to the message this one answers"
      tabindex="-1"
      @click=${() => this.#act({ kind: "jump", event: this.event, target: replyTo })}
    >
      ${icon("reply")}<span class="quoted-who">${who}</span><span class="quoted-text" dir="auto">${excerpt}</span>
    </button>`;
  }

  #text(message: ChatMessage) {
    if (message.text === "") return nothing;
    const isCut = isLong(message.text) && !this.whole;
    const cut = isCut ? "cut" : "";
    const text =
      message.format === "markdown"
        ? html`<div class="markdown ${cut}" @click=${this.#onTextClick}>${unsafeHTML(renderMarkdown(message.text))}</div>`
        : html`<div class="plain ${cut}" dir="auto">${shownText(message.text)}</div>`;
    if (!isLong(message.text)) return text;
    return html`${text}<button
        type="button"
        class="link show-more"
        tabindex="-1"
        aria-expanded=${!isCut}
        @click=${() => (this.whole = isCut)}
      >
        ${isCut ? "Show more" : "Show less"}
      </button>`;
  }

  /** Groups of other instances that it mentions. */
  #mentions(message: ChatMessage) {
    const places = message.refs
      .filter((reference) => reference["kind"] === GROUP_REFERENCE)
      .map((reference) => placeOf(reference["title"], reference["instance_name"]));
    if (places.length === 0) return nothing;
    return html`<p class="mentions">${icon("references")}<span>mentions <bdi>${places.join(", ")}</bdi></span></p>`;
  }

  /** Slots that it refers to. */
  #shown(message: ChatMessage) {
    return message.refs.map(({ kind, slot, title, event_id: eventId }) => {
      if (kind !== PRESENTATION_REFERENCE || !isSlot(slot)) return nothing;
      const named = typeof title === "string" && title.trim() !== "" ? labelled(title) : `Slot ${slot}`;
      const versionId = typeof eventId === "string" ? eventId : null;
      return html`<p class="mentions">
        ${icon("eye")}<button
          type="button"
          class="link"
          tabindex="-1"
          title="Show it beside the conversation"
          @click=${() => this.tell("go-to", { groupId: this.event.group_id, slot, versionId })}
        >
          <bdi>${named}</bdi>
        </button>
      </p>`;
    });
  }

  /** What the person can do about it, beside its state. */
  #offer(list: readonly RecipientDelivery[], owes: boolean): Offer | null {
    if (!this.mayWrite) return null;
    if (owes) return { label: "Reply", title: "Reply (r)", act: () => this.reply() };
    if (!this.#isWaiting(list) || this.event.by !== "user") return null;
    return {
      label: "Withdraw",
      title: "Take it back from those who haven’t got it",
      act: () => this.#withdraw(),
    };
  }

  #isWaiting(list: readonly RecipientDelivery[]): boolean {
    return this.status !== undefined && list.some(({ waits }) => waits);
  }

  #withdraw(): void {
    this.#act({ kind: "withdraw", event: this.event });
  }

  #actions(message: ChatMessage, list: readonly RecipientDelivery[], owes: boolean) {
    return html`<div class="message-actions" role="group" aria-label="Message actions">
      ${
        this.mayWrite
          ? iconButton({
              icon: "reply",
              label: owes ? "Reply as requested" : "Reply",
              keys: "r",
              aside: true,
              onClick: () => this.reply(),
            })
          : nothing
      }
      ${iconButton({
        icon: "copy",
        label: "Copy text",
        aside: true,
        onClick: (event) => void copyFrom(event.currentTarget as HTMLElement, message.text),
      })}
      <svc-menu label="More message actions" aside .items=${() => this.#menu(message, list)}></svc-menu>
    </div>`;
  }

  #menu(message: ChatMessage, list: readonly RecipientDelivery[]): MenuItem[] {
    const items: MenuItem[] = [
      { label: "Copy text", icon: "copy", onSelect: () => void copy(message.text) },
      {
        label: "Show thread",
        icon: "comment-discussion",
        onSelect: () => this.tell("go-to", { groupId: this.event.group_id, threadId: this.event.id }),
      },
      {
        label: "Copy link",
        icon: "link",
        onSelect: () => this.tell("copy-link", { eventId: this.event.id }),
      },
      { label: "Copy message id", icon: "key", onSelect: () => void copy(this.event.id) },
    ];
    if (!this.mayWrite) return items;
    items.push(
      { label: "Mark unread from here", icon: "mail", detail: "u", onSelect: () => this.markUnread() },
      { label: "Quote", icon: "quote", onSelect: () => this.#begin("quote") },
      { label: "Forward…", icon: "forward", onSelect: () => this.#begin("forward") },
    );
    if (this.event.by === "user")
      items.push({ label: "Edit and send again…", icon: "edit", onSelect: () => this.#begin("edit") });
    const open = Object.entries(this.status?.obligation_status ?? {}).some(
      ([recipient, obligation]) => obligation.state === "open" && recipient !== "user",
    );
    if (this.#isWaiting(list))
      items.push({ label: "Withdraw", icon: "discard", onSelect: () => this.#withdraw() });
    if (open) {
      items.push({
        label: "Cancel reply request",
        icon: "circle-slash",
        onSelect: () => this.#act({ kind: "cancel", event: this.event }),
      });
    }
    for (const entry of list) {
      if (entry.again === "no") continue;
      items.push({
        label: `Deliver again to ${entry.who}`,
        icon: "refresh",
        ...(entry.again === "ambiguous" ? { detail: "may arrive twice" } : {}),
        onSelect: () =>
          this.#act({
            kind: "again",
            event: this.event,
            target: entry.recipient,
            force: entry.again === "ambiguous",
          }),
      });
    }
    return items;
  }

  /** In an editor, places in files lead there. */
  #linkReferences(): void {
    if (this.host.openReference === null) return;
    for (const code of this.querySelectorAll(".markdown code")) {
      if (code.closest("pre, a, .reference") !== null || !REFERENCE.test(code.textContent)) continue;
      const button = document.createElement("button");
      button.type = "button";
      button.className = "reference";
      button.tabIndex = -1;
      button.title = "Open in the editor";
      code.replaceWith(button);
      button.append(code);
    }
  }

  /** Starts a reply to this message, quoting what is selected in it. */
  reply(): void {
    this.#begin("reply");
  }

  /** Marks what came from this message on as unread. */
  markUnread(): void {
    this.#act({ kind: "unread", event: this.event });
  }

  #begin(kind: "reply" | "quote" | "forward" | "edit"): void {
    const selection = getSelection();
    const inside = selection !== null && !selection.isCollapsed && this.contains(selection.anchorNode);
    const quote = inside ? selection.toString().trim() : "";
    this.#act({ kind, event: this.event, ...(quote === "" ? {} : { quote }) });
  }

  #act(action: MessageAction): void {
    this.tell("message-action", action);
  }

  readonly #onPermalink = (event: MouseEvent): void => {
    if (opensElsewhere(event)) return;
    event.preventDefault();
    this.#act({ kind: "jump", event: this.event, target: this.event.id });
  };

  readonly #onTextClick = (event: Event): void => {
    if (!(event.target instanceof Element)) return;
    const copyButton = event.target.closest<HTMLElement>(".code-copy");
    if (copyButton !== null) {
      const code = copyButton.closest(".code-block")?.querySelector("code")?.textContent ?? "";
      void copyFrom(copyButton, code);
      return;
    }
    const reference = event.target.closest(".reference");
    if (reference !== null) {
      this.host.openReference?.(reference.textContent);
      return;
    }
    const link = event.target.closest("a");
    if (link === null) return;
    event.preventDefault();
    if (link.href !== "") this.host.openLink(link.href);
  };
}

customElements.define("svc-message", MessageElement);
