/** The columns of the Workbench as the window's breadth allows them. */
import { html, nothing, type TemplateResult } from "lit";
import { ref } from "lit/directives/ref.js";
import { bottomBar, rail, sideTabs } from "./frame.ts";
import type { Layout, Side } from "./layout.ts";

/** What stands in the columns. Each is drawn only where it is shown. */
interface Columns {
  layout: Layout;
  /** How many Groups need the person. */
  attention: number;
  groups(): unknown;
  actors(): unknown;
  /** The open conversation, or what stands there without one. */
  feed(): unknown;
  /** The open terminals; `page` where they are a page of their own. */
  terminals(page: boolean): unknown;
  hasTerminals: boolean;
  /** The terminals fill the place of the conversation. */
  full: boolean;
  /** Shows the Groups where they are in the page around this one; null where they are here. */
  sidebar: (() => void) | null;
  /** Another instance stands where the conversation and the Actors were. */
  remote: unknown;
}

export function arranged(columns: Columns): TemplateResult {
  const { layout, attention, hasTerminals, full } = columns;
  const isRemote = columns.remote !== nothing;
  const inside = isRemote ? besideRemote(columns) : { wide, medium, narrow }[layout.breadth](columns);
  const hasBar = layout.breadth === "narrow" && !isRemote && !(onTerminals(columns) && full);
  // The frame keeps its place in the document whatever the breadth: moved, it would begin anew.
  return html`<div class="columns-of-workbench">${inside}${columns.remote}</div>
    ${hasBar ? bottomBar(layout, attention, hasTerminals, columns.sidebar) : nothing}`;
}

/** The page of a narrow window shows the terminals. */
function onTerminals({ layout, hasTerminals }: Columns): boolean {
  return layout.page === "terminals" && hasTerminals;
}

function wide(columns: Columns): unknown {
  const groups =
    columns.sidebar === null
      ? side(columns, "groups", "Groups and settings", () => columns.groups())
      : nothing;
  return html`${groups}${center(columns)}${side(columns, "actors", "Actors", () => columns.actors())}`;
}

function medium(columns: Columns): unknown {
  const { layout } = columns;
  if (columns.sidebar !== null)
    return html`${center(columns)}${side(columns, "actors", "Actors", () => columns.actors())}`;
  const content = () =>
    html`${sideTabs(layout)}${layout.side === "groups" ? columns.groups() : columns.actors()}`;
  return html`${side(columns, "groups", "Groups and Actors", content)}${center(columns)}`;
}

function narrow(columns: Columns): unknown {
  const { page } = columns.layout;
  if (onTerminals(columns)) return html`<main class="column center">${columns.terminals(true)}</main>`;
  if (page === "feed" || page === "terminals") return center(columns);
  return html`<main class="column side full">
    <h1 class="only-heard">${page === "groups" ? "Groups" : "Actors"}</h1>
    ${page === "groups" ? columns.groups() : columns.actors()}
  </main>`;
}

/** The list of Groups alone. A narrow window shows it as a page of its own. */
function besideRemote(columns: Columns): unknown {
  const { layout } = columns;
  if (layout.breadth !== "narrow")
    return side(columns, "groups", "Groups and settings", () => columns.groups());
  return layout.page === "groups" ? narrow(columns) : nothing;
}

/** A column with its movable edge, or its strip when it is collapsed. */
function side({ layout, attention }: Columns, at: Side, label: string, content: () => unknown): unknown {
  if (layout.collapsed(at)) return rail(layout, at, at === "groups" ? attention : 0);
  return html`<aside
    class="column side ${at}"
    aria-label=${label}
    ${ref((element) => {
      if (element instanceof HTMLElement) element.style.setProperty("width", `${layout.width(at)}px`);
    })}
  >
    ${content()}<svc-splitter .layout=${layout} .side=${at}></svc-splitter>
  </aside>`;
}

function center(columns: Columns): unknown {
  const drawer = columns.hasTerminals && columns.layout.breadth !== "narrow";
  // The terminals keep their place in the document, so that filling the page doesn't interrupt
  // typing.
  return html`<main class="column center">
    ${drawer && columns.full ? nothing : columns.feed()}
    ${drawer ? columns.terminals(false) : nothing}
  </main>`;
}
