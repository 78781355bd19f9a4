/** `<svc-groups>`: this machine's Groups, with what waits in each. The counts are the daemon's. */
import { html, nothing } from "lit";
import { repeat } from "lit/directives/repeat.js";
import { NOWHERE } from "../../shared/address.ts";
import type { GroupSummary } from "../../shared/operations/groups.ts";
import { badge, iconButton, skeleton } from "../controls/controls.ts";
import { icon } from "../controls/icons.ts";
import { opensElsewhere } from "../controls/links.ts";
import { roving } from "../controls/roving.ts";
import { button } from "../controls/toolkit.ts";
import { follow, View } from "../controls/view.ts";
import type { Addresses } from "../hosts/host.ts";
import type { GroupsStore } from "./group-list.ts";

class GroupsElement extends View {
  static override readonly properties = {
    groups: { attribute: false },
    addresses: { attribute: false },
    openId: {},
    administrator: { type: Boolean },
  };
  declare groups: GroupsStore;
  declare addresses: Addresses;
  declare openId: string | null;
  declare administrator: boolean;

  constructor() {
    super();
    follow(this, () => [this.groups]);
    roving(this, { selector: ".group-row", prefer: "[aria-current]" });
  }

  protected override render() {
    const { list, loaded } = this.groups;
    return html`<header class="column-head">
        <h2>Groups</h2>
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
                    (group) => html`<li>${this.#row(group)}</li>`,
                  )}
                </ul>`
            : skeleton(4, "list")
        }
      </nav>`;
  }

  #row(group: GroupSummary) {
    const resting = group.state === "paused" || group.state === "stopped";
    return html`<a
      href=${this.addresses.href({ ...NOWHERE, groupId: group.group_id })}
      draggable="false"
      class="row group-row ${group.unread + group.attention > 0 ? "unread" : ""} ${resting ? "resting" : ""}"
      aria-current=${group.group_id === this.openId ? "true" : nothing}
      title=${[group.title, group.topic, resting ? `The Group is ${group.state}.` : ""].filter((part) => part !== "").join("\n")}
      @click=${(event: MouseEvent) => {
        if (opensElsewhere(event)) return;
        event.preventDefault();
        this.tell("open-group", group.group_id);
      }}
    >
      ${icon(resting ? "debug-pause" : "comment-discussion")}
      <span class="row-label"><bdi>${group.title}</bdi></span>
      ${resting ? html`<span class="row-detail">${group.state}</span>` : nothing}
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

customElements.define("svc-groups", GroupsElement);
