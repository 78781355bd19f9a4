/**
 * What all elements share: they render into the document itself, so that one style sheet, labels
 * and ids reach everywhere, and they follow stores.
 */
import { LitElement, type ReactiveController } from "lit";
import type { Store } from "./store.ts";

export abstract class View extends LitElement {
  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  /** Sends an event to the elements above, with `detail`. */
  protected tell(name: string, detail?: unknown): void {
    this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true }));
  }
}

/**
 * Renders the element again when one of the stores changes. `stores` is called again on each
 * update.
 */
export function follow(host: LitElement, stores: () => readonly (Store | null | undefined)[]): void {
  host.addController(new Follow(host, stores));
}

class Follow implements ReactiveController {
  readonly #host: LitElement;
  readonly #stores: () => readonly (Store | null | undefined)[];
  #followed: readonly (Store | null | undefined)[] = [];
  #releases: (() => void)[] = [];

  constructor(host: LitElement, stores: () => readonly (Store | null | undefined)[]) {
    this.#host = host;
    this.#stores = stores;
  }

  hostConnected(): void {
    this.#host.requestUpdate();
  }

  /** An update may still come after the element left the page. It must not subscribe again. */
  hostUpdate(): void {
    if (!this.#host.isConnected) return;
    const stores = this.#stores();
    if (stores.length === this.#followed.length && stores.every((store, at) => store === this.#followed[at]))
      return;
    this.hostDisconnected();
    this.#followed = stores;
    for (const store of stores) {
      if (store !== null && store !== undefined)
        this.#releases.push(store.subscribe(() => this.#host.requestUpdate()));
    }
  }

  hostDisconnected(): void {
    for (const release of this.#releases) release();
    this.#releases = [];
    this.#followed = [];
  }
}
