/** `<svc-publish-dialog>`: shows a file or a page of the person's choice in a slot. */
import { html, nothing, type TemplateResult } from "lit";
import { createRef, ref } from "lit/directives/ref.js";
import { shownName } from "../../shared/foreign-text.ts";
import { labelFrom } from "../../shared/invisible.ts";
import { LIMITS } from "../../shared/limits.ts";
import { kindOfFile, PRESENTATION_FILE_ENDS } from "../../shared/presentation-file.ts";
import { sizeWords } from "../../shared/size-words.ts";
import { announce } from "../controls/announce.ts";
import { DialogView } from "../controls/dialog.ts";
import { fileName } from "../controls/file-name.ts";
import { icon } from "../controls/icons.ts";
import { button, textField } from "../controls/toolkit.ts";
import { type Host, HostError } from "../hosts/host.ts";
import type { Conversation } from "../state/conversation.ts";

/** The title of what has a name that can't be seen. */
const UNNAMED = "Untitled";

class PublishDialog extends DialogView {
  static override readonly properties = {
    ...DialogView.properties,
    file: { state: true },
    url: { state: true },
    title_: { state: true },
    sent: { state: true },
  };
  declare host: Host;
  declare conversation: Conversation;
  declare slotNumber: number;
  /** What the slot shows now; null while it is empty. */
  declare replaces: string | null;
  declare file: File | null;
  declare url: string;
  /** As typed; empty for the name of the file, or the address. */
  declare title_: string;
  /** Bytes of the file that have arrived. */
  declare sent: number;
  readonly #input = createRef<HTMLInputElement>();
  readonly #gone = new AbortController();
  /** The same for a second try, so that a lost answer makes no second version. */
  #key = crypto.randomUUID();

  constructor() {
    super();
    this.replaces = null;
    this.file = null;
    this.url = "";
    this.title_ = "";
    this.sent = 0;
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#gone.abort();
  }

  protected override heading(): string {
    return `Show something in slot ${this.slotNumber}`;
  }

  protected override content(): TemplateResult {
    const { file, replaces } = this;
    return html`${
      replaces === null
        ? nothing
        : html`<p>It takes the place of <strong><bdi>${replaces}</bdi></strong>, which can still be stepped back to.</p>`
    }
      <div class="buttons">
        ${button({
          label: file === null ? "Choose a file…" : "Choose another file…",
          icon: "file",
          disabled: this.busy,
          onClick: () => this.#input.value?.click(),
        })}
        <input ${ref(this.#input)} type="file" hidden aria-label="File" accept=${PRESENTATION_FILE_ENDS.join()} @change=${this.#onFile} />
      </div>
      ${
        file === null
          ? html`<p class="hint">Markdown, HTML, CSV, PDF or a picture, up to ${sizeWords(LIMITS.presentation.contentBytes)}.</p>`
          : html`<p role="status">${icon("file")} <bdi>${shownName(fileName(file))}</bdi> · ${sizeWords(file.size)}</p>`
      }
      ${
        this.busy && file !== null
          ? html`<progress max=${Math.max(1, file.size)} .value=${this.sent} aria-label="Upload of ${shownName(fileName(file))}"></progress>`
          : nothing
      }
      ${textField({
        label: "Or the address of a page",
        placeholder: "https://",
        value: this.url,
        disabled: this.busy || file !== null,
        onInput: (url) => this.#change({ url }),
      })}
      ${textField({
        label: "Title",
        placeholder: this.#named,
        value: this.title_,
        disabled: this.busy,
        onInput: (title) => this.#change({ title_: title }),
      })}`;
  }

  protected override footer(): TemplateResult {
    return button({
      label: this.busy ? "Showing…" : "Show",
      primary: true,
      disabled: this.busy || (this.file === null && this.url.trim() === ""),
      onClick: () => this.submit(),
    });
  }

  protected override submit(): void {
    void this.act(() => this.#publish()).then((published) => {
      if (!published) return;
      announce(`Slot ${this.slotNumber} shows ${shownName(this.#title)}`);
      this.close();
    });
  }

  /** Without a title of the person's own. */
  get #named(): string {
    const named = this.file === null ? this.url.trim() : fileName(this.file);
    return labelFrom(named, LIMITS.presentation.titleBytes) || (named === "" ? "" : UNNAMED);
  }

  get #title(): string {
    return this.title_.trim() === "" ? this.#named : this.title_.trim();
  }

  async #publish(): Promise<void> {
    const { conversation, slotNumber: slot, file } = this;
    const input = { group_id: conversation.groupId, slot, title: this.#title, client_id: this.#key };
    if (file === null) {
      await this.host.call("presentation_publish", { ...input, kind: "url", url: this.url.trim() });
      return;
    }
    const kind = kindOfFile(file.name);
    if (kind === undefined)
      throw new HostError("invalid_argument", "The end of the file’s name doesn’t say what it is.");
    const { contentBytes } = LIMITS.presentation;
    if (file.size > contentBytes)
      throw new HostError("too_large", `A slot shows up to ${sizeWords(contentBytes)}.`);
    const { sha256 } = await this.host.upload(conversation.groupId, file, {
      signal: this.#gone.signal,
      progress: (sent) => (this.sent = sent),
    });
    // Whoever closes the dialog meanwhile doesn't want it shown.
    if (this.#gone.signal.aborted) return;
    await this.host.call("presentation_publish", { ...input, kind, sha256 });
  }

  #change(change: Partial<Pick<this, "file" | "url" | "title_">>): void {
    Object.assign(this, change);
    this.#key = crypto.randomUUID();
  }

  readonly #onFile = (): void => {
    const [file] = this.#input.value?.files ?? [];
    if (file === undefined) return;
    this.problem = null;
    this.#change({ file, url: "" });
  };
}

customElements.define("svc-publish-dialog", PublishDialog);
