/**
 * The initials of an agent's name in a colour of its own, so that messages are told apart at a
 * glance.
 */
import { html, type TemplateResult } from "lit";

const TINTS = 8;
/** Letters and digits, each with the marks that belong to it. */
const WORD = /(?:[\p{L}\p{N}]\p{M}*)+/gu;
const LETTER = /[\p{L}\p{N}]\p{M}*/gu;

/** Of the first two words, else the first two letters: "Docs writer" is DW, "lead" is Le. Pure. */
export function initials(name: string): string {
  const words = (name.match(WORD) ?? []).map((word) => word.match(LETTER) ?? []);
  const [first = "", next = ""] = words[0] ?? [];
  const second = words[1]?.[0];
  return first.toUpperCase() + (second?.toUpperCase() ?? next);
}

/** The same for an id in every window. Pure. */
export function tint(id: string): number {
  let sum = 0;
  for (const letter of id) sum = (sum * 31 + letter.codePointAt(0)!) % 65_521;
  return sum % TINTS;
}

/** For the eye only: the name stands beside it. */
export function initialsOf(name: string, id: string): TemplateResult {
  return html`<span class="initials tint-${tint(id)}" aria-hidden="true">${initials(name)}</span>`;
}
