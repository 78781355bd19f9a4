/** Small controls that the toolkit has no dense form of. */
import { html, nothing, type TemplateResult } from "lit";
import type { Tone } from "../../shared/actor-words.ts";
import { type IconName, icon } from "./icons.ts";

export interface IconButtonOptions {
  icon: IconName;
  /** What it does; the tooltip and the name for screen readers. */
  label: string;
  onClick: (event: MouseEvent) => void;
  pressed?: boolean;
  expanded?: boolean;
  keys?: string;
  className?: string;
  disabled?: boolean;
  /** Left out of the Tab order, because a key or the row leads to it. */
  aside?: boolean;
}

export function iconButton(options: IconButtonOptions): TemplateResult {
  return html`<button
    type="button"
    class="icon-button ${options.className ?? ""}"
    title=${options.keys === undefined ? options.label : `${options.label} (${options.keys})`}
    aria-label=${options.label}
    aria-pressed=${options.pressed ?? nothing}
    aria-expanded=${options.expanded ?? nothing}
    tabindex=${options.aside === true ? -1 : nothing}
    ?disabled=${options.disabled === true}
    @click=${options.onClick}
  >
    ${icon(options.icon)}
  </button>`;
}

export type { Tone };

/** A state: icon, word and colour, with the reason on hover. */
export function stateWord(options: {
  icon: IconName;
  word: string;
  tone: Tone;
  title?: string;
}): TemplateResult {
  return html`<span class="state tone-${options.tone}" title=${options.title ?? nothing}
    >${icon(options.icon)}<span>${options.word}</span></span
  >`;
}

/** A count of what needs someone; nothing at zero. */
export function badge(count: number, what: string): TemplateResult | typeof nothing {
  if (count === 0) return nothing;
  return html`<span class="badge" title="${count} ${what}"
    >${count > 99 ? "99+" : count}<span class="only-heard"> ${what}</span></span
  >`;
}

/** Why something failed, shown beside it. */
export function failure(text: string | null): TemplateResult | typeof nothing {
  return text === null
    ? nothing
    : html`<p class="failure" role="alert">${icon("error")}<span>${text}</span></p>`;
}

/** Placeholders for rows that are loading. */
export function skeleton(rows: number, kind: "list" | "feed"): TemplateResult {
  return html`<div class="skeleton skeleton-${kind}" role="status" aria-label="Loading">
    ${Array.from({ length: rows }, () => html`<div class="bone"></div>`)}
  </div>`;
}
