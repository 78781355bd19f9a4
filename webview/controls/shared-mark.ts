/** With how many Groups of other accounts a Group is connected. */
import { html } from "lit";
import { icon } from "./icons.ts";

/** Null isn't none. */
export function sharedWords(count: number | null): string {
  return count === null
    ? "connections to other accounts aren’t confirmed now"
    : `connected with ${count} ${count === 1 ? "Group" : "Groups"} of other accounts`;
}

/** What is seen of it; `sharedWords` is what is heard. */
export function sharedFigure(count: number | null) {
  return html`${icon("plug")}<span aria-hidden="true">${count ?? "?"}</span>`;
}
