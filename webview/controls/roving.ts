/**
 * Arrow keys, Home and End in a list of which one entry at a time can be reached by Tab (roving
 * tabindex).
 */
import type { LitElement, ReactiveController } from "lit";

interface RovingOptions {
  /** Entries, in order. */
  selector: string;
  /** Which entry is reached by Tab before any was focused; the first by default. */
  start?: "first" | "last";
  /** A selector of the entry that Tab reaches first when there is one, such as the chosen one. */
  prefer?: string;
  /** Goes to an end itself, if the list doesn't hold all of its entries. */
  toEnd?: (end: "first" | "last") => void;
}

/** Lets the arrow keys move among the entries of an element. */
export function roving(host: LitElement, options: RovingOptions): void {
  host.addController(new Roving(host, options));
}

class Roving implements ReactiveController {
  readonly #host: LitElement;
  readonly #options: RovingOptions;
  #current: HTMLElement | null = null;

  constructor(host: LitElement, options: RovingOptions) {
    this.#host = host;
    this.#options = options;
  }

  get items(): HTMLElement[] {
    return [...this.#host.querySelectorAll<HTMLElement>(this.#options.selector)];
  }

  hostConnected(): void {
    this.#host.addEventListener("keydown", this.#onKey);
    this.#host.addEventListener("focusin", this.#onFocus);
  }

  hostDisconnected(): void {
    this.#host.removeEventListener("keydown", this.#onKey);
    this.#host.removeEventListener("focusin", this.#onFocus);
  }

  hostUpdated(): void {
    const items = this.items;
    if (items.length === 0) return;
    const preferred =
      this.#options.prefer === undefined
        ? undefined
        : items.find((item) => item.matches(this.#options.prefer!));
    const fallback = this.#options.start === "last" ? items.at(-1) : items[0];
    const current =
      this.#current !== null && items.includes(this.#current) ? this.#current : (preferred ?? fallback);
    for (const item of items) {
      const wanted = item === current ? 0 : -1;
      if (item.tabIndex !== wanted || !item.hasAttribute("tabindex")) item.tabIndex = wanted;
    }
  }

  #entryOf(target: EventTarget | null): HTMLElement | null {
    return target instanceof HTMLElement ? target.closest<HTMLElement>(this.#options.selector) : null;
  }

  readonly #onFocus = (event: FocusEvent): void => {
    const entry = this.#entryOf(event.target);
    if (entry === null || !this.#host.contains(entry)) return;
    this.#current = entry;
    this.hostUpdated();
  };

  readonly #onKey = (event: KeyboardEvent): void => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const entry = this.#entryOf(event.target);
    // Keys inside an entry (a text field, a menu) are that control's own.
    if (entry === null || (event.target !== entry && !entry.matches("[data-roving-inside]"))) return;
    const items = this.items;
    const at = items.indexOf(entry);
    let next: HTMLElement | undefined;
    if (this.#options.toEnd !== undefined && (event.key === "Home" || event.key === "End")) {
      event.preventDefault();
      event.stopPropagation();
      this.#options.toEnd(event.key === "Home" ? "first" : "last");
      return;
    }
    if (event.key === "ArrowDown") next = items[at + 1];
    else if (event.key === "ArrowUp") next = items[at - 1];
    else if (event.key === "Home") next = items[0];
    else if (event.key === "End") next = items.at(-1);
    else return;
    event.preventDefault();
    event.stopPropagation();
    next?.focus();
    next?.scrollIntoView({ block: "nearest" });
  };
}
