/** `<svc-ticker>`: what each Actor does right now, over all Groups. */

import { html, nothing } from "lit";
import { repeat } from "lit/directives/repeat.js";
import { labelled } from "../../../shared/voice.ts";
import "../../controls/time.ts";
import "../workbench/offline-banner.ts";
import { actorName, actorReason, actorWords } from "../../../shared/actor-words.ts";
import { tickerList } from "../../actors/ticker-list.ts";
import { skeleton } from "../../controls/controls.ts";
import { icon } from "../../controls/icons.ts";
import { roving } from "../../controls/roving.ts";
import { follow, View } from "../../controls/view.ts";
import type { Host } from "../../hosts/host.ts";
import { type RunningActor, RunningActors } from "./running-actors.ts";

class TickerElement extends View {
  static override readonly properties = { host: { attribute: false } };
  declare host: Host;
  #running!: RunningActors;

  constructor() {
    super();
    follow(this, () => [this.#running]);
    roving(this, { selector: ".ticker-actor" });
  }

  override connectedCallback(): void {
    this.#running = new RunningActors(this.host);
    super.connectedCallback();
    this.#running.open();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#running.close();
  }

  protected override render() {
    const { list, loaded } = this.#running;
    return html`<svc-offline .host=${this.host}></svc-offline>
      <main aria-label="What Actors do">
        <h1 class="only-heard">What Actors do</h1>
        ${
          list.length > 0
            ? html`<ul class="rows">
                ${repeat(
                  list,
                  ({ groupId, actor }) => `${groupId} ${actor.id}`,
                  (running) => html`<li>${this.#row(running)}</li>`,
                )}
              </ul>`
            : loaded
              ? html`<p class="ticker-empty">No Actor is working. What they do appears here as it happens.</p>`
              : skeleton(3, "list")
        }
      </main>`;
  }

  #row({ groupId, groupTitle, actor, items }: RunningActor) {
    const { presence } = actor;
    const words = actorWords(presence);
    const name = actorName(actor);
    const reason = actorReason(presence);
    const turns = presence.state === "working" || presence.state === "starting";
    return html`<button
        type="button"
        class="ticker-actor"
        title="Open ${labelled(groupTitle)} in the Workbench"
        @click=${() => this.tell("open-actor", { groupId, actorId: actor.id })}
      >
        <span class="actor-icon tone-${words.tone}">${icon(words.icon, turns ? "turning" : "")}</span>
        <span class="ticker-name"><bdi>${name}</bdi> <span class="ticker-group"><bdi>${labelled(groupTitle)}</bdi></span></span>
        <span class="ticker-state"><span class="tone-${words.tone}">${words.word}</span>${reason === "" ? nothing : html` · ${reason}`}${
          presence.since === null
            ? nothing
            : html` <svc-time class="since" manner="lasting" value=${presence.since}></svc-time>`
        }</span>
      </button>
      ${tickerList(name, items)}`;
  }
}

customElements.define("svc-ticker", TickerElement);
