/**
 * `<svc-attachment>`: a file of a message. Small pictures and the beginnings of small texts are
 * shown; everything is fetched with the session and saved from there.
 */

import { html, nothing, render } from "lit";
import { shownName } from "../../shared/foreign-text.ts";
import type { Attachment } from "../../shared/model.ts";
import { sizeWords } from "../../shared/size-words.ts";
import { labelled } from "../../shared/voice.ts";
import { iconButton } from "../controls/controls.ts";
import { icon } from "../controls/icons.ts";
import { View } from "../controls/view.ts";
import type { BlobAddress, Host } from "../hosts/host.ts";

const PREVIEWED = /^image\/(?:png|jpeg|gif|webp|avif)$/;
const PREVIEW_BYTES = 8_000_000;
/** Larger files aren't fetched to show how they begin. */
const TEXT_BYTES = 262_144;

class AttachmentElement extends View {
  static override readonly properties = {
    host: { attribute: false },
    groupId: {},
    file: { attribute: false },
    preview: { state: true },
    mayRead: { state: true },
    loading: { state: true },
    problem: { state: true },
  };
  declare host: Host;
  declare groupId: string;
  declare file: Attachment;
  declare preview: BlobAddress | null;
  /** What shows texts is loaded. */
  declare mayRead: boolean;
  declare loading: boolean;
  declare problem: string | null;
  #observer: IntersectionObserver | null = null;

  constructor() {
    super();
    this.preview = null;
    this.mayRead = false;
    this.loading = false;
    this.problem = null;
  }

  protected override render() {
    const { file, preview } = this;
    const name = labelled(file.name);
    return html`${
      preview === null
        ? nothing
        : html`<button type="button" class="picture" title="Open ${name}" tabindex="-1" @click=${this.#openPicture}>
            <img src=${preview.url} alt=${name} />
          </button>`
    }
      <button
        type="button"
        class="file"
        tabindex="-1"
        title="Save ${name} (${shownName(file.mime_type)}, ${file.bytes} bytes)"
        ?disabled=${this.loading}
        @click=${this.#save}
      >
        ${icon(file.mime_type.startsWith("image/") ? "file-media" : "file")}
        <span class="file-name"><bdi>${name}</bdi></span>
        <span class="file-size">${sizeWords(file.bytes)}</span>
        ${icon(this.loading ? "loading" : "desktop-download", this.loading ? "turning" : "")}
      </button>
      ${
        this.mayRead
          ? html`<svc-file-preview .host=${this.host} groupId=${this.groupId} .file=${this.file}></svc-file-preview>`
          : nothing
      }
      ${this.problem === null ? nothing : html`<span class="failure" role="alert">${this.problem}</span>`}`;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.#observer = new IntersectionObserver((entries) => {
      if (entries.some((entry) => entry.isIntersecting)) void this.#show();
    });
    this.#observer.observe(this);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#observer?.disconnect();
    this.preview?.release();
    this.preview = null;
  }

  async #show(): Promise<void> {
    this.#observer?.disconnect();
    const { mime_type: type, bytes } = this.file;
    const isPicture = PREVIEWED.test(type);
    if (bytes > (isPicture ? PREVIEW_BYTES : TEXT_BYTES)) return;
    try {
      if (!isPicture) {
        await import("./file-preview.ts");
        this.mayRead = true;
        return;
      }
      const address = await this.host.blob(this.groupId, this.file.sha256);
      if (this.isConnected) this.preview = address;
      else address.release();
    } catch {
      // The file can still be saved, and saving says what is wrong.
    }
  }

  readonly #openPicture = (): void => {
    const name = labelled(this.file.name);
    const dialog = document.createElement("dialog");
    dialog.className = "lightbox";
    dialog.setAttribute("aria-label", name);
    render(
      html`<header class="lightbox-head">
          <span class="file-name"><bdi>${name}</bdi></span>
          <span class="file-size">${sizeWords(this.file.bytes)}</span>
          ${iconButton({ icon: "desktop-download", label: `Save ${name}`, onClick: () => void this.#save() })}
          ${iconButton({ icon: "close", label: "Close", onClick: () => dialog.close() })}
        </header>
        <img src=${this.preview?.url ?? ""} alt=${name} />`,
      dialog,
    );
    dialog.addEventListener("click", ({ target }) => {
      if (!(target as Element).closest(".lightbox-head")) dialog.close();
    });
    dialog.addEventListener("keydown", (event) => event.stopPropagation());
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  };

  readonly #save = async (): Promise<void> => {
    this.loading = true;
    this.problem = null;
    try {
      // The saved file has the name that was shown on the button.
      await this.host.save(this.groupId, this.file.sha256, shownName(this.file.name));
    } catch (error) {
      this.problem = error instanceof Error ? error.message : String(error);
    } finally {
      this.loading = false;
    }
  };
}

customElements.define("svc-attachment", AttachmentElement);
