/** What the person wrote into a dialog or an answer, which is lost with the page. */
import type { Release } from "../../../shared/stream-client/listeners.ts";

const FORMS = "dialog, svc-question";
/** It only looks for something. */
const SEARCH = "[role=combobox]";

export interface UnsavedForms {
  /** Something is written in one that is still there. */
  readonly any: boolean;
  release: Release;
}

/** `changed` is called when the first form is written in, and when the last one is gone. */
export function followForms(changed: () => void): UnsavedForms {
  const forms = new Set<Element>();
  const life = new AbortController();
  const gone = new MutationObserver(() => {
    for (const form of forms) if (!form.isConnected) forms.delete(form);
    if (forms.size > 0) return;
    gone.disconnect();
    changed();
  });
  const written = ({ target }: Event): void => {
    const field = target instanceof Element && target.closest(SEARCH) === null ? target : null;
    const form = field?.closest(FORMS) ?? null;
    if (form === null || forms.has(form)) return;
    forms.add(form);
    if (forms.size > 1) return;
    gone.observe(document.body, { childList: true, subtree: true });
    changed();
  };
  for (const type of ["input", "change"])
    document.addEventListener(type, written, { signal: life.signal, capture: true });
  return {
    get any() {
      return forms.size > 0;
    },
    release() {
      life.abort();
      gone.disconnect();
    },
  };
}
