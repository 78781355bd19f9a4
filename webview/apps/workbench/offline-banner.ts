/**
 * `<svc-offline>`: a thin line while the daemon can't be reached: the age of what is shown, and a
 * retry.
 */
import { html, nothing } from "lit";
import type { Connection, Release } from "../../../shared/stream-client/listeners.ts";
import { icon } from "../../controls/icons.ts";
import { View } from "../../controls/view.ts";
import type { Host } from "../../hosts/host.ts";

/** A connection that comes back at once isn't worth mentioning. */
const SAY_AFTER_MS = 600;

class OfflineElement extends View {
  static override readonly properties = {
    host: { attribute: false },
    connection: { state: true },
    shown: { state: true },
  };
  declare host: Host;
  declare connection: Connection;
  declare shown: boolean;
  #release: Release | null = null;
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor() {
    super();
    this.connection = { state: "connecting", heard: null };
    this.shown = false;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.#release = this.host.watchConnection((connection) => this.#take(connection));
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#release?.();
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #take(connection: Connection): void {
    this.connection = connection;
    if (connection.state === "online") {
      if (this.#timer !== null) clearTimeout(this.#timer);
      this.#timer = null;
      this.shown = false;
    } else if (!this.shown) {
      this.#timer ??= setTimeout(() => {
        this.shown = true;
      }, SAY_AFTER_MS);
    }
    this.tell("staleness", this.shown);
  }

  protected override updated(): void {
    this.tell("staleness", this.shown);
  }

  protected override render() {
    if (!this.shown) return nothing;
    const { heard } = this.connection;
    return html`<div class="offline" role="status">
      ${icon("warning")}<span>Can’t reach the daemon.
        ${heard === null ? nothing : html`What you see is <svc-time class="unbroken" manner="age" value=${heard}></svc-time> old.`}
        Nothing is lost.</span>
      <button type="button" class="link" @click=${() => this.host.retry()}>Try now</button>
    </div>`;
  }
}

customElements.define("svc-offline", OfflineElement);
