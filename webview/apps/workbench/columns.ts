/** The columns beside the conversation, each with its foot. */
import { html, nothing, type TemplateResult } from "lit";
import type { AccountLink } from "../../connections/account-link.ts";
import { iconButton } from "../../controls/controls.ts";
import { icon } from "../../controls/icons.ts";
import type { Addresses } from "../../hosts/host.ts";
import type { Instances } from "../../instances/instances.ts";
import type { Conversation } from "../../state/conversation.ts";
import type { DraftMarks } from "../../state/draft-marks.ts";
import type { GroupsStore } from "../../state/group-list.ts";
import type { ThemeChoice } from "./appearance.ts";
import type { Layout, Side } from "./layout.ts";

interface GroupsColumn {
  groups: GroupsStore;
  addresses: Addresses;
  drafts: DraftMarks;
  account: AccountLink;
  openId: string | null;
  layout: Layout;
  administrator: boolean;
  mayLeave: boolean;
  theme: ThemeChoice | "";
  /** The browser's notifications can be set here. */
  notifies: boolean;
  instances: Instances | null;
}

export function groupsColumn(column: GroupsColumn): TemplateResult {
  const { groups, addresses, drafts, account, openId, layout } = column;
  const { administrator, mayLeave, theme, notifies, instances } = column;
  return html`<svc-groups .groups=${groups} .addresses=${addresses} .drafts=${drafts} .account=${account} .openId=${openId} ?administrator=${administrator}></svc-groups>
    ${instances === null ? nothing : html`<svc-instances .instances=${instances}></svc-instances>`}
    <footer class="column-foot">
      <svc-settings-menu ?administrator=${administrator} ?mayLeave=${mayLeave} .theme=${theme} ?notifies=${notifies}></svc-settings-menu>
      ${administrator ? nothing : html`<span class="restricted" title="Your access token is for these Groups only">${icon("lock")}restricted</span>`}
      ${layout.breadth === "narrow" ? nothing : hide(layout, "groups")}
    </footer>`;
}

export function actorsColumn(
  conversation: Conversation,
  layout: Layout,
  administrator: boolean,
  /** Where they have no other place. */
  settings: TemplateResult | null,
): TemplateResult {
  const hidable = layout.breadth === "wide" || (settings !== null && layout.breadth === "medium");
  return html`<svc-actors .conversation=${conversation} ?administrator=${administrator}></svc-actors>
    ${
      hidable || settings !== null
        ? html`<footer class="column-foot">${settings}${hidable ? hide(layout, "actors") : nothing}</footer>`
        : nothing
    }`;
}

function hide(layout: Layout, side: Side): TemplateResult {
  const isGroups = side === "groups";
  return iconButton({
    icon: isGroups ? "layout-sidebar-left" : "layout-sidebar-right",
    label: isGroups ? "Hide Groups" : "Hide Actors",
    className: "push",
    onClick: () => layout.toggle(side),
  });
}
