/**
 * `<svc-group-header>`: which Group this is, its folder and state, search, and its other actions.
 */

import { html, nothing, type PropertyValues } from "lit";
import { connectionsInBrief } from "../../shared/connections-brief.ts";
import { quotedName } from "../../shared/foreign-text.ts";
import { labelled } from "../../shared/voice.ts";
import { iconButton } from "../controls/controls.ts";
import { copy } from "../controls/copy.ts";
import { icon } from "../controls/icons.ts";
import type { MenuItem } from "../controls/menu.ts";
import { follow, View } from "../controls/view.ts";
import type { Conversation } from "../state/conversation.ts";
import type { GroupsStore } from "../state/group-list.ts";

class GroupHeaderElement extends View {
  static override readonly properties = {
    conversation: { attribute: false },
    groups: { attribute: false },
    administrator: { type: Boolean },
    searching: { type: Boolean },
  };
  declare conversation: Conversation;
  declare groups: GroupsStore;
  declare administrator: boolean;
  declare searching: boolean;

  constructor() {
    super();
    follow(this, () => [
      this.conversation?.group,
      this.conversation?.connections,
      this.conversation?.slots,
      this.groups,
    ]);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.conversation?.connections.close();
  }

  /** Only an administrator sees connections. */
  protected override updated(changed: PropertyValues<this>): void {
    if (!changed.has("conversation") && !changed.has("administrator")) return;
    changed.get("conversation")?.connections.close();
    if (this.administrator) this.conversation.connections.open();
  }

  protected override render() {
    const { group } = this.conversation.group;
    const summary = this.groups.find(this.conversation.groupId);
    const scope =
      group?.scopes.find((entry) => entry.scope_key === group.active_scope_key) ?? group?.scopes[0];
    const state = group?.state ?? summary?.state;
    return html`<header class="group-head">
      <h1 class="group-title"><bdi>${labelled(group?.title ?? summary?.title ?? "")}</bdi></h1>
      ${
        scope === undefined
          ? nothing
          : html`<span class="group-scope" title=${scope.path}>${icon("folder")}<bdi>${scope.label}</bdi></span>`
      }
      ${
        state === undefined
          ? nothing
          : html`<span class="group-state ${state === "active" ? "ordinary" : ""}" title="The Group’s state">${icon(state === "active" ? "circle-filled" : state === "idle" ? "circle-outline" : "debug-pause")}${state}</span>`
      }
      <span class="group-topic" title=${labelled(group?.topic ?? "")}><bdi>${labelled(group?.topic ?? "")}</bdi></span>
      <span class="head-actions">
        ${this.#connections()}
        ${
          this.administrator && (state === "paused" || state === "stopped")
            ? iconButton({ icon: "play", label: "Start the Group", onClick: () => this.#setState("active") })
            : nothing
        }
        ${this.#presentations()}
        ${iconButton({ icon: "search", label: "Search", keys: "/", pressed: this.searching, onClick: () => this.tell("search") })}
        <svc-menu label="Group actions" .items=${() => this.#menu(state)}></svc-menu>
      </span>
    </header>`;
  }

  #presentations() {
    const { groupId, slots } = this.conversation;
    const { list, unseen } = slots;
    const titles = list.map(({ slot, title }) => `${slot}: ${quotedName(title)}`);
    const label = [
      "Presentations",
      ...(list.length === 0 ? [] : [String(list.length)]),
      ...(unseen.length === 0 ? [] : [`${unseen.length} new`]),
    ].join(", ");
    return html`<button
      type="button"
      class="icon-button shown-slots ${unseen.length > 0 ? "unseen" : ""}"
      title=${[`${label} (p)`, ...titles].join("\n")}
      aria-label=${label}
      @click=${() => this.tell("go-to", { groupId, slot: slots.first })}
    >
      ${icon("eye")}${list.length === 0 ? nothing : html`<span>${list.length}</span>`}
    </button>`;
  }

  #connections() {
    const { status, list } = this.conversation.connections;
    const external = list.filter(({ kind }) => kind === "external");
    const brief = connectionsInBrief(status?.relations ?? [], external);
    if (brief === null || !this.administrator) return nothing;
    return html`<button
      type="button"
      class="connections-state state tone-${brief.tone}"
      title="Group connections\n${brief.sentence}"
      aria-label="Group connections: ${brief.word}"
      @click=${() => this.tell("open-dialog", { name: "connections" })}
    >
      ${icon(brief.icon)}<span>${brief.word}</span>
    </button>`;
  }

  #setState(state: "active" | "paused"): void {
    this.tell("group-state", state);
  }

  #menu(state: string | undefined): MenuItem[] {
    const { groupId } = this.conversation;
    const { withoutEvents } = this.conversation.feed;
    const items: MenuItem[] = [
      {
        label: withoutEvents ? "Show system events" : "Hide system events",
        icon: "list-filter",
        onSelect: () => this.tell("choose-events", withoutEvents),
      },
      { label: "Copy link", icon: "link", onSelect: () => this.tell("copy-link", {}) },
      { label: "Copy Group id", icon: "key", onSelect: () => void copy(groupId) },
    ];
    if (!this.administrator) return items;
    const resting = state === "paused" || state === "stopped";
    return [
      {
        label: "Group settings…",
        icon: "settings-gear",
        onSelect: () => this.tell("open-dialog", { name: "group-settings" }),
      },
      {
        label: "Group connections…",
        icon: "plug",
        onSelect: () => this.tell("open-dialog", { name: "connections" }),
      },
      resting
        ? { label: "Start the Group", icon: "play", onSelect: () => this.#setState("active") }
        : { label: "Pause the Group", icon: "debug-pause", onSelect: () => this.#setState("paused") },
      ...items,
    ];
  }
}

customElements.define("svc-group-header", GroupHeaderElement);
