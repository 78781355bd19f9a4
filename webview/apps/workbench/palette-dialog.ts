/**
 * `<svc-palette-dialog>`: goes to a Group, an Actor, a command, or a message in any Group, by a few
 * letters.
 */
import { html, nothing } from "lit";
import { actorName, hasTerminal } from "../../../shared/actor-words.ts";
import { DialogView } from "../../controls/dialog.ts";
import { type IconName, icon } from "../../controls/icons.ts";
import type { Host, Viewer } from "../../hosts/host.ts";
import type { Notifications } from "../../notifications/notifications.ts";
import type { Conversation } from "../../state/conversation.ts";
import { byAttention, type GroupsStore } from "../../state/group-list.ts";
import { type Found, searchGroups } from "./search-groups.ts";

/** Of each kind, so that the others can be seen. */
const MOST = { all: 8, matching: 20 } as const;
const SEARCH_AFTER_MS = 250;
/** Shorter words are in too many messages. */
const SEARCH_CHARACTERS = 3;

interface Entry {
  section: "Groups" | "Actors" | "Commands" | "Messages in all Groups";
  icon: IconName;
  label: string;
  detail: string;
  /** The event of the workbench that does it. */
  tells: readonly [name: string, detail?: unknown];
}

function fold(text: string): string {
  return text.normalize("NFC").toLowerCase();
}

/** The entries that contain all words, those that begin with the first word before others. */
function matching(entries: readonly Entry[], query: string): Entry[] {
  const words = fold(query).split(/\s+/).filter(Boolean);
  const [first = ""] = words;
  const fitting = entries.filter(({ label }) => words.every((word) => fold(label).includes(word)));
  const begins = (entry: Entry) => fold(entry.label).startsWith(first);
  return [...fitting.filter(begins), ...fitting.filter((entry) => !begins(entry))];
}

class PaletteDialog extends DialogView {
  static override readonly properties = {
    ...DialogView.properties,
    groups: { attribute: false },
    host: { attribute: false },
    conversation: { attribute: false },
    viewer: { attribute: false },
    withoutEvents: { type: Boolean },
    query: { state: true },
    chosen: { state: true },
    found: { state: true },
    looking: { state: true },
  };
  declare groups: GroupsStore;
  declare host: Host;
  declare conversation: Conversation | null;
  declare viewer: Viewer;
  declare notifications: Notifications | null;
  /** The feed leaves system events out. */
  declare withoutEvents: boolean;
  declare query: string;
  declare chosen: number;
  declare found: readonly Found[];
  /** Messages are being searched. What is listed already can be chosen meanwhile. */
  declare looking: boolean;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #searching: AbortController | null = null;
  #offered: readonly Entry[] = [];

  constructor() {
    super();
    this.query = "";
    this.chosen = 0;
    this.found = [];
    this.looking = false;
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#searching?.abort();
  }

  protected override heading(): string {
    return "Go to";
  }

  protected override get wide(): boolean {
    return true;
  }

  protected override content() {
    this.#offered = this.#entries();
    const at = Math.min(this.chosen, this.#offered.length - 1);
    return html`<input
        class="search-field palette-field"
        type="text"
        autofocus
        role="combobox"
        aria-label="Group, Actor, command or message"
        aria-expanded="true"
        aria-controls="palette"
        aria-activedescendant=${at < 0 ? nothing : `palette-${at}`}
        autocomplete="off"
        placeholder="A Group, an Actor, a command, or words of a message"
        .value=${this.query}
        @input=${this.#onInput}
        @keydown=${this.#onKeyInField}
      />
      <div id="palette" class="palette" role="listbox" aria-label="What there is">
        ${this.#offered.map((entry, place) => this.#row(entry, place, place === at))}
      </div>
      ${this.#offered.length === 0 ? html`<p class="hint" role="status">${this.looking ? "Searching…" : "Nothing found."}</p>` : nothing}`;
  }

  #row(entry: Entry, at: number, chosen: boolean) {
    const isFirst = this.#offered[at - 1]?.section !== entry.section;
    return html`${isFirst ? html`<div class="menu-heading" role="presentation">${entry.section}</div>` : nothing}
      <div
        id="palette-${at}"
        class="completion-item"
        role="option"
        aria-selected=${chosen}
        @click=${() => this.#choose(entry)}
      >
        ${icon(entry.icon)}<span class="completion-label"><bdi>${entry.label}</bdi></span
        ><span class="completion-detail"><bdi>${entry.detail}</bdi></span>
      </div>`;
  }

  protected override updated(): void {
    this.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }

