/** What is typed while a dialog loads: it is kept for the dialog, and the page behind gets none. */
import type { LitElement } from "lit";

/** Keys that choose from a list below a field. Elsewhere the person sees the text before Enter. */
const CHOOSING: ReadonlySet<string> = new Set(["ArrowDown", "ArrowUp", "Enter"]);
const FIELDS = "input:not([type=checkbox]), textarea, vscode-text-field";

export class TypeAhead {
  readonly #field = document.createElement("input");
  readonly #from = document.activeElement;
  /** Keys since the last change of the text that choose from a list. */
  #keys: string[] = [];

  /** `cancel` is called for Esc. */
  constructor(parent: HTMLElement, cancel: () => void) {
    const field = this.#field;
    field.className = "only-heard";
    field.autocomplete = "off";
    // No keyboard on the screen: it may not be a dialog to write in.
    field.inputMode = "none";
    field.ariaLabel = "Opening…";
    field.addEventListener("input", () => (this.#keys = []));
    field.addEventListener("keydown", (event) => {
      const { key } = event;
      if (event.isComposing || event.altKey || event.ctrlKey || event.metaKey) return;
      if (key === "Escape") cancel();
      else if (CHOOSING.has(key) && !event.repeat) this.#keys.push(key);
      if (key !== "Escape" && key !== "Tab" && !CHOOSING.has(key)) return;
      event.preventDefault();
      event.stopPropagation();
    });
    parent.append(field);
    field.focus({ preventScroll: true });
  }

  /** The focus goes back, unless the person has moved it. */
  end(): void {
    if (document.activeElement === this.#field && this.#from instanceof HTMLElement) this.#from.focus();
    this.#field.remove();
  }

  /** What was typed goes into the field that has the focus in `dialog`, if one has. */
  async give(dialog: LitElement): Promise<void> {
    await dialog.updateComplete;
    const field = document.activeElement as HTMLInputElement | null;
    if (field === null || !dialog.contains(field) || !field.matches(FIELDS)) return;
    if (this.#field.value !== "") {
      field.value += this.#field.value;
      field.dispatchEvent(new Event("input", { bubbles: true }));
    }
    if (!field.matches("[role=combobox]")) return;
    for (const key of this.#keys) {
      await dialog.updateComplete;
      if (key === "Enter") field.form?.requestSubmit();
      else field.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    }
  }
}
