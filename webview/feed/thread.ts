/** `<svc-thread>`: a message with all replies to it and to each other, in place of the feed. */
import { html, nothing, type PropertyValues } from "lit";
import { repeat } from "lit/directives/repeat.js";
import type { MessageEvent as Message } from "../../shared/events.ts";
import type { MessageStatus } from "../../shared/operations/messages.ts";
import { failure, iconButton, skeleton } from "../controls/controls.ts";
import { icon } from "../controls/icons.ts";
import { roving } from "../controls/roving.ts";
import { follow, View } from "../controls/view.ts";
import type { Host } from "../hosts/host.ts";
import type { Conversation } from "../state/conversation.ts";
import { messageLabel } from "./message-label.ts";

class ThreadElement extends View {
  static override readonly properties = {
    conversation: { attribute: false },
    host: { attribute: false },
    eventId: {},
    messages: { state: true },
    more: { state: true },
    problem: { state: true },
  };
  declare conversation: Conversation;
  declare host: Host;
  /** Any message of the thread. */
  declare eventId: string;
  declare messages: readonly Message[] | null;
  /** There are more replies than are shown. */
  declare more: boolean;
  declare problem: string | null;
  #statuses: Readonly<Record<string, MessageStatus>> = {};
  /** The newest event of the feed when the thread was read. */
  #readAt: string | undefined;
  #reading = 0;

  constructor() {
    super();
    this.messages = null;
    this.more = false;
    this.problem = null;
    follow(this, () => [this.conversation?.feed, this.conversation?.group]);
    roving(this, { selector: "[data-row]" });
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    const isOther = changed.has("eventId") || changed.has("conversation");
    if (isOther) this.messages = null;
    if (isOther || this.conversation.feed.window.last?.id !== this.#readAt) void this.#read();
  }

  protected override render() {
    const { messages } = this;
    return html`<section class="search thread" aria-label="Thread">
      <header class="search-bar">
        ${icon("comment-discussion")}
        <h2 class="thread-title">Thread</h2>
        ${iconButton({ icon: "link", label: "Copy a link to this thread", onClick: () => this.tell("copy-link", { threadId: this.eventId }) })}
        ${iconButton({ icon: "close", label: "Close the thread", keys: "Esc", onClick: () => this.tell("close-thread") })}
      </header>
      <div class="search-results" aria-busy=${messages === null}>
        ${failure(this.problem)}
        ${messages === null ? (this.problem === null ? skeleton(3, "feed") : nothing) : this.#list(messages)}
      </div>
    </section>`;
  }

  #list(messages: readonly Message[]) {
    const { group, feed } = this.conversation;
    const inside = new Map(messages.map((message) => [message.id, message]));
    const [first] = messages;
    const name = this.#name;
    return html`${repeat(
      messages,
      ({ id }) => id,
      (message) => {
        const { reply_to: replyTo } = message.data;
        // An answer to the first message needs no quote of it.
        const isDirect = replyTo === undefined || replyTo === first?.id;
        return html`<svc-message
          role="article"
          aria-label=${messageLabel(message, name)}
          data-row=${message.id}
          .event=${message}
          .status=${feed.status(message.id) ?? this.#statuses[message.id]}
          .original=${isDirect ? undefined : (inside.get(replyTo) ?? null)}
          .host=${this.host}
          .name=${name}
          .names=${group.actors}
          ?unquoted=${isDirect}
          ?mayWrite=${true}
        ></svc-message>`;
      },
    )}
    ${
      this.more
        ? html`<p class="hint pad">There are more replies. They are in the feed.</p>`
        : html`<p class="hint pad" role="status">${messages.length === 1 ? "No replies yet." : messages.length === 2 ? "1 reply" : `${messages.length - 1} replies`}</p>`
    }`;
  }

  readonly #name = (id: string): string => this.conversation.group.name(id);

  async #read(): Promise<void> {
    const { groupId, feed } = this.conversation;
    const reading = ++this.#reading;
    this.#readAt = feed.window.last?.id;
    try {
      const { events, has_more: hasMore } = await this.host.call("ledger_thread", {
        group_id: groupId,
        event_id: this.eventId,
      });
      const messages = events.filter((event) => event.kind === "chat.message");
      const { statuses } = await this.host.call("ledger_statuses", {
        group_id: groupId,
        event_ids: messages.map(({ id }) => id),
      });
      if (reading !== this.#reading) return;
      this.#statuses = statuses;
      this.messages = messages;
      this.more = hasMore;
      this.problem = null;
    } catch (error) {
      if (reading === this.#reading) this.problem = error instanceof Error ? error.message : String(error);
    }
  }
}

customElements.define("svc-thread", ThreadElement);
