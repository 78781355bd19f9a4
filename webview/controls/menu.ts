/**
 * `<svc-menu>`: a button that opens a list of actions. In the top layer, so that no scrolling
 * column cuts it.
 */
import { html, nothing } from "lit";
import { type IconName, icon } from "./icons.ts";
import { View } from "./view.ts";

export interface MenuItem {
  label: string;
  icon?: IconName;
  onSelect: () => void;
  /** Destroys something, so it is set apart. */
  destructive?: boolean;
  checked?: boolean;
  detail?: string;
  disabled?: boolean;
  /** A heading above it, where another kind of item begins. */
  heading?: string;
}

let menus = 0;

class MenuElement extends View {
  static override readonly properties = {
    label: {},
    icon: {},
    items: { attribute: false },
    aside: { type: Boolean },
    opened: { state: true },
  };
  declare label: string;
  declare icon: IconName;
  /** Called when the menu opens. */
  declare items: () => readonly MenuItem[];
  declare aside: boolean;
  declare opened: boolean;
  readonly #id = `menu-${++menus}`;

  constructor() {
    super();
    this.label = "More";
    this.icon = "ellipsis";
    this.items = () => [];
    this.aside = false;
    this.opened = false;
  }

  protected override render() {
    return html`<button
        type="button"
        class="icon-button"
        title=${this.label}
        aria-label=${this.label}
        aria-haspopup="menu"
        aria-expanded=${this.opened}
        aria-controls=${this.opened ? this.#id : nothing}
        tabindex=${this.aside ? -1 : nothing}
        @click=${this.#toggle}
        @keydown=${this.#onButtonKey}
      >
        ${icon(this.icon)}
      </button>
      ${this.opened ? this.#list() : nothing}`;
  }

  #list() {
    return html`<div
      id=${this.#id}
      class="menu"
      role="menu"
      aria-label=${this.label}
      popover="manual"
      @keydown=${this.#onKey}
      @focusout=${this.#onFocusOut}
      @toggle=${this.#onToggle}
    >
      ${this.items().map(
        (
          item,
        ) => html`${item.heading === undefined ? nothing : html`<div class="menu-heading" role="presentation">${item.heading}</div>`}<button
          type="button"
          class="menu-item ${item.destructive === true ? "destructive" : ""}"
          role=${item.checked === undefined ? "menuitem" : "menuitemradio"}
          aria-checked=${item.checked ?? nothing}
          tabindex="-1"
          ?disabled=${item.disabled === true}
          @click=${() => this.#choose(item)}
        >
          ${item.checked === true ? icon("check") : item.icon === undefined ? html`<span class="icon"></span>` : icon(item.icon)}
          <span class="menu-label">${item.label}</span>
          ${item.detail === undefined ? nothing : html`<span class="menu-detail">${item.detail}</span>`}
        </button>`,
      )}
    </div>`;
  }

  get #popup(): HTMLElement | null {
    return this.querySelector<HTMLElement>(".menu");
  }

  get #buttons(): HTMLElement[] {
    return [...this.querySelectorAll<HTMLElement>(".menu-item:not([disabled])")];
  }

  readonly #toggle = (): void => {
    if (this.opened) this.#close(true);
    else void this.#open();
  };

  async #open(): Promise<void> {
    this.opened = true;
    await this.updateComplete;
    const popup = this.#popup;
    const anchor = this.querySelector("button");
    if (popup === null || anchor === null) return;
    popup.showPopover();
    const around = anchor.getBoundingClientRect();
    const own = popup.getBoundingClientRect();
    const left = Math.max(4, Math.min(around.right - own.width, innerWidth - own.width - 4));
    const below = around.bottom + 2;
    const top = below + own.height > innerHeight - 4 ? Math.max(4, around.top - own.height - 2) : below;
    popup.style.setProperty("left", `${left}px`);
    popup.style.setProperty("top", `${top}px`);
    this.#buttons[0]?.focus();
    addEventListener("pointerdown", this.#onOutside, true);
  }

  #close(back: boolean): void {
    if (!this.opened) return;
    removeEventListener("pointerdown", this.#onOutside, true);
    if (this.#popup?.matches(":popover-open") === true) this.#popup.hidePopover();
    this.opened = false;
    if (back) this.querySelector("button")?.focus();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#close(false);
  }

  #choose(item: MenuItem): void {
    this.#close(true);
    item.onSelect();
  }

  readonly #onOutside = (event: Event): void => {
    if (!event.composedPath().includes(this)) this.#close(false);
  };

  readonly #onFocusOut = (event: FocusEvent): void => {
    if (event.relatedTarget instanceof Node && !this.contains(event.relatedTarget)) this.#close(false);
  };

  /** Something else may hide it. */
  readonly #onToggle = ({ newState }: ToggleEvent): void => {
    if (newState === "closed") this.#close(false);
  };

  readonly #onButtonKey = (event: KeyboardEvent): void => {
    if (event.key !== "ArrowDown" || this.opened) return;
    event.preventDefault();
    event.stopPropagation();
    void this.#open();
  };

  readonly #onKey = (event: KeyboardEvent): void => {
    const buttons = this.#buttons;
    const at = buttons.indexOf(document.activeElement as HTMLElement);
    const keys: Record<string, () => void> = {
      ArrowDown: () => buttons[(at + 1) % buttons.length]?.focus(),
      ArrowUp: () => buttons[(at - 1 + buttons.length) % buttons.length]?.focus(),
      Home: () => buttons[0]?.focus(),
      End: () => buttons.at(-1)?.focus(),
      Escape: () => this.#close(true),
      Tab: () => this.#close(true),
    };
    const act = keys[event.key];
    event.stopPropagation();
    if (act === undefined) return;
    event.preventDefault();
    act();
  };
}

customElements.define("svc-menu", MenuElement);
