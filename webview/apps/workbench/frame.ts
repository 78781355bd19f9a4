/**
 * What frames the columns: tabs, the bar at the bottom, the strip of a collapsed column, and the
 * first page without a Group.
 */
import { html, nothing, type TemplateResult } from "lit";
import { badge, iconButton } from "../../controls/controls.ts";
import { type IconName, icon } from "../../controls/icons.ts";
import { button } from "../../controls/toolkit.ts";
import type { Layout, Page, Side } from "./layout.ts";

const PAGES: readonly { page: Page; icon: IconName; label: string }[] = [
  { page: "groups", icon: "layers", label: "Groups" },
  { page: "feed", icon: "comment-discussion", label: "Feed" },
  { page: "actors", icon: "hubot", label: "Actors" },
  { page: "terminals", icon: "terminal", label: "Terminals" },
];

/** What the single side column of a medium window shows. */
export function sideTabs(layout: Layout): TemplateResult {
  return html`<div class="tabs" role="group" aria-label="Side">
    ${PAGES.filter((entry) => entry.page === "groups" || entry.page === "actors").map(
      (entry) =>
        html`<button
          type="button"
          class="tab"
          aria-pressed=${layout.side === entry.page}
          @click=${() => layout.show(entry.page)}
        >
          ${entry.label}
        </button>`,
    )}
  </div>`;
}

/** A collapsed column. `attention` counts what in it needs the person. */
export function rail(layout: Layout, side: Side, attention: number): TemplateResult {
  const groups = side === "groups";
  return html`<aside class="rail ${side}" aria-label=${groups ? "Groups" : "Actors"}>
    ${iconButton({
      icon: groups ? "layout-sidebar-left" : "layout-sidebar-right",
      label: groups ? "Show Groups" : "Show Actors",
      onClick: () => layout.toggle(side),
    })}
    ${badge(attention, "need you")}
  </aside>`;
}

/**
 * The pages of a narrow window. The terminals have one while any is open. `sidebar` shows the
 * Groups where they aren't in this page.
 */
export function bottomBar(
  layout: Layout,
  attention: number,
  terminals: boolean,
  sidebar: (() => void) | null,
): TemplateResult {
  return html`<nav class="bottom-bar" aria-label="Pages">
    ${PAGES.filter((entry) => terminals || entry.page !== "terminals").map(
      (entry) => html`<button
        type="button"
        class="bottom-tab"
        aria-current=${entry.page === layout.page ? "page" : nothing}
        @click=${() => (entry.page === "groups" && sidebar !== null ? sidebar() : layout.show(entry.page))}
      >
        ${icon(entry.icon)}<span>${entry.label}</span>${entry.page === "groups" ? badge(attention, "need you") : nothing}
      </button>`,
    )}
  </nav>`;
}

/**
 * Without any Group; `begin` is what an administrator can do about it. The settings are those that
 * have no other place, or null.
 */
export function welcome(begin: (() => void) | null, settings: TemplateResult | null): TemplateResult {
  return html`<div class="empty">
    ${icon("comment-discussion", "empty-icon")}
    <h1>No Group yet</h1>
    ${
      begin === null
        ? html`<p>Your access token gives access to no existing Group.</p>`
        : html`<p>A Group brings you and your coding agents together around one project. Attach a folder to begin.</p>
            ${button({ label: "Attach a folder…", icon: "folder", primary: true, onClick: begin })}`
    }
  </div>
  ${settings === null ? nothing : html`<footer class="column-foot">${settings}</footer>`}`;
}
