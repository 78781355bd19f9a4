/**
 * `<svc-splitter>`: the edge between two columns. Pointer and arrow keys move it, a double click
 * resets it.
 */
import { COLUMN, type Layout, type Side } from "./layout.ts";

const STEP = 16;

class SplitterElement extends HTMLElement {
  layout: Layout | null = null;
  side: Side = "groups";

  connectedCallback(): void {
    this.setAttribute("role", "separator");
    this.setAttribute("aria-orientation", "vertical");
    this.setAttribute("aria-label", `Width of ${this.side === "groups" ? "Groups" : "Actors"}`);
    this.setAttribute("aria-valuemin", String(COLUMN.least));
    this.setAttribute("aria-valuemax", String(COLUMN.most));
    this.tabIndex = 0;
    this.#say();
    this.addEventListener("pointerdown", this.#onDown);
    this.addEventListener("keydown", this.#onKey);
    this.addEventListener("dblclick", () => this.#set(COLUMN[this.side]));
  }

  #say(): void {
    this.setAttribute("aria-valuenow", String(this.layout?.width(this.side) ?? COLUMN[this.side]));
  }

  #set(width: number): void {
    this.layout?.setWidth(this.side, width);
    this.#say();
  }

  readonly #onDown = (event: PointerEvent): void => {
    const { layout, side } = this;
    if (layout === null || event.button !== 0) return;
    this.setPointerCapture(event.pointerId);
    const from = event.clientX;
    const width = layout.width(side);
    const move = (moved: PointerEvent) => {
      const delta = moved.clientX - from;
      this.#set(width + (side === "groups" ? delta : -delta));
    };
    this.addEventListener("pointermove", move);
    this.addEventListener("lostpointercapture", () => this.removeEventListener("pointermove", move), {
      once: true,
    });
  };

  readonly #onKey = (event: KeyboardEvent): void => {
    const direction = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (direction === 0 || this.layout === null) return;
    event.preventDefault();
    this.#set(this.layout.width(this.side) + direction * STEP * (this.side === "groups" ? 1 : -1));
  };
}

customElements.define("svc-splitter", SplitterElement);
