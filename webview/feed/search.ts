/**
 * `<svc-search>`: messages of the Group that contain the words and pass the filters, newest first,
 * in pages.
 */

import { html, nothing, type PropertyValues } from "lit";
import { createRef, ref } from "lit/directives/ref.js";
import { type MessageFilter, NO_FILTER } from "../../shared/address.ts";
import type { MessageEvent as Message } from "../../shared/events.ts";
import { shownText } from "../../shared/foreign-text.ts";
import { addressOf, partiesOf, senderWithPlace } from "../../shared/message-parties.ts";
import { failure, iconButton, skeleton } from "../controls/controls.ts";
import { icon } from "../controls/icons.ts";
import { roving } from "../controls/roving.ts";
import { button } from "../controls/toolkit.ts";
import { View } from "../controls/view.ts";
import type { Host } from "../hosts/host.ts";
import type { Conversation } from "../state/conversation.ts";
import { excerpt } from "./excerpt.ts";
import { searchFilters } from "./search-filters.ts";

const AFTER_MS = 200;
const PAGE = 30;

class SearchElement extends View {
  static override readonly properties = {
    conversation: { attribute: false },
    host: { attribute: false },
    given: {},
    givenFilter: { attribute: false },
    query: { state: true },
    filter: { state: true },
    found: { state: true },
    more: { state: true },
    busy: { state: true },
    problem: { state: true },
  };
  declare conversation: Conversation;
  declare host: Host;
  /** What to search for, as the address says. */
  declare given: string;
  declare givenFilter: MessageFilter;
  declare query: string;
  declare filter: MessageFilter;
  declare found: readonly Message[] | null;
  /** Where the next page begins; null at the end. */
  declare more: string | null;
  declare busy: boolean;
  declare problem: string | null;
  readonly #field = createRef<HTMLInputElement>();
  #timer: ReturnType<typeof setTimeout> | null = null;
  #asking: AbortController | null = null;

  constructor() {
    super();
    this.given = "";
    this.givenFilter = NO_FILTER;
    this.query = "";
    this.filter = NO_FILTER;
    this.found = null;
    this.more = null;
    this.busy = false;
    this.problem = null;
    roving(this, { selector: ".hit" });
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    const isNew =
      (changed.has("given") && this.given !== this.query.trim()) ||
      (changed.has("givenFilter") && !isSame(this.givenFilter, this.filter));
    if (!isNew) return;
    this.query = this.given;
    this.filter = this.givenFilter;
    void this.#search(false);
  }

  protected override firstUpdated(): void {
    this.#field.value?.focus();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#asking?.abort();
  }

  protected override render() {
    return html`<search class="search">
      <div class="search-bar">
        ${icon("search")}
        <input
          ${ref(this.#field)}
          class="search-field"
          type="text"
          aria-label="Search in this Group"
          placeholder="Words in messages"
          .value=${this.query}
          @input=${this.#onInput}
          @keydown=${this.#onKey}
        />
        ${iconButton({ icon: "link", label: "Copy a link to this search", onClick: () => this.tell("copy-link", this.#sought) })}
        ${iconButton({ icon: "close", label: "Close the search", keys: "Esc", onClick: () => this.tell("close-search") })}
      </div>
      ${searchFilters({
        filter: this.filter,
        actors: this.conversation.group.actors,
        onFilter: (filter) => {
          this.filter = filter;
          this.#sayAndSearch();
        },
        onDate: (day) => void this.#goTo(day),
      })}
      <div class="search-results" aria-busy=${this.busy}>
        ${failure(this.problem)} ${this.#results()}
      </div>
    </search>`;
  }

