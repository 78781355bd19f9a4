/**
 * `<svc-feed>`: the window on a Group's ledger. Loads pages in both directions as it is scrolled,
 * keeps what the person sees in place, remembers the position per Group, and marks as read only
 * what was really seen.
 */
import { html, nothing, type PropertyValues } from "lit";
import { repeat } from "lit/directives/repeat.js";
import { failure, skeleton } from "../controls/controls.ts";
import { icon } from "../controls/icons.ts";
import { roving } from "../controls/roving.ts";
import { follow, View } from "../controls/view.ts";
import type { Host } from "../hosts/host.ts";
import type { Conversation } from "../state/conversation.ts";
import { emptyFeed, feedRow } from "./feed-rows.ts";
import type { MessageElement } from "./message.ts";

/**
 * Pixels from an end at which the next page is requested, and within which the end counts as seen.
 */
const PAGE_AT = 900;
const END_AT = 24;
const KEEP_AFTER_MS = 200;
const FOUND_MS = 1600;

/** Where the person goes in a conversation: to a row, or to the oldest one. */
interface Way {
  conversation: Conversation;
  /** Null for the oldest. */
  eventId: string | null;
  /** The row is drawn. It is shown as soon as it can be measured. */
  drawn: boolean;
  /** The feed follows new rows again if the row isn't there. */
  following: boolean;
}

class FeedElement extends View {
  static override readonly properties = {
    conversation: { attribute: false },
    host: { attribute: false },
    mayWrite: { type: Boolean },
    administrator: { type: Boolean },
  };
  declare conversation: Conversation;
  declare host: Host;
  declare mayWrite: boolean;
  declare administrator: boolean;

  /** The row that stays where it is in the view, and its distance from the view's upper edge. */
  #anchor: { id: string; top: number } | null = null;
  #restored: Conversation | null = null;
  #keepTimer: ReturnType<typeof setTimeout> | null = null;
  #resizes: ResizeObserver | null = null;
  #marked: ReturnType<typeof setTimeout> | undefined;
  /** The scroller whose size and rows are observed. */
  #watched: HTMLElement | null = null;
  /** Until it has arrived, or something else was begun. */
  #way: Way | null = null;
  /** How far it was scrolled, and the scrolled height, when the place was last settled. */
  #top = 0;
  #height = 0;

  constructor() {
    super();
    follow(this, () => [this.conversation?.feed, this.conversation?.group, this.conversation?.slots]);
    this.addEventListener("keydown", (event) => {
      // A message has its own.
      const row = event.key === "Enter" && event.target instanceof Element ? event.target : null;
      if (row?.matches(".system[data-row]") === true) row.querySelector("button")?.click();
    });
    roving(this, { selector: "[data-row]", start: "last", toEnd: (end) => void this.#toEndWithFocus(end) });
  }

  get #scroller(): HTMLElement | null {
    return this.querySelector<HTMLElement>(".feed-scroll");
  }

  protected override render() {
    const { feed, group } = this.conversation;
    if (feed.failure !== null) return html`<div class="feed-scroll">${failure(feed.failure)}</div>`;
    if (!feed.loaded) return html`<div class="feed-scroll">${skeleton(7, "feed")}</div>`;
    const { rows, window } = feed;
    const messages = rows.some((row) => row.kind === "chat.message");
    return html`<div
        class="feed-scroll"
        role="log"
        aria-label="Messages"
        aria-busy=${feed.busy !== null}
        tabindex=${rows.length === 0 ? 0 : nothing}
        @scroll=${this.#onScroll}
      >
        <div class="feed-rows">${window.hasOlder ? html`<div class="feed-edge">${skeleton(2, "feed")}</div>` : nothing}
        ${repeat(
          rows,
          (row) => row.id,
          (row, at) => feedRow(row, rows[at - 1], this, this.#name),
        )}
        ${messages || window.hasOlder ? nothing : this.#empty()}
        ${window.hasNewer ? html`<div class="feed-edge">${skeleton(2, "feed")}</div>` : nothing}</div>
      </div>
      ${feed.newFrom?.met === false ? this.#toNew(feed.newFrom.id) : nothing}
      ${window.unseen > 0 ? this.#pill(window.unseen) : feed.following ? nothing : this.#pill(0)}
      <span class="only-heard">${group.loaded ? "" : "Loading"}</span>`;
  }

  readonly #name = (id: string): string => this.conversation.group.name(id);

  /** New messages begin out of view. */
  #toNew(eventId: string) {
    return html`<button
      type="button"
      class="pill to-new"
      @click=${() => this.tell("go-to", { groupId: this.conversation.groupId, eventId })}
    >
      ${icon("arrow-up")}<span>First unread</span>
    </button>`;
  }

