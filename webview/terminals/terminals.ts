/**
 * `<svc-terminals>`: the drawer below the feed, or a page of its own: a tab for each open terminal,
 * several side by side where there is room.
 */
import { html, nothing } from "lit";
import { repeat } from "lit/directives/repeat.js";
import { actorName } from "../../shared/actor-words.ts";
import { iconButton } from "../controls/controls.ts";
import type { Host } from "../hosts/host.ts";
import type { Conversation } from "../state/conversation.ts";
import { DRAWER } from "../state/open-terminals.ts";
import "./terminal-pane.ts";
import { follow, View } from "../controls/view.ts";

const STEP = 24;

class TerminalsElement extends View {
  static override readonly properties = {
    host: { attribute: false },
    conversation: { attribute: false },
    administrator: { type: Boolean },
    /** The page is narrow: there is no drawer, only the page. */
    page: { type: Boolean },
    width: { state: true },
  };
  declare host: Host;
  declare conversation: Conversation;
  declare administrator: boolean;
  declare page: boolean;
  declare width: number;
  readonly #watcher = new ResizeObserver(([entry]) => {
    this.width = entry?.contentRect.width ?? this.width;
  });

  constructor() {
    super();
    this.width = 0;
    follow(this, () => [this.conversation?.group, this.conversation?.terminals]);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.#watcher.observe(this);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#watcher.disconnect();
  }

  protected override render() {
    const { terminals, group } = this.conversation;
    const actors = new Map(group.actors.map((actor) => [actor.id, actor]));
    const shown = new Set(terminals.shown(this.width));
    // A single one needs no tab: its own header has its name and this button.
    const single = terminals.open.length === 1;
    this.style.height = this.page || terminals.full ? "" : `${terminals.height}px`;
    return html`${this.page || terminals.full ? nothing : this.#edge()}
      ${this.page || terminals.full ? html`<h1 class="only-heard">Terminals</h1>` : nothing}
      ${
        single
          ? nothing
          : html`<div class="terminals-head">
        <div class="tabs" role="group" aria-label="Open terminals">
          ${terminals.open.map((id) => {
            const actor = actors.get(id);
            return actor === undefined
              ? nothing
              : html`<button
                  type="button"
                  class="tab"
                  aria-pressed=${shown.has(id)}
                  @click=${() => this.tell("open-terminal", id)}
                >
                  ${actorName(actor)}
                </button>`;
          })}
        </div>
        ${this.#maximize()}
      </div>`
      }
      <div class="terminals-row" @close-terminal=${(event: CustomEvent<string>) => terminals.close(event.detail)}>
        ${repeat(
          terminals.open.filter((id) => shown.has(id) && actors.has(id)),
          (id) => `${this.conversation.groupId}/${id}`,
          (id) =>
            html`<svc-terminal
              .host=${this.host}
              .groupId=${this.conversation.groupId}
              .actor=${actors.get(id)}
              .terminals=${terminals}
              .tool=${single ? this.#maximize() : nothing}
              ?administrator=${this.administrator}
            ></svc-terminal>`,
        )}
      </div>`;
  }

  #maximize() {
    const { terminals } = this.conversation;
    return iconButton({
      icon: terminals.full ? "chevron-down" : "chevron-up",
      label: terminals.full
        ? this.page
          ? "Restore the page tabs"
          : "Restore the feed"
        : "Maximize the terminals",
      onClick: () => terminals.toggleFull(),
    });
  }

  #edge() {
    const { terminals } = this.conversation;
    return html`<div
      class="drawer-edge"
      role="separator"
      aria-orientation="horizontal"
      aria-label="Height of the terminals"
      aria-valuemin=${DRAWER.least}
      aria-valuemax=${DRAWER.most}
      aria-valuenow=${terminals.height}
      tabindex="0"
      @pointerdown=${this.#onDown}
      @keydown=${this.#onKey}
      @dblclick=${() => terminals.setHeight(DRAWER.usual)}
    ></div>`;
  }

  readonly #onDown = (event: PointerEvent): void => {
    if (event.button !== 0) return;
    const edge = event.currentTarget as HTMLElement;
    const { terminals } = this.conversation;
    const from = event.clientY;
    const { height } = terminals;
    edge.setPointerCapture(event.pointerId);
    const move = (moved: PointerEvent) => terminals.setHeight(height + from - moved.clientY);
    edge.addEventListener("pointermove", move);
    edge.addEventListener("lostpointercapture", () => edge.removeEventListener("pointermove", move), {
      once: true,
    });
  };

  readonly #onKey = (event: KeyboardEvent): void => {
    const direction = event.key === "ArrowUp" ? 1 : event.key === "ArrowDown" ? -1 : 0;
    if (direction === 0) return;
    event.preventDefault();
    const { terminals } = this.conversation;
    terminals.setHeight(terminals.height + direction * STEP);
  };
}

customElements.define("svc-terminals", TerminalsElement);