  #results() {
    const { found } = this;
    if (found === null)
      return this.busy ? skeleton(4, "feed") : html`<p class="hint pad">Type words, or choose filters.</p>`;
    if (found.length === 0) return html`<p class="hint pad" role="status">${this.#nothing()}</p>`;
    return html`<p class="hint pad found-count" role="status">${this.more === null ? found.length : `${found.length}+`} found</p>
      <ul class="hits">
        ${found.map((event) => html`<li>${this.#hit(event)}</li>`)}
      </ul>
      ${this.more === null ? nothing : button({ label: this.busy ? "Searching…" : "Older", disabled: this.busy, onClick: () => void this.#search(true) })}`;
  }

  #nothing(): string {
    const query = this.query.trim();
    const words = query === "" ? "" : ` for “${query}”`;
    return isSame(this.filter, NO_FILTER)
      ? `Nothing found${words}.`
      : `Nothing found${words} with these filters.`;
  }

  get #sought(): { search: string; filter: MessageFilter } {
    return { search: this.query.trim(), filter: this.filter };
  }

  #sayAndSearch(): void {
    this.tell("searched", this.#sought);
    void this.#search(false);
  }

  /** Goes to the first message of that day, or of the next day that has one. */
  async #goTo(day: Date): Promise<void> {
    const { conversation } = this;
    this.problem = null;
    try {
      const { event_id: eventId } = await this.host.call("ledger_since", {
        group_id: conversation.groupId,
        ts: day.toISOString(),
        kinds: ["chat.message"],
      });
      if (!this.isConnected || this.conversation !== conversation) return;
      if (eventId === null) this.problem = "There is no message on that day or later.";
      else this.tell("found", eventId);
    } catch (error) {
      this.problem = error instanceof Error ? error.message : String(error);
    }
  }

  #hit(event: Message) {
    const parties = partiesOf(event, (id) => this.conversation.group.name(id));
    return html`<button type="button" class="hit" @click=${() => this.tell("found", event.id)}>
      <span class="hit-head"
        ><span class="sender"><bdi>${senderWithPlace(parties)}</bdi></span><span class="arrow" aria-hidden="true">→</span><span class="recipients"><bdi>${addressOf(parties)}</bdi></span
        ><svc-time class="when" value=${event.ts}></svc-time
      ></span>
      <span class="hit-text">${excerpt(shownText(event.data.text), this.query).map((part) => (part.match ? html`<mark>${part.text}</mark>` : part.text))}</span>
    </button>`;
  }

  readonly #onInput = (event: Event): void => {
    this.query = (event.target as HTMLInputElement).value;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#sayAndSearch(), AFTER_MS);
  };

  readonly #onKey = (event: KeyboardEvent): void => {
    if (event.key !== "ArrowDown" && event.key !== "Enter") return;
    event.preventDefault();
    this.querySelector<HTMLElement>(".hit")?.focus();
  };

  async #search(older: boolean): Promise<void> {
    this.#asking?.abort();
    const query = this.query.trim();
    if (query === "" && isSame(this.filter, NO_FILTER)) {
      this.found = null;
      this.more = null;
      this.busy = false;
      return;
    }
    const asking = new AbortController();
    this.#asking = asking;
    this.busy = true;
    this.problem = null;
    const { actor, mode, open, files } = this.filter;
    const asked = {
      group_id: this.conversation.groupId,
      query,
      limit: PAGE,
      kinds: ["chat.message"],
      ...(actor === null ? {} : { actor }),
      ...(mode === null ? {} : { message_mode: mode }),
      open,
      files,
    };
    let before = older ? this.more : null;
    try {
      // One call looks at a bounded part of a large Group, and may find nothing in it.
      for (;;) {
        const { events, continue_before: next } = await this.host.call(
          "ledger_search",
          { ...asked, ...(before === null ? {} : { before }) },
          { signal: asking.signal },
        );
        before = next;
        if (asking.signal.aborted) return;
        if (events.length === 0 && before !== null) continue;
        const messages = events.toReversed().filter((event) => event.kind === "chat.message");
        this.found = older ? [...(this.found ?? []), ...messages] : messages;
        this.more = before;
        return;
      }
    } catch (error) {
      if (!asking.signal.aborted) this.problem = error instanceof Error ? error.message : String(error);
    } finally {
      if (this.#asking === asking) this.busy = false;
    }
  }
}

function isSame(a: MessageFilter, b: MessageFilter): boolean {
  return a.actor === b.actor && a.mode === b.mode && a.open === b.open && a.files === b.files;
}

customElements.define("svc-search", SearchElement);