  #pill(unseen: number) {
    return html`<button type="button" class="pill" @click=${() => void this.toEnd()}>
      ${icon("arrow-down")}<span>${unseen > 0 ? `${unseen} new` : "Latest"}</span>
    </button>`;
  }

  #empty() {
    const add = (): void => this.tell("open-dialog", { name: "add-actor" });
    return emptyFeed({
      hasActors: this.conversation.group.actors.length > 0,
      add: this.administrator ? add : null,
      suggest: (text) => this.tell("suggest", text),
    });
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    const before = changed.get("conversation");
    if (before !== undefined) this.#keepLast(before);
    this.#passOn();
  }

  protected override updated(): void {
    const scroller = this.#scroller;
    const { conversation } = this;
    if (scroller === null || !conversation.feed.loaded) return;
    // The rows render after this element: only then can they be measured, still before anything is
    // painted.
    void this.#rendered().then(() => {
      if (scroller.isConnected && this.conversation === conversation) this.#arrange(scroller);
    });
  }

  async #rendered(): Promise<void> {
    await Promise.all(
      [...this.querySelectorAll<MessageElement>("svc-message")].map((row) => row.updateComplete),
    );
  }

  /** Rows were drawn, or they or the view have another size. */
  #arrange(scroller: HTMLElement): void {
    if (this.#watched !== scroller) {
      this.#watched = scroller;
      this.#resizes ??= new ResizeObserver(() => {
        if (this.#watched !== null) this.#arrange(this.#watched);
      });
      this.#resizes.disconnect();
      this.#resizes.observe(scroller);
      const rows = scroller.querySelector(".feed-rows");
      if (rows !== null) this.#resizes.observe(rows);
    }
    if (isLaidOut(scroller)) {
      if (this.#restored !== this.conversation) this.#restore(scroller);
      if (this.#isGoing && this.#way!.drawn) this.#arrive(scroller, this.#way!);
    }
    this.#settle();
  }

  /**
   * A Group was opened: go to the person's place in it. Rows may still grow; then `#settle` keeps
   * the place.
   */
  #restore(scroller: HTMLElement): void {
    this.#restored = this.conversation;
    const { place } = this.conversation;
    const row = place === null ? null : this.#find(place.eventId);
    if (this.#isGoing) this.#way!.following = row === null;
    else this.conversation.feed.following = row === null;
    this.#anchor = row === null || place === null ? null : { id: place.eventId, top: place.offset };
    this.#accept(scroller);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#keepLast(this.conversation);
    this.#resizes?.disconnect();
    this.#resizes = null;
    this.#watched = null;
    this.#restored = null;
  }

  /**
   * After rows or their sizes changed: stay at the end when following, else keep the top row where
   * it was.
   */
  #settle(): void {
    const scroller = this.#scroller;
    const { feed } = this.conversation;
    if (scroller === null || !isLaidOut(scroller)) return;
    if (this.#isGoing || this.#restored !== this.conversation) return;
    const isScrolled = this.#catchUp(scroller);
    let isKept = false;
    if (feed.following && !feed.window.hasNewer) {
      scroller.scrollTop = scroller.scrollHeight;
    } else if (this.#anchor !== null) {
      const row = this.#find(this.#anchor.id);
      const moved = () => (row === null ? Number.NaN : offsetIn(scroller, row) - this.#anchor!.top);
      if (Math.abs(moved()) > 0.5) scroller.scrollTop += moved();
      isKept = Math.abs(moved()) < 1;
    }
    this.#accept(scroller);
    // The same row as long as nobody scrolls: of what can be seen of it now, more may come, such as
    // the states of its delivery.
    if (isScrolled || !isKept) this.#anchor = this.#topRow();
    this.#look();
  }

  /** Keeps the current place from now on. */
  #accept(scroller: HTMLElement): void {
    this.#top = scroller.scrollTop;
    this.#height = scroller.scrollHeight;
  }

  /**
   * What was scrolled since the place was last settled, whether its event has come or not: it must
   * not be undone because rows or states arrived in between. Rows alone never scroll
   * (`overflow-anchor: none`), unless there are fewer of them. Answers whether it was.
   */
  #catchUp(scroller: HTMLElement): boolean {
    const by = scroller.scrollTop - this.#top;
    if (Math.abs(by) < 1) return false;
    const atEnd = (height: number) => height - scroller.scrollTop - scroller.clientHeight <= END_AT;
    if (by < 0 && atEnd(scroller.scrollHeight) && scroller.scrollHeight < this.#height) return false;
    if (this.#anchor !== null) this.#anchor.top -= by;
    const { feed } = this.conversation;
    const following = atEnd(this.#height) && !feed.window.hasNewer;
    if (following !== feed.following) {
      feed.following = following;
      this.requestUpdate();
    }
    return true;
  }

  /** The row that is kept goes, such as an event that is left out: the next one that stays is. */
  #passOn(): void {
    const { feed } = this.conversation;
    const kept = this.#anchor;
    if (kept === null || this.#restored !== this.conversation || feed.window.has(kept.id)) return;
    const rows = [...this.querySelectorAll<HTMLElement>("[data-row]")];
    const at = rows.findIndex((row) => row.dataset["row"] === kept.id);
    const stays = (row: HTMLElement) => feed.window.has(row.dataset["row"]!);
    const next = rows.slice(at + 1).find(stays) ?? rows.slice(0, Math.max(at, 0)).findLast(stays);
    if (at === -1 || next === undefined) return;
    const [from, to] = [rows[at]!, next].map((row) => row.getBoundingClientRect().top);
    this.#anchor = { id: next.dataset["row"]!, top: kept.top + to! - from! };
    this.#keepSoon();
  }

  #find(id: string): HTMLElement | null {
    return this.querySelector<HTMLElement>(`[data-row="${CSS.escape(id)}"]`);
  }

  #topRow(): { id: string; top: number } | null {
    const scroller = this.#scroller;
    if (scroller === null) return null;
    const top = scroller.getBoundingClientRect().top;
    for (const row of this.querySelectorAll<HTMLElement>("[data-row]")) {
      const box = row.getBoundingClientRect();
      if (box.bottom > top + 1) return { id: row.dataset["row"] ?? "", top: box.top - top };
    }
    return null;
  }

  readonly #onScroll = (): void => {
    if (this.#isGoing) return;
    this.#settle();
    this.#keepSoon();
  };

  /** Requests the page that is about to be seen, and marks as read. */
  #look(): void {
    const scroller = this.#scroller;
    const { feed, marks } = this.conversation;
    if (scroller === null || !feed.loaded) return;
    if (feed.newFrom?.met === false && this.shows(feed.newFrom.id)) feed.meetNew();
    const below = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight;
    if (feed.busy === null) {
      if (feed.window.hasOlder && scroller.scrollTop < PAGE_AT) void feed.older();
      else if (feed.window.hasNewer && below < PAGE_AT) void feed.newer();
    }
    if (below > END_AT || feed.window.hasNewer) return;
    feed.seen();
    // Everything that may count as unread.
    const newest = feed.rows.findLast((row) => row.kind === "chat.message" || row.kind === "system.notify");
    if (newest !== undefined) marks.seen(newest.id);
  }

  #keepSoon(): void {
    this.#keepTimer ??= setTimeout(() => {
      this.#keepLast(this.conversation);
      const scroller = this.#scroller;
      if (scroller !== null && isLaidOut(scroller) && !this.#isGoing) this.tell("moved");
    }, KEEP_AFTER_MS);
  }

  /** Keeps the place in `conversation` if the person has moved there since it was kept. */
  #keepLast(conversation: Conversation): void {
    if (this.#keepTimer === null) return;
    clearTimeout(this.#keepTimer);
    this.#keepTimer = null;
    if (this.#restored !== conversation) return;
    const { id, top } = this.#anchor ?? {};
    const isAtEnd = conversation.feed.following || id === undefined || top === undefined;
    conversation.keepPlace(isAtEnd ? null : { eventId: id, offset: Math.round(top) });
  }

  /** Whether a row is in view. */
  shows(eventId: string): boolean {
    const [view, row] = [this.#scroller, this.#find(eventId)].map((one) => one?.getBoundingClientRect());
    return view !== undefined && row !== undefined && row.bottom > view.top && row.top < view.bottom;
  }

  /** Shows the newest message. False when the person went elsewhere meanwhile. */
  async toEnd(): Promise<boolean> {
    const { conversation } = this;
    if (!(await this.#isOpened())) return false;
    this.#way = null;
    await conversation.feed.toEnd();
    await this.#redrawn();
    if (this.conversation !== conversation || this.#isGoing) return false;
    // The first rows may have led to the place from before.
    conversation.feed.following = true;
    conversation.keepPlace(null);
    conversation.marks.release();
    if (this.#scroller !== null) this.#accept(this.#scroller);
    this.#settle();
    return true;
  }

  /**
   * Shows a message from anywhere in the history, and gives it the focus. False when it isn't
   * there. That nobody answers is said elsewhere.
   */
  async jump(eventId: string): Promise<boolean> {
    const { conversation } = this;
    if (!(await this.#isOpened())) return true;
    const way = this.#begin(eventId);
    const found = await conversation.feed.jump(eventId);
    await this.#redrawn();
    if (this.#way !== way || !this.#isGoing) return true;
    if (found === true && this.#find(eventId) !== null) {
      this.#drawn(way);
      return true;
    }
    this.#way = null;
    conversation.feed.following = way.following;
    this.requestUpdate();
    return found === null;
  }

  /** Shows the oldest message. False when the person went elsewhere meanwhile. */
  async toStart(): Promise<boolean> {
    const { conversation } = this;
    if (!(await this.#isOpened())) return false;
    const way = this.#begin(null);
    await conversation.feed.toStart();
    await this.#redrawn();
    if (this.#way !== way || !this.#isGoing) return false;
    this.#drawn(way);
    return true;
  }

  /** Waits until rows are there. False when the person went elsewhere meanwhile. */
  async #isOpened(): Promise<boolean> {
    const { conversation } = this;
    await conversation.feed.opened;
    return this.conversation === conversation && this.isConnected;
  }

  /** The person is on the way to a place in this conversation: nothing else moves the view. */
  get #isGoing(): boolean {
    return this.#way !== null && this.#way.conversation === this.conversation;
  }

  #begin(eventId: string | null): Way {
    const { conversation } = this;
    const { feed } = conversation;
    const following = this.#isGoing ? this.#way!.following : feed.following;
    feed.following = false;
    this.#way = { conversation, eventId, drawn: false, following };
    return this.#way;
  }

  async #redrawn(): Promise<void> {
    this.requestUpdate();
    await this.updateComplete;
    await this.#rendered();
  }

  #drawn(way: Way): void {
    way.drawn = true;
    if (this.#scroller !== null) this.#arrange(this.#scroller);
  }

  /** The way has ended: its row is the new place. */
  #arrive(scroller: HTMLElement, { eventId }: Way): void {
    this.#way = null;
    const row = eventId === null ? null : this.#find(eventId);
    if (row !== null) {
      row.scrollIntoView({ block: "center" });
      row.focus({ preventScroll: true });
      this.#mark(row);
    } else if (eventId === null) scroller.scrollTop = 0;
    const { feed } = this.conversation;
    const below = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight;
    feed.following = below <= END_AT && !feed.window.hasNewer;
    this.#accept(scroller);
    this.#anchor = row === null ? this.#topRow() : { id: row.dataset["row"]!, top: offsetIn(scroller, row) };
    this.#keepSoon();
    this.requestUpdate();
  }

  /** Shows for a moment which row was found. Rows write their classes when they change. */
  #mark(row: HTMLElement): void {
    clearTimeout(this.#marked);
    for (const before of this.querySelectorAll("[data-found]")) before.removeAttribute("data-found");
    row.toggleAttribute("data-found", true);
    this.#marked = setTimeout(() => row.removeAttribute("data-found"), FOUND_MS);
  }

  async #toEndWithFocus(end: "first" | "last"): Promise<void> {
    if (!(await (end === "first" ? this.toStart() : this.toEnd()))) return;
    const rows = this.querySelectorAll<HTMLElement>("[data-row]");
    rows[end === "first" ? 0 : rows.length - 1]?.focus({ preventScroll: true });
  }

  /** Gives the focus to the feed's newest or last focused row. */
  focusRow(): void {
    this.querySelector<HTMLElement>("[data-row][tabindex='0']")?.focus();
  }
}

/** How far below the view's upper edge the row begins. */
function offsetIn(scroller: HTMLElement, row: HTMLElement): number {
  return row.getBoundingClientRect().top - scroller.getBoundingClientRect().top;
}

/**
 * Whether it has a size. An editor gives a webview that it hides, or that it will only show, none:
 * nothing can be measured then, and nobody has moved.
 */
function isLaidOut(scroller: HTMLElement): boolean {
  return scroller.clientWidth > 0 && scroller.clientHeight > 0;
}

customElements.define("svc-feed", FeedElement);

export type { FeedElement };
