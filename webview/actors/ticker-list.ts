/** What an Actor does with its tools, the newest last. */
import { html, nothing, type TemplateResult } from "lit";
import { repeat } from "lit/directives/repeat.js";
import type { TickerItem } from "../../shared/activity/projection.ts";
import { icon } from "../controls/icons.ts";

const ROWS = 3;
const ICONS = {
  started: "loading",
  waiting: "bell-dot",
  completed: "check",
  failed: "error",
  stuck: "warning",
} as const;

/** In a narrow column a long name is cut, never its state. */
function words(name: string, text: string) {
  if (name === "" || !text.startsWith(name)) return html`<span>${text}</span>`;
  return html`<span class="ticker-text"><span class="ticker-tool">${name}</span>${text.slice(name.length)}</span>`;
}

/**
 * Only tools; nothing when there are none. They change too quickly to announce, so a screen reader
 * finds them here.
 */
export function tickerList(actorName: string, items: readonly TickerItem[]): TemplateResult | typeof nothing {
  if (items.length === 0) return nothing;
  return html`<ul class="ticker" aria-label="What ${actorName} does" aria-live="off">
    ${repeat(
      items.slice(-ROWS),
      ({ activity }) => activity.activity_id,
      ({ activity, text }) =>
        html`<li class="ticker-item" data-status=${activity.status} title=${text}>${icon(ICONS[activity.status])}${words(activity.tool_name, text)}</li>`,
    )}
  </ul>`;
}
