/** The line under a message: what happened to it, for all recipients at once or for each. */
import { html, nothing, type TemplateResult } from "lit";
import { exact } from "../../shared/time-words.ts";
import { stateWord } from "../controls/controls.ts";
import { alike, type DeliveryWord, type RecipientDelivery } from "./delivery-words.ts";

const SHOWN = 6;

/** Beside the time: a settled message takes no line of its own. */
export function settledWords(list: readonly DeliveryWord[]): TemplateResult {
  return html`<span class="settled">${words(list)}</span>`;
}

function words(list: readonly DeliveryWord[]): TemplateResult[] {
  return list.map((word) =>
    stateWord({ ...word, title: word.ts === null ? word.fact : `${word.fact}\n${exact(word.ts)}` }),
  );
}

/** What the person can do about it. */
export interface Offer {
  label: string;
  title: string;
  act: () => void;
}

export function deliveryLine(
  list: readonly RecipientDelivery[],
  offer: Offer | null,
): TemplateResult | typeof nothing {
  const told = list.filter((entry) => entry.words.length > 0);
  if (told.length === 0) return nothing;
  if (told.length === 1 || (alike(list) && list.length > 1)) {
    const all = told.length > 1 ? html`<span class="delivery-who">all ${told.length}</span>` : nothing;
    return html`<div class="delivery">${all}${words(told[0]!.words)}${button(offer)}</div>`;
  }
  return html`<ul class="delivery" aria-label="Delivery">
    ${told
      .slice(0, SHOWN)
      .map((entry) => html`<li><span class="delivery-who">${entry.who}</span>${words(entry.words)}</li>`)}
    ${told.length > SHOWN ? html`<li class="delivery-who">and ${told.length - SHOWN} more</li>` : nothing}
    ${offer === null ? nothing : html`<li>${button(offer)}</li>`}
  </ul>`;
}

function button(offer: Offer | null): TemplateResult | typeof nothing {
  if (offer === null) return nothing;
  const { label, title, act } = offer;
  return html`<button type="button" class="answer" tabindex="-1" title=${title} @click=${act}>${label}</button>`;
}
