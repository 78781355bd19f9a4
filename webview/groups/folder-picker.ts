/**
 * `<svc-folder-picker>`: the folders of the daemon's machine, one level at a time. It tells
 * `folder` with the path that the person goes to, which is the one that is chosen; where it begins
 * isn't chosen yet. Arrows move, Enter and → go in, ← goes up.
 */
import { html, nothing } from "lit";
import { shownName } from "../../shared/foreign-text.ts";
import type { ResultOf } from "../../shared/operations/registry.ts";
import { failure, iconButton, skeleton } from "../controls/controls.ts";
import { icon } from "../controls/icons.ts";
import { roving } from "../controls/roving.ts";
import { checkbox } from "../controls/toolkit.ts";
import { View } from "../controls/view.ts";
import type { Host } from "../hosts/host.ts";

type Shown = ResultOf<"folder_list">;

class FolderPicker extends View {
  static override readonly properties = {
    host: { attribute: false },
    start: {},
    shown: { state: true },
    showsHidden: { state: true },
    problem: { state: true },
  };
  declare host: Host;
  /** Where it begins; the daemon's person's own folder if it is empty. */
  declare start: string;
  declare shown: Shown | null;
  declare showsHidden: boolean;
  declare problem: string | null;
  #asking = 0;
  /** The folder that is shown, or will be when the answer comes. */
  #asked: string | undefined;

  constructor() {
    super();
    this.start = "";
    this.shown = null;
    this.showsHidden = false;
    this.problem = null;
    roving(this, { selector: ".folder-row" });
    this.addEventListener("keydown", this.#onKey);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    void this.#open(this.start.trim() === "" ? undefined : this.start.trim());
  }

  protected override render() {
    const { shown } = this;
    return html`<div class="folders" role="group" aria-label="Folders of the daemon’s machine">
      <div class="folders-head">
        ${iconButton({
          icon: "arrow-up",
          label: "Up to the folder above",
          disabled: (shown?.parent ?? null) === null,
          onClick: () => void this.#up(),
        })}
        <span class="folders-path" role="status"><bdi>${shown === null ? "" : shownName(shown.path)}</bdi></span>
      </div>
      ${failure(this.problem)}
      <div class="folders-list" aria-busy=${shown === null}>
        ${shown === null ? (this.problem === null ? skeleton(3, "list") : nothing) : this.#rows(shown)}
      </div>
      ${checkbox({
        label: "Show hidden folders",
        checked: this.showsHidden,
        onChange: (isHidden) => {
          this.showsHidden = isHidden;
          void this.#open(this.#asked);
        },
      })}
    </div>`;
  }

  #rows({ path, folders, more }: Shown) {
    if (folders.length === 0) return html`<p class="hint pad">No folders in here.</p>`;
    return html`${folders.map(
      (name) => html`<button
        type="button"
        class="folder-row"
        data-name=${name}
        @click=${() => void this.#go(below(path, name))}
      >
        ${icon("folder")}<span class="file-name"><bdi>${shownName(name)}</bdi></span>
      </button>`,
    )}
    ${more ? html`<p class="hint pad">There are more. Enter the path above to see others.</p>` : nothing}`;
  }

  readonly #onKey = (event: KeyboardEvent): void => {
    const row = event.target instanceof Element ? event.target.closest<HTMLElement>(".folder-row") : null;
    if (row === null || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "ArrowRight") row.click();
    else if (event.key === "ArrowLeft") void this.#up();
    else return;
    event.preventDefault();
  };

  async #up(): Promise<void> {
    const from = this.shown;
    if (from?.parent === null || from === null) return;
    await this.#go(from.parent, from.path.slice(from.path.lastIndexOf("/") + 1));
  }

  /** Chosen at once: an answer that comes late must not replace what the person entered since. */
  #go(path: string, focused?: string): Promise<void> {
    this.tell("folder", path);
    return this.#open(path, focused);
  }

  /** Shows the folder, with the focus on its first row or on `focused`, if the focus was here. */
  async #open(path: string | undefined, focused?: string): Promise<void> {
    const asking = ++this.#asking;
    this.#asked = path;
    try {
      const shown = await this.host.call("folder_list", {
        ...(path === undefined ? {} : { path }),
        hidden: this.showsHidden,
      });
      if (asking !== this.#asking || !this.isConnected) return;
      const isHere = this.querySelector(".folder-row:focus") !== null;
      this.shown = shown;
      this.problem = null;
      await this.updateComplete;
      if (!isHere) return;
      const rows = [...this.querySelectorAll<HTMLElement>(".folder-row")];
      const row = rows.find(({ dataset }) => dataset["name"] === focused) ?? rows[0];
      (row ?? this.querySelector<HTMLElement>(".folders-head button"))?.focus();
    } catch (error) {
      if (asking !== this.#asking) return;
      this.#asked = this.shown?.path;
      // A path that leads nowhere leaves other folders to choose from.
      if (this.shown === null && path !== undefined) await this.#open(undefined);
      this.problem = error instanceof Error ? error.message : String(error);
    }
  }
}

function below(path: string, name: string): string {
  return `${path.endsWith("/") ? path : `${path}/`}${name}`;
}

customElements.define("svc-folder-picker", FolderPicker);
