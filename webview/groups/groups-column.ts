/** `<svc-groups>`: this machine's Groups, with what waits in each. The counts are the daemon's. */

import { html, nothing } from "lit";
import { repeat } from "lit/directives/repeat.js";
import { NOWHERE } from "../../shared/address.ts";
import type { GroupSummary } from "../../shared/operations/groups.ts";
import { labelled } from "../../shared/voice.ts";
import type { AccountLink } from "../connections/account-link.ts";
import { badge, iconButton, skeleton } from "../controls/controls.ts";
import { icon } from "../controls/icons.ts";
import { opensElsewhere } from "../controls/links.ts";
import type { MenuItem } from "../controls/menu.ts";
import { roving } from "../controls/roving.ts";
import { sharedFigure, sharedWords } from "../controls/shared-mark.ts";
import { button } from "../controls/toolkit.ts";
import { follow, View } from "../controls/view.ts";
import type { Addresses } from "../hosts/host.ts";
import type { DraftMarks } from "../state/draft-marks.ts";
import type { GroupOrder, GroupsStore } from "../state/group-list.ts";

const ORDERS: readonly { order: GroupOrder; label: string }[] = [
  { order: "title", label: "By title" },
  { order: "activity", label: "Latest activity first" },
  { order: "attention", label: "What needs you first" },
];

class GroupsElement extends View {
  static override readonly properties = {
    groups: { attribute: false },
    addresses: { attribute: false },
    drafts: { attribute: false },
    account: { attribute: false },
    openId: {},
    administrator: { type: Boolean },
  };
  declare groups: GroupsStore;
  declare addresses: Addresses;
  declare drafts: DraftMarks;
  declare account: AccountLink;
  declare openId: string | null;
  declare administrator: boolean;

  /** The order in which they were last drawn. */
  #shown: readonly string[] = [];
  #order: GroupOrder = "title";

  constructor() {
    super();
    follow(this, () => [this.groups, this.drafts, this.account]);
    this.addEventListener("pointerleave", () => this.requestUpdate());
    roving(this, { selector: ".group-row", prefer: "[aria-current]" });
  }

  protected override render() {
    const { loaded } = this.groups;
    const list = this.#list();
    const drafts = this.drafts.groupIds;
    return html`<header class="column-head">
        <h2>Groups</h2>
        <svc-menu class="push" label="Sort Groups" icon="sort-precedence" .items=${() => this.#orders()}></svc-menu>
        ${
          this.administrator
            ? iconButton({
                icon: "add",
                label: "New Group",
                onClick: () => this.tell("open-dialog", { name: "create-group" }),
              })
            : nothing
        }
      </header>
      <nav class="column-body" aria-label="Groups">
        ${
          loaded
            ? list.length === 0
              ? this.#empty()
              : html`<ul class="rows">
                  ${repeat(
                    list,
                    (group) => group.group_id,
                    (group) => html`<li>${this.#row(group, drafts.has(group.group_id))}</li>`,
                  )}
                </ul>`
            : skeleton(4, "list")
        }
      </nav>`;
  }

  /** Nothing moves under the pointer. */
  #list(): readonly GroupSummary[] {
    const { list } = this.groups;
    const shown = new Map(list.map((group) => [group.group_id, group]));
    const isSame = this.#shown.length === list.length && this.#shown.every((id) => shown.has(id));
    if (isSame && this.#order === this.groups.order && this.matches(":hover"))
      return this.#shown.map((id) => shown.get(id)!);
    this.#shown = [...shown.keys()];
    this.#order = this.groups.order;
    return list;
  }

  #orders(): MenuItem[] {
    return ORDERS.map(({ order, label }) => ({
      label,
      checked: order === this.groups.order,
      onSelect: () => this.tell("sort-groups", order),
    }));
  }

  #row(group: GroupSummary, hasDraft: boolean) {
    const resting = group.state === "paused" || group.state === "stopped";
    return html`<a
      href=${this.addresses.href({ ...NOWHERE, groupId: group.group_id })}
      draggable="false"
      class="row group-row ${group.unread + group.attention > 0 ? "unread" : ""} ${resting ? "resting" : ""}"
      aria-current=${group.group_id === this.openId ? "true" : nothing}
      title=${[labelled(group.title), labelled(group.topic), resting ? `The Group is ${group.state}.` : ""].filter((part) => part !== "").join("\n")}
      @click=${(event: MouseEvent) => {
        if (opensElsewhere(event)) return;
        event.preventDefault();
        this.tell("open-group", group.group_id);
      }}
    >
      ${icon(group.damage !== undefined ? "warning" : resting ? "debug-pause" : "comment-discussion")}
      <span class="row-label"><bdi>${labelled(group.title)}</bdi></span>
      ${
        hasDraft && group.group_id !== this.openId
          ? html`<span class="row-detail draft-mark" title="You have a draft here">${icon("edit")}<span class="only-heard">draft</span></span>`
          : nothing
      }
      ${sharedMark(this.account.sharedBy(group.group_id))}
      ${group.damage === undefined ? nothing : html`<span class="row-detail">damaged</span>`}
      ${resting && group.damage === undefined ? html`<span class="row-detail">${group.state}</span>` : nothing}
      ${
        group.unread > 0
          ? html`<span class="unread-count" title="${group.unread} unread">${group.unread > 99 ? "99+" : group.unread}<span class="only-heard"> unread</span></span>`
          : nothing
      }
      ${badge(group.attention, group.attention === 1 ? "needs you" : "need you")}
    </a>`;
  }

  #empty() {
    return this.administrator
      ? html`<div class="empty small">
          <p>A Group is a conversation between you and your agents about one project.</p>
          ${button({ label: "Attach a folder…", icon: "folder", onClick: () => this.tell("open-dialog", { name: "create-group" }) })}
        </div>`
      : html`<div class="empty small"><p>Your access token gives access to no existing Group. Ask the person who gave it to you.</p></div>`;
  }
}

/** With how many Groups of other accounts it is connected; null isn't none. */
function sharedMark(count: number | null) {
  if (count === 0) return nothing;
  const words = sharedWords(count);
  return html`<span class="row-detail shared-mark" title=${words}>${sharedFigure(count)}<span class="only-heard">${words}</span></span>`;
}

customElements.define("svc-groups", GroupsElement);
