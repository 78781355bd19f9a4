/** `<svc-instances>`: the account's other instances below the own Groups, with their Groups. */

import { html, nothing } from "lit";
import { repeat } from "lit/directives/repeat.js";
import type { FrameGroup } from "../../shared/frame-protocol.ts";
import { labelled } from "../../shared/voice.ts";
import { sharedFigure, sharedWords } from "../controls/shared-mark.ts";
import "../controls/time.ts";
import { iconButton } from "../controls/controls.ts";
import { type IconName, icon } from "../controls/icons.ts";
import { roving } from "../controls/roving.ts";
import { follow, View } from "../controls/view.ts";
import { problemWord } from "./frame-words.ts";
import type { Instances, RemoteInstance } from "./instances.ts";

/** Rows of Groups that are drawn at once. */
const PAGE = 100;

class InstancesElement extends View {
  static override readonly properties = { instances: { attribute: false } };
  declare instances: Instances;
  /** Whose saved Groups are shown, and how many of each instance. */
  readonly #expanded = new Set<string>();
  readonly #drawn = new Map<string, number>();

  constructor() {
    super();
    follow(this, () => [this.instances]);
    roving(this, { selector: ".row, .remote-connections", prefer: "[aria-current]" });
  }

  protected override render() {
    const { list } = this.instances;
    if (list.length === 0) return nothing;
    return html`<header class="column-head"><h2>Other instances</h2></header>
      <nav class="instances-body" aria-label="Other instances">
        <ul class="rows">
          ${repeat(
            list,
            (instance) => instance.instance_id,
            (instance) => html`<li class="instance">${this.#instance(instance)}</li>`,
          )}
        </ul>
      </nav>`;
  }

  #instance(instance: RemoteInstance) {
    const { instance_id: id, name } = instance;
    const { live } = this.instances;
    const isShown = live?.target.instance_id === id;
    const told = this.instances.groups(id);
    const isOpen = told !== null && (told.live || this.#expanded.has(id));
    const label = isOpen ? `Hide the Groups of ${name}` : `Show the saved Groups of ${name}`;
    return html`<div class="instance-head">
        <button
          type="button"
          class="row instance-row"
          aria-current=${isShown && live.groupId === null ? "true" : nothing}
          title=${instance.origin ?? "No route to it is set"}
          @click=${() => this.#show(id, null)}
        >
          ${icon("server")}<span class="row-label"><bdi>${name}</bdi></span>${this.#state(instance)}
        </button>
        ${
          told === null || told.live
            ? nothing
            : iconButton({
                icon: isOpen ? "chevron-down" : "chevron-right",
                label,
                expanded: isOpen,
                onClick: () => this.#toggle(id),
              })
        }
      </div>
      ${isOpen ? this.#groups(id, told, isShown ? live.groupId : null) : nothing}`;
  }

  #state({ instance_id: id, origin }: RemoteInstance) {
    const { live, problems } = this.instances;
    const state = (name: IconName, word: string, at: number | null = null) =>
      html`<span class="row-detail instance-state">${icon(name)}${word}${at === null ? nothing : html` <svc-time value=${at} manner="clock"></svc-time>`}</span>`;
    if (live?.target.instance_id === id) {
      if (live.phase === "opening" || live.phase === "shown") return state("loading", "connecting");
      if (live.phase === "locked") return state("lock", "not signed in");
      if (live.phase === "live") return state("circle-filled", "open");
    }
    const problem = problems.get(id);
    if (problem !== undefined) {
      const { word, since } = problemWord(problem.code);
      return state("warning", word, since ? problem.at : null);
    }
    return origin === null ? state("circle-slash", "no route") : nothing;
  }

  #groups(
    id: string,
    told: { live: boolean; groups: readonly FrameGroup[]; at: number },
    groupId: string | null,
  ) {
    const most = this.#drawn.get(id) ?? PAGE;
    const left = told.groups.length - most;
    return html`${told.live ? nothing : html`<p class="hint saved-note">Saved <svc-time value=${told.at}></svc-time></p>`}
      <ul class="rows remote-groups" data-live=${told.live}>
        ${repeat(
          told.groups.slice(0, most),
          (group) => group.group_id,
          (group) => html`<li class="remote-group">
            <button
              type="button"
              class="row remote-group-row ${group.running ? "" : "resting"}"
              aria-current=${group.group_id === groupId ? "true" : nothing}
              title=${labelled(group.title)}
              @click=${() => this.#show(id, group.group_id)}
            >
              ${icon("comment-discussion")}<span class="row-label"><bdi>${labelled(group.title)}</bdi></span>
              ${group.running && told.live ? html`<span class="row-detail">${icon("pulse")}<span class="only-heard">working</span></span>` : nothing}
            </button>
            ${this.#connections(id, group)}
          </li>`,
        )}
      </ul>
      ${
        left <= 0
          ? nothing
          : html`<button type="button" class="link more-groups" @click=${() => this.#more(id, most)}>${left} more</button>`
      }`;
  }

  /** With how many Groups of other accounts it is connected. What has expired says nothing. */
  #connections(id: string, { group_id: groupId, title, connection }: FrameGroup) {
    if (connection === undefined || connection.count === 0) return nothing;
    if (!(Date.parse(connection.expires_at) > Date.now())) return nothing;
    const { count } = connection;
    const label = `Connections of ${labelled(title)}: ${sharedWords(count)}`;
    return html`<button
      type="button"
      class="remote-connections"
      title=${label}
      aria-label=${label}
      @click=${() => this.#show(id, groupId, true)}
    >
      ${sharedFigure(count)}
    </button>`;
  }

  #more(id: string, most: number): void {
    this.#drawn.set(id, most + PAGE);
    this.requestUpdate();
  }

  #toggle(id: string): void {
    if (!this.#expanded.delete(id)) this.#expanded.add(id);
    this.requestUpdate();
  }

  #show(instanceId: string, groupId: string | null, connections = false): void {
    this.tell("show-instance", { instanceId, groupId, connections });
  }
}

customElements.define("svc-instances", InstancesElement);
