/** `<svc-search>`: messages of the Group that contain the words, newest first, in pages. */
import { html, nothing, type PropertyValues } from "lit";
import { createRef, ref } from "lit/directives/ref.js";
import type { MessageEvent as Message } from "../../shared/events.ts";
import { shownText } from "../../shared/foreign-text.ts";
import { addressOf, partiesOf } from "../../shared/message-parties.ts";
import { failure, iconButton, skeleton } from "../controls/controls.ts";
import { icon } from "../controls/icons.ts";
import { roving } from "../controls/roving.ts";
import { button } from "../controls/toolkit.ts";
import { View } from "../controls/view.ts";
import type { Host } from "../hosts/host.ts";
import type { Conversation } from "./conversation.ts";
import { excerpt } from "./excerpt.ts";

const AFTER_MS = 200;
const PAGE = 30;

class SearchElement extends View {
  static override readonly properties = {
    conversation: { attribute: false },
    host: { attribute: false },
    given: {},
    query: { state: true },
    found: { state: true },
    more: { state: true },
    busy: { state: true },
    problem: { state: true },
  };
  declare conversation: Conversation;
  declare host: Host;
  /** What to search for, as the address says. */
  declare given: string;
  declare query: string;
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
    this.query = "";
    this.found = null;
    this.more = null;
    this.busy = false;
    this.problem = null;
    roving(this, { selector: ".hit" });
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (!changed.has("given") || this.given === this.query.trim()) return;
    this.query = this.given;
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
        ${iconButton({ icon: "link", label: "Copy a link to this search", onClick: () => this.tell("copy-link", { search: this.query.trim() }) })}
        ${iconButton({ icon: "close", label: "Close the search", keys: "Esc", onClick: () => this.tell("close-search") })}
      </div>
      <div class="search-results" aria-busy=${this.busy}>
        ${failure(this.problem)} ${this.#results()}
      </div>
    </search>`;
  }

  #results() {
    const { found } = this;
    if (found === null)
      return this.busy
        ? skeleton(4, "feed")
        : html`<p class="hint pad">Finds messages that contain all of the words.</p>`;
    if (found.length === 0)
      return html`<p class="hint pad" role="status">Nothing found for “${this.query.trim()}”.</p>`;
    return html`<p class="only-heard" role="status">${found.length} found</p>
      <ul class="hits">
        ${found.map((event) => html`<li>${this.#hit(event)}</li>`)}
      </ul>
      ${this.more === null ? nothing : button({ label: this.busy ? "Searching…" : "Older", disabled: this.busy, onClick: () => void this.#search(true) })}`;
  }

  #hit(event: Message) {
    const parties = partiesOf(event, (id) => this.conversation.group.name(id));
    return html`<button type="button" class="hit" @click=${() => this.tell("found", event.id)}>
      <span class="hit-head"
        ><span class="sender"><bdi>${parties.sender}</bdi></span><span class="arrow" aria-hidden="true">→</span><span class="recipients"><bdi>${addressOf(parties)}</bdi></span
        ><svc-time class="when" value=${event.ts}></svc-time
      ></span>
      <span class="hit-text">${excerpt(shownText(event.data.text), this.query).map((part) => (part.match ? html`<mark>${part.text}</mark>` : part.text))}</span>
    </button>`;
  }

  readonly #onInput = (event: Event): void => {
    this.query = (event.target as HTMLInputElement).value;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.tell("searched", this.query.trim());
      void this.#search(false);
    }, AFTER_MS);
  };

  readonly #onKey = (event: KeyboardEvent): void => {
    if (event.key !== "ArrowDown" && event.key !== "Enter") return;
    event.preventDefault();
    this.querySelector<HTMLElement>(".hit")?.focus();
  };

  async #search(older: boolean): Promise<void> {
    this.#asking?.abort();
    const query = this.query.trim();
    if (query === "") {
      this.found = null;
      this.more = null;
      return;
    }
    const asking = new AbortController();
    this.#asking = asking;
    this.busy = true;
    this.problem = null;
    try {
      const page = await this.host.call(
        "ledger_search",
        {
          group_id: this.conversation.groupId,
          query,
          limit: PAGE,
          kinds: ["chat.message"],
          ...(older && this.more !== null ? { before: this.more } : {}),
        },
        { signal: asking.signal },
      );
      const events = page.events.toReversed().filter((event) => event.kind === "chat.message");
      this.found = older ? [...(this.found ?? []), ...events] : events;
      this.more = page.continue_before ?? (page.has_more ? (page.events[0]?.id ?? null) : null);
    } catch (error) {
      if (!asking.signal.aborted) this.problem = error instanceof Error ? error.message : String(error);
    } finally {
      if (this.#asking === asking) this.busy = false;
    }
  }
}

customElements.define("svc-search", SearchElement);