  #entries(): Entry[] {
    const isAll = this.query.trim() === "";
    const most = isAll ? MOST.all : MOST.matching;
    const some = (entries: readonly Entry[]) => matching(entries, this.query).slice(0, most);
    const messages = this.found.map(
      ({ groupId, eventId, group, text }): Entry => ({
        section: "Messages in all Groups",
        icon: "comment-discussion",
        label: text,
        detail: group,
        tells: ["go-to", { groupId, eventId }],
      }),
    );
    return [
      ...some(this.#groups()),
      ...(isAll ? [] : some(this.#actors())),
      ...some(this.#commands()),
      ...messages,
    ];
  }

  /** What needs the person first, then what was active last. */
  #groups(): Entry[] {
    return this.groups.list.toSorted(byAttention).map((group) => ({
      section: "Groups",
      icon: "comment-discussion",
      label: group.title,
      detail: group.attention > 0 ? "needs you" : group.unread > 0 ? `${group.unread} unread` : group.topic,
      tells: ["open-group", group.group_id],
    }));
  }

  #actors(): Entry[] {
    const actors = this.conversation?.group.actors ?? [];
    return actors.flatMap((actor): Entry[] => [
      {
        section: "Actors",
        icon: "hubot",
        label: actorName(actor),
        detail: "Write",
        tells: ["write-to", actor.id],
      },
      ...(this.viewer.kind === "administrator" && hasTerminal(actor)
        ? [
            {
              section: "Actors",
              icon: "terminal",
              label: actorName(actor),
              detail: "Open terminal",
              tells: ["open-terminal", actor.id],
            } as const,
          ]
        : []),
    ]);
  }

  #commands(): Entry[] {
    const command = (name: IconName, label: string, ...tells: Entry["tells"]): Entry => ({
      section: "Commands",
      icon: name,
      label,
      detail: "",
      tells,
    });
    const dialog = (name: IconName, label: string, what: string) =>
      command(name, label, "open-dialog", { name: what });
    const isAdministrator = this.viewer.kind === "administrator";
    const here = this.conversation !== null;
    return [
      ...(here
        ? [
            command("search", "Search in this Group", "search"),
            command("link", "Copy link to this Group", "copy-link", {}),
            command(
              "list-filter",
              this.withoutEvents ? "Show system events" : "Hide system events",
              "choose-events",
              this.withoutEvents,
            ),
          ]
        : []),
      ...(isAdministrator ? [dialog("add", "New Group…", "create-group")] : []),
      ...(isAdministrator && here
        ? [
            dialog("person-add", "Add an Actor…", "add-actor"),
            dialog("settings-gear", "Group settings…", "group-settings"),
            dialog("plug", "Group connections…", "connections"),
          ]
        : []),
      ...(isAdministrator
        ? [dialog("key", "Access tokens…", "tokens"), dialog("heart", "Health…", "health")]
        : []),
      ...(this.notifications === null ? [] : [dialog("bell", "Notifications…", "notifications")]),
      dialog("keyboard", "Keyboard shortcuts…", "keyboard"),
    ];
  }

  protected override submit(): void {
    const entry = this.#offered[Math.min(this.chosen, this.#offered.length - 1)];
    if (entry !== undefined) this.#choose(entry);
  }

  #choose({ tells: [name, detail] }: Entry): void {
    this.close();
    this.tell(name, detail);
  }

  readonly #onInput = (event: Event): void => {
    this.query = (event.target as HTMLInputElement).value;
    this.chosen = 0;
    this.found = [];
    this.#searching?.abort();
    this.looking = false;
    if (this.#timer !== null) clearTimeout(this.#timer);
    if (this.query.trim().length < SEARCH_CHARACTERS) return;
    this.#timer = setTimeout(() => void this.#search(), SEARCH_AFTER_MS);
  };

  readonly #onKeyInField = (event: KeyboardEvent): void => {
    const last = this.#offered.length - 1;
    if (event.key === "ArrowDown") this.chosen = this.chosen >= last ? 0 : this.chosen + 1;
    else if (event.key === "ArrowUp") this.chosen = this.chosen <= 0 ? last : this.chosen - 1;
    else return;
    event.preventDefault();
  };

  async #search(): Promise<void> {
    const searching = new AbortController();
    this.#searching = searching;
    this.looking = true;
    await searchGroups(this.host, this.groups.list, this.query.trim(), searching.signal, (found) => {
      this.found = found;
    });
    if (!searching.signal.aborted) this.looking = false;
  }
}

customElements.define("svc-palette-dialog", PaletteDialog);
