/**
 * What all dialogs share: the platform's own modal dialog (focus stays inside and returns, Esc
 * closes), a heading, a busy state.
 */
import { html, nothing, type PropertyValues, type TemplateResult } from "lit";
import { failure, iconButton } from "./controls.ts";
import { View } from "./view.ts";

let dialogs = 0;

export abstract class DialogView extends View {
  static override readonly properties: Record<string, object> = {
    embedded: { type: Boolean },
    busy: { state: true },
    problem: { state: true },
  };
  /** It is the page itself, which can't be closed. */
  declare embedded: boolean;
  declare protected busy: boolean;
  /** Why the last action failed. */
  declare protected problem: string | null;
  readonly #headingId = `dialog-${++dialogs}`;

  constructor() {
    super();
    this.embedded = false;
    this.busy = false;
    this.problem = null;
  }

  protected abstract heading(): string;
  protected abstract content(): TemplateResult;
  /** Buttons at the end; the first is the primary one. */
  protected footer(): TemplateResult | typeof nothing {
    return nothing;
  }
  /** `Enter` in a field. */
  protected submit(): void {}
  protected get wide(): boolean {
    return false;
  }

  /**
   * If nothing in it takes the focus, the dialog itself does. Otherwise it couldn't be scrolled by
   * keyboard.
   */
  protected get isText(): boolean {
    return false;
  }

  protected override render() {
    const classes = `dialog ${this.wide ? "wide" : ""}`;
    if (this.embedded)
      return html`<main class="${classes} embedded" aria-labelledby=${this.#headingId} @keydown=${this.#onKey}>
        ${this.#form()}
      </main>`;
    return html`<dialog
      class=${classes}
      aria-labelledby=${this.#headingId}
      @close=${() => this.#closed()}
      @keydown=${this.#onKey}
      @click=${this.#onBackdrop}
    >
      ${this.#form()}
    </dialog>`;
  }

  #form() {
    return html`<form class="dialog-form" @submit=${this.#onSubmit}>
      <header class="dialog-head">
        ${this.embedded ? html`<h1 id=${this.#headingId}>${this.heading()}</h1>` : html`<h2 id=${this.#headingId}>${this.heading()}</h2>${iconButton({ icon: "close", label: "Close", onClick: () => this.close() })}`}
      </header>
      <div class="dialog-body" tabindex=${this.isText ? 0 : nothing}>${this.content()} ${failure(this.problem)}</div>
      ${this.#footer()}
    </form>`;
  }

  #footer() {
    const footer = this.footer();
    return footer === nothing ? nothing : html`<footer class="dialog-foot">${footer}</footer>`;
  }

  protected override firstUpdated(): void {
    const dialog = this.querySelector("dialog");
    // Nothing takes the focus in a page by itself.
    if (dialog === null) return;
    dialog.showModal();
    const first =
      dialog.querySelector<HTMLElement>("[autofocus]") ??
      dialog.querySelector<HTMLElement>(".dialog-foot .button");
    first?.focus();
  }

  /** A failure may be below the visible part. */
  protected override willUpdate(changed: PropertyValues): void {
    super.willUpdate(changed);
    if (!changed.has("problem") || this.problem === null) return;
    void this.updateComplete.then(() =>
      // After the fields above it have their heights.
      requestAnimationFrame(() =>
        this.querySelector(".dialog-body > .failure")?.scrollIntoView({ block: "nearest" }),
      ),
    );
  }

  #closed(): void {
    this.tell("dialog-closed");
    this.remove();
  }

  protected close(): void {
    this.querySelector("dialog")?.close();
  }

  /** Runs an action, shows that it runs, and says beside it why it failed. True when it worked. */
  protected async act(action: () => Promise<unknown>): Promise<boolean> {
    this.busy = true;
    this.problem = null;
    try {
      await action();
      return true;
    } catch (error) {
      this.problem = error instanceof Error ? error.message : String(error);
      return false;
    } finally {
      this.busy = false;
    }
  }

  readonly #onSubmit = (event: Event): void => {
    event.preventDefault();
    if (!this.busy && this.#isOpen) this.submit();
  };

  /**
   * It has the focus for a moment after it was closed, if what had it before is gone: what is
   * pressed then is for the page.
   */
  get #isOpen(): boolean {
    return this.embedded || this.querySelector("dialog")?.open === true;
  }

  /**
   * The workbench's keys do nothing while a dialog is open. In a tab of its own, the editor gets
   * them. Enter in the toolkit's fields doesn't reach the form by itself.
   */
  readonly #onKey = (event: KeyboardEvent): void => {
    if (!this.#isOpen) return;
    if (!this.embedded) event.stopPropagation();
    if (
      event.key === "Enter" &&
      event.target instanceof HTMLElement &&
      event.target.matches("vscode-text-field")
    ) {
      event.preventDefault();
      if (!this.busy) this.submit();
    }
  };

  readonly #onBackdrop = (event: MouseEvent): void => {
    if (event.target === this.querySelector("dialog")) this.close();
  };
}
