/**
 * `<svc-presentations>`: what the Group's four slots show, beside the feed. A page runs in a frame
 * with an opaque origin (docs/presentations.md#what-a-page-can-do).
 */

import { html, nothing, type PropertyValues, type TemplateResult } from "lit";
import { unsafeHTML } from "lit/directives/unsafe-html.js";
import { type Address, NOWHERE } from "../../shared/address.ts";
import { shownName, shownText } from "../../shared/foreign-text.ts";
import { LIMITS } from "../../shared/limits.ts";
import type { Presentation } from "../../shared/operations/presentations.ts";
import type { ResultOf } from "../../shared/operations/registry.ts";
import { PRESENTATION_REFERENCE } from "../../shared/presentation-kind.ts";
import { sizeWords } from "../../shared/size-words.ts";
import { labelled, quoted } from "../../shared/voice.ts";
import { announce } from "../controls/announce.ts";
import { failure, iconButton, skeleton } from "../controls/controls.ts";
import { type IconName, icon } from "../controls/icons.ts";
import type { MenuItem } from "../controls/menu.ts";
import "../controls/menu.ts";
import "../controls/time.ts";
import { button } from "../controls/toolkit.ts";
import { follow, View } from "../controls/view.ts";
import { renderDocument } from "../feed/markdown.ts";
import type { BlobAddress, Host } from "../hosts/host.ts";
import type { Conversation } from "../state/conversation.ts";
import type { Reference } from "../state/draft.ts";
import { readCsv } from "./csv.ts";

/** Something that can be done, as a button or in the menu. */
type Act = MenuItem & { icon: IconName };
type Listed = ResultOf<"presentation_list">;

class PresentationsElement extends View {
  static override readonly properties = {
    conversation: { attribute: false },
    host: { attribute: false },
    slotNumber: { type: Number },
    versionId: {},
    narrow: { type: Boolean },
    listed: { state: true },
    text: { state: true },
    picture: { state: true },
    whole: { state: true },
    problem: { state: true },
  };
  declare conversation: Conversation;
  declare host: Host;
  declare slotNumber: number;
  /** An earlier version; null for what the slot shows now. */
  declare versionId: string | null;
  /** There is no room for a button for everything. */
  declare narrow: boolean;
  declare listed: Listed | null;
  /** Of the version that is shown, if it is text. It may be long, so it is read once. */
  declare text: { eventId: string; content: TemplateResult } | null;
  declare picture: (BlobAddress & { eventId: string }) | null;
  /** The version whose file can be served whole. */
  declare whole: string | null;
  declare problem: string | null;
  #unfollow: () => void = () => {};
  #reading = 0;
  /** The version whose content was asked for. */
  #loading: string | null = null;

  constructor() {
    super();
    this.narrow = false;
    this.listed = null;
    this.text = null;
    this.picture = null;
    this.whole = null;
    this.problem = null;
    follow(this, () => [this.conversation?.group, this.conversation?.slots]);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#unfollow();
    this.#release();
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (changed.has("conversation")) {
      this.listed = null;
      this.#watch();
    }
    if (changed.has("conversation") || changed.has("slotNumber")) void this.#read();
  }

