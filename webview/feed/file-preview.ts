/**
 * `<svc-file-preview>`: the first lines of a text file of a message, and more when asked. Loaded
 * once a file is seen that may be text. Its bytes decide; what they don't prove shows nothing.
 */

import { html, nothing } from "lit";
import { unsafeHTML } from "lit/directives/unsafe-html.js";
import type { Attachment } from "../../shared/model.ts";
import { labelled } from "../../shared/voice.ts";
import { View } from "../controls/view.ts";
import type { Host } from "../hosts/host.ts";
import { isLanguage } from "./code-languages.ts";
import { colored } from "./colored.ts";
import { renderCode } from "./markdown.ts";

/** So much of a file is read, and so much of that is shown at first and when asked for more. */
const READ_BYTES = 65_536;
const FIRST = { lines: 10, characters: 1200 } as const;
const MORE = { lines: 400, characters: 32_768 } as const;
const PLAIN = /^(?:txt|text|log|md|markdown|csv|tsv|diff|patch|makefile|license|gitignore|lock)$/;

/** The ending of a file's name, or the whole name where it has none, in lowercase. */
function endingOf(name: string): string {
  return name.slice(name.lastIndexOf(".") + 1).toLowerCase();
}

function maybeText({ name, mime_type: type }: Attachment): boolean {
  const ending = endingOf(name);
  return type.startsWith("text/") || PLAIN.test(ending) || isLanguage(ending);
}

/** Null unless the bytes are UTF-8 without signs that no text has. */
function decoded(bytes: ArrayBuffer): string | null {
  try {
    // The last character may be cut.
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: true });
    // oxlint-disable-next-line no-control-regex
    return /[\u0000-\u0008\u000e-\u001a\u001c-\u001f]/.test(text) ? null : text.replaceAll(/\r\n?/g, "\n");
  } catch {
    return null;
  }
}

/** The beginning of a text, in whole lines where they aren't too long. */
function beginning(text: string, most: { lines: number; characters: number }): string {
  const lines = text.slice(0, most.characters).split("\n");
  if (text.length > most.characters && lines.length > 1) lines.pop();
  return lines.slice(0, most.lines).join("\n");
}

class FilePreview extends View {
  static override readonly properties = {
    host: { attribute: false },
    groupId: {},
    file: { attribute: false },
    text: { state: true },
    whole: { state: true },
  };
  declare host: Host;
  declare groupId: string;
  declare file: Attachment;
  /** Its beginning; null until it is known, and if it isn't text. */
  declare text: string | null;
  declare whole: boolean;

  constructor() {
    super();
    this.text = null;
    this.whole = false;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    if (this.text === null && maybeText(this.file)) void this.#read();
  }

  protected override updated(): void {
    colored(this);
  }

  protected override render() {
    const { text } = this;
    if (text === null) return nothing;
    const first = beginning(text, FIRST);
    const more = beginning(text, MORE);
    const shown = this.whole ? more : first;
    const isCut = more.length < text.trimEnd().length || this.file.bytes > READ_BYTES;
    return html`<div class="code-block" role="group" aria-label="Beginning of ${labelled(this.file.name)}">
        ${unsafeHTML(renderCode(shown, endingOf(this.file.name)))}
      </div>
      ${this.whole && isCut ? html`<p class="hint">This is its beginning. Save the file to read the rest.</p>` : nothing}
      ${
        first.length >= more.trimEnd().length
          ? nothing
          : html`<button
              type="button"
              class="link show-more"
              tabindex="-1"
              aria-expanded=${this.whole}
              @click=${() => (this.whole = !this.whole)}
            >
              ${this.whole ? "Show less" : "Show more"}
            </button>`
      }`;
  }

  async #read(): Promise<void> {
    try {
      const blob = await this.host.bytes(this.groupId, this.file.sha256);
      const text = decoded(await blob.slice(0, READ_BYTES).arrayBuffer());
      if (text !== null && text.trim() !== "") this.text = text;
    } catch {
      // The file can still be saved, and saving says what is wrong.
    }
  }
}

customElements.define("svc-file-preview", FilePreview);