  /** The feed may be elsewhere in the history, so this has its own ear. */
  #watch(): void {
    this.#unfollow();
    // It may have left the page before its first update.
    if (!this.isConnected) return;
    this.#unfollow = this.host.watchLedger(this.conversation.groupId, null, {
      event: ({ kind }) => {
        if (kind === "presentation.publish" || kind === "presentation.clear") void this.#read();
      },
      reload: () => void this.#read(),
    });
  }

  protected override updated(): void {
    const { shown } = this;
    if (shown === null) return;
    if (shown.event_id !== this.#loading) void this.#load(shown);
    if (document.visibilityState === "visible") this.conversation.slots.see(shown);
  }

  /** Null while nothing is known, or nothing is shown. */
  get shown(): Presentation | null {
    const { listed, versionId } = this;
    if (listed === null) return null;
    const { versions } = listed;
    return versions.find((one) => (versionId === null ? one.current : one.event_id === versionId)) ?? null;
  }

  protected override render() {
    const { shown, listed } = this;
    return html`<section class="presentations" aria-label="Presentations">
      <header class="search-bar">
        <h2 class="only-heard">Presentations</h2>
        <div class="tabs" role="group" aria-label="Slots">${this.#slots()}</div>
        ${iconButton({ icon: "add", label: `Show something in slot ${this.slotNumber}`, disabled: listed === null, onClick: () => this.#publish() })}
        ${
          this.narrow
            ? html`<svc-menu label="Actions for slot ${this.slotNumber}" .items=${() => [...this.#actions(shown), this.#link()]}></svc-menu>`
            : asButton(this.#link())
        }
        ${iconButton({ icon: "close", label: "Close the presentations", keys: "Esc", onClick: () => this.tell("close-presentations") })}
      </header>
      ${shown === null ? nothing : this.#head(shown)}
      <div class="presentation-body" aria-busy=${listed === null}>
        ${failure(this.problem)}
        ${listed === null ? (this.problem === null ? skeleton(3, "feed") : nothing) : shown === null ? this.#empty() : this.#content(shown)}
      </div>
    </section>`;
  }

  #slots() {
    const slots =
      this.listed?.slots ??
      Array.from({ length: LIMITS.presentation.slots }, (_, at) => ({ slot: at + 1, presentation: null }));
    const { unseen } = this.conversation.slots;
    return slots.map(({ slot, presentation }) => {
      const title = presentation === null ? "empty" : labelled(presentation.title);
      const isNew = unseen.some((one) => one.slot === slot);
      return html`<button
        type="button"
        class="tab slot-tab ${presentation === null ? "" : "named"} ${isNew ? "unseen" : ""}"
        title=${title}
        aria-pressed=${slot === this.slotNumber}
        @click=${() => this.#go({ slot })}
      >
        <span class="slot-number"><span class="only-heard">Slot </span>${slot}</span><bdi class=${presentation === null ? "only-heard" : ""}>${title}</bdi>${isNew ? html`<span class="only-heard">, new</span>` : nothing}
      </button>`;
    });
  }

  #head(shown: Presentation) {
    const versions = this.listed?.versions ?? [];
    const at = versions.findIndex(({ event_id: id }) => id === shown.event_id);
    const step = (by: number, label: string, name: "chevron-left" | "chevron-right") => {
      const to = versions[at + by];
      return iconButton({
        icon: name,
        label,
        disabled: to === undefined,
        onClick: () =>
          this.#go({
            slot: this.slotNumber,
            versionId: to?.current === true ? null : (to?.event_id ?? null),
          }),
      });
    };
    return html`<div class="presentation-head">
      <h3 class="presentation-title"><bdi>${labelled(shown.title)}</bdi></h3>
      <div class="presentation-facts"><span class="presentation-by"><bdi>${this.conversation.group.name(shown.by)}</bdi> · <svc-time value=${shown.ts}></svc-time>${shown.bytes === undefined ? nothing : html` · <span class="unbroken">${sizeWords(shown.bytes)}</span>`}</span>
      <span class="head-end">
        ${this.narrow ? nothing : this.#actions(shown).map(asButton)}
        ${
          versions.length === 1
            ? nothing
            : html`${step(1, "Earlier version", "chevron-left")}<span class="presentation-version">${versions.length - at} of ${versions.length}</span>${step(-1, "Later version", "chevron-right")}`
        }
      </span></div>
    </div>`;
  }

  #link(): Act {
    return {
      label: "Copy a link to this slot",
      icon: "link",
      onSelect: () => this.tell("copy-link", { slot: this.slotNumber, versionId: this.versionId }),
    };
  }

  /** What can be done with what is shown. */
  #actions(shown: Presentation | null): Act[] {
    if (shown === null) return [];
    const mention = {
      label: "Mention it in the message",
      icon: "references" as const,
      onSelect: () => this.#mention(shown),
    };
    const empty = {
      label: `Empty slot ${shown.slot}`,
      icon: "trash" as const,
      onSelect: () => void this.#clear(shown),
    };
    return shown.current ? [mention, empty] : [mention];
  }

  #empty() {
    const { versions } = this.listed!;
    const [newest] = versions;
    const isEmpty = this.versionId === null;
    return html`<div class="empty">
      ${icon("eye", "empty-icon")}
      <p>${isEmpty ? `Slot ${this.slotNumber} is empty. Ask an agent to show its result here, or show a file or a page yourself.` : "This version can no longer be shown."}</p>
      ${isEmpty ? button({ label: "Show something…", icon: "add", primary: true, onClick: () => this.#publish() }) : nothing}
      ${
        newest === undefined
          ? nothing
          : button({
              label: "Show the latest version",
              onClick: () =>
                this.#go({ slot: this.slotNumber, versionId: newest.current ? null : newest.event_id }),
            })
      }
    </div>`;
  }

  #content(shown: Presentation) {
    const title = shownName(shown.title);
    switch (shown.kind) {
      case "url":
        return this.#page(shown.url ?? "");
      case "markdown":
      case "csv":
        if (this.text?.eventId !== shown.event_id)
          return this.problem === null ? skeleton(3, "feed") : nothing;
        return this.text.content;
      case "image": {
        if (!this.#isServed(shown)) return this.problem === null ? skeleton(3, "feed") : nothing;
        const source =
          this.#address(shown) ?? (this.picture?.eventId === shown.event_id ? this.picture.url : null);
        if (source === null && shown.mime_type === "image/svg+xml") return this.#elsewhere();
        if (source === null) return nothing;
        return html`${this.#hasTab(shown) ? html`<p class="hint pad">${tabLink(source, "Open the picture")} in a tab of its own.</p>` : nothing}
          <img class="presentation-image" src=${source} alt=${title} />`;
      }
      case "html":
      case "pdf": {
        if (!this.#isServed(shown)) return this.problem === null ? skeleton(3, "feed") : nothing;
        const source = this.#address(shown);
        if (source === null) return this.#elsewhere();
        if (shown.kind === "html")
          return html`<iframe class="presentation-frame" title=${title} sandbox="allow-scripts" referrerpolicy="no-referrer" src=${source}></iframe>`;
        return pdf(source, title, () => void this.#save(shown));
      }
    }
  }

  /** The host is what tells where a link leads. */
  #page(url: string) {
    const host = URL.canParse(url) ? new URL(url).host : "";
    return html`<div class="empty">
      ${icon("link-external", "empty-icon")}
      <p>A page of <strong><bdi>${shownName(host)}</bdi></strong></p>
      <p class="presentation-address"><bdi>${shownName(url)}</bdi></p>
      ${button({ label: `Open ${shownName(host)}`, primary: true, onClick: () => this.host.openLink(url) })}
    </div>`;
  }

  #markdown(text: string) {
    const most = LIMITS.presentation.markdownCharacters;
    const shown = text.slice(0, most).toWellFormed();
    return html`<div class="markdown presentation-text" @click=${this.#onClick}>${unsafeHTML(renderDocument(shown))}</div>
      ${more(text.length > most)}`;
  }

  /** An editor's page may not frame it. */
  #elsewhere() {
    return html`<div class="empty">
      ${icon("link-external", "empty-icon")}
      <p>The editor can’t show this kind. A browser can.</p>
      ${button({ label: "Open in the browser", primary: true, onClick: () => this.#openInBrowser() })}
    </div>`;
  }

  async #save({ sha256 = "", title }: Presentation): Promise<void> {
    try {
      await this.host.save(
        this.conversation.groupId,
        sha256,
        `${shownName(title).replace(/\.pdf$/i, "")}.pdf`,
      );
    } catch (error) {
      this.problem = wordsOf(error);
    }
  }

  #openInBrowser(): void {
    const { conversation, slotNumber: slot, versionId } = this;
    this.host.openInBrowser?.({ ...NOWHERE, groupId: conversation.groupId, slot, versionId });
  }

  /**
   * An SVG is a document in a tab, and a frame of another instance's page has a session that no tab
   * has.
   */
  #hasTab({ mime_type: mimeType }: Presentation): boolean {
    return this.host.presentation !== null && mimeType !== "image/svg+xml" && parent === self;
  }

  /** Nothing is framed before its file is known to be whole. */
  #isServed({ event_id: eventId }: Presentation): boolean {
    return this.host.presentation === null || this.whole === eventId;
  }

  #address({ slot, event_id: eventId }: Presentation): string | null {
    return this.host.presentation?.(this.conversation.groupId, slot, eventId) ?? null;
  }

  #publish(): void {
    const current = this.listed?.slots.find(({ slot }) => slot === this.slotNumber)?.presentation;
    this.tell("open-dialog", {
      name: "publish",
      slotNumber: this.slotNumber,
      replaces: current === null || current === undefined ? null : labelled(current.title),
    });
  }

  /** Nothing is lost by it: the version can still be stepped back to. */
  async #clear({ slot }: Presentation): Promise<void> {
    try {
      await this.host.call("presentation_clear", { group_id: this.conversation.groupId, slot });
      announce(`Slot ${slot} is empty`);
    } catch (error) {
      this.problem = wordsOf(error);
    }
  }

  /** The message that is being written refers to this version. One to another place can't. */
  #mention({ slot, event_id: eventId, title }: Presentation): void {
    const { draft } = this.conversation;
    const { refs, elsewhere, remote } = draft.draft;
    if (elsewhere !== null || remote !== null) {
      this.problem = "The message that you are writing goes to another Group, which has slots of its own.";
      return;
    }
    const isOther = (one: Reference) => one.kind !== PRESENTATION_REFERENCE || one.event_id !== eventId;
    const reference: Reference = { kind: PRESENTATION_REFERENCE, slot, event_id: eventId, title };
    draft.update({ refs: [...refs.filter(isOther), reference] });
    announce(`The message mentions ${quoted(title)}`);
  }

  #go(to: Partial<Address>): void {
    this.tell("go-to", { groupId: this.conversation.groupId, ...to });
  }

  async #read(): Promise<void> {
    const { groupId } = this.conversation;
    const reading = ++this.#reading;
    const before = this.shown;
    try {
      const listed = await this.host.call("presentation_list", { group_id: groupId, slot: this.slotNumber });
      if (reading !== this.#reading) return;
      this.listed = listed;
      this.problem = null;
      const { shown } = this;
      if (
        before !== null &&
        shown !== null &&
        shown.event_id !== before.event_id &&
        shown.slot === before.slot
      )
        announce(`Slot ${shown.slot} shows ${quoted(shown.title)}`);
    } catch (error) {
      if (reading === this.#reading) this.problem = wordsOf(error);
    }
  }

  async #load(shown: Presentation): Promise<void> {
    const { event_id: eventId, kind, sha256, mime_type: mimeType } = shown;
    this.#loading = eventId;
    this.problem = null;
    this.#release();
    const isText = kind === "markdown" || kind === "csv";
    const isFramed = !isText && this.host.presentation !== null;
    const isPicture = kind === "image" && !isFramed && mimeType !== "image/svg+xml";
    if (sha256 === undefined || !(isText || isFramed || isPicture)) return;
    try {
      if (isFramed) {
        await this.host.checkFile(this.conversation.groupId, sha256);
        if (this.#loading === eventId) this.whole = eventId;
        return;
      }
      if (isPicture) {
        const address = await this.host.blob(this.conversation.groupId, sha256);
        if (this.#loading === eventId && this.isConnected) this.picture = { ...address, eventId };
        else address.release();
        return;
      }
      const text = await (await this.host.bytes(this.conversation.groupId, sha256)).text();
      if (this.#loading !== eventId) return;
      const content = kind === "csv" ? table(text, shownName(shown.title)) : this.#markdown(text);
      this.text = { eventId, content };
    } catch (error) {
      if (this.#loading === eventId) this.problem = wordsOf(error);
    }
  }

  #release(): void {
    this.picture?.release();
    this.picture = null;
    this.whole = null;
    this.text = null;
  }

  readonly #onClick = (event: Event): void => {
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    if (link === null) return;
    event.preventDefault();
    if (link.href !== "") this.host.openLink(link.href);
  };
}

function asButton({ icon: name, label, onSelect }: Act): TemplateResult {
  return iconButton({ icon: name, label, onClick: onSelect });
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function table(text: string, title: string) {
  const { rows, cut } = readCsv(text);
  const [head = [], ...rest] = rows;
  return html`<div class="presentation-table" tabindex="0" role="region" aria-label=${title}>
      <table>
        <thead><tr>${head.map((cell) => html`<th dir="auto" scope="col">${shownText(cell)}</th>`)}</tr></thead>
        <tbody>
          ${rest.map((row) => html`<tr>${row.map((cell) => html`<td dir="auto">${shownText(cell)}</td>`)}</tr>`)}
        </tbody>
      </table>
    </div>
    ${more(cut)}`;
}

function more(cut: boolean) {
  return cut ? html`<p class="hint pad">There is more than is shown here.</p>` : nothing;
}

function tabLink(source: string, label: string) {
  return html`<a class="link" href=${source} target="_blank" rel="noopener noreferrer">${label}</a>`;
}

/**
 * The browser's own viewer, where it has one and this page isn't itself in a sandbox: a viewer
 * inherits it and shows nothing (docs/presentations.md).
 */
function pdf(source: string, title: string, save: () => void) {
  const isShown = navigator.pdfViewerEnabled && parent === self;
  return html`<p class="hint pad"><button type="button" class="link" @click=${save}>Save the PDF</button>${isShown ? nothing : " to read it"}</p>
    ${isShown ? html`<iframe class="presentation-frame" title=${title} referrerpolicy="no-referrer" src="${source}#navpanes=0"></iframe>` : nothing}`;
}

customElements.define("svc-presentations", PresentationsElement);
