/** `<svc-remote>`: the Workbench of another instance, or why it isn't shown and what helps. */
import { html, nothing } from "lit";
import { iconButton } from "../controls/controls.ts";
import { icon } from "../controls/icons.ts";
import { button, progressRing } from "../controls/toolkit.ts";
import { follow, View } from "../controls/view.ts";
import "../controls/time.ts";
import { problemWord } from "./frame-words.ts";
import type { Instances } from "./instances.ts";
import type { LiveFrame } from "./live-frame.ts";

class RemoteElement extends View {
  static override readonly properties = { instances: { attribute: false }, narrow: { type: Boolean } };
  declare instances: Instances;
  /** The list is on another page. */
  declare narrow: boolean;

  constructor() {
    super();
    this.narrow = false;
    follow(this, () => [this.instances]);
  }

  /** The frame is in the document from here on, so that the proof has somewhere to go. */
  protected override updated(): void {
    const { live } = this.instances;
    if (live?.element.isConnected === true) void live.start();
  }

  protected override render() {
    const { live } = this.instances;
    if (live === null) return nothing;
    const { name, origin } = live.target;
    return html`<div class="remote-head">
        ${this.narrow ? iconButton({ icon: "arrow-left", label: "Show Groups", onClick: () => this.tell("show-groups") }) : nothing}
        <h1 class="remote-name">${icon("server")}<bdi>${name}</bdi></h1>
        ${live.phase === "locked" ? html`<span class="hint remote-note">${icon("lock")}Sign in below as an administrator there. It counts for this page’s site alone.</span>` : nothing}
        ${
          origin === ""
            ? nothing
            : html`<a class="own-tab push" href=${origin} target="_blank" rel="noopener noreferrer">${icon("link-external")}<span>Open in its own tab</span></a>`
        }
        ${iconButton({ icon: "close", label: `Close ${name}`, onClick: () => this.tell("leave-instance") })}
      </div>
      ${live.phase === "failed" ? this.#failed(live) : this.#frame(live)}`;
  }

  #frame({ element, phase, target }: LiveFrame) {
    element.title = `Workbench of ${target.name}`;
    return html`<div class="remote-page" data-phase=${phase}>
      ${phase === "opening" ? html`<div class="empty" role="status">${progressRing("Connecting")}<p>Connecting to ${target.name}…</p></div>` : nothing}
      ${element}
    </div>`;
  }

  #failed({ problem, target }: LiveFrame) {
    const { code, message } = problem!;
    const { title, since, action } = problemWord(code);
    const at = this.instances.problems.get(target.instance_id)?.at;
    return html`<div class="empty remote-failed" role="alert" data-code=${code}>
      ${icon("warning", "empty-icon")}
      <h2>${title}</h2>
      <p>${message}</p>
      ${since && at !== undefined ? html`<p class="hint">Since <svc-time value=${at} manner="clock"></svc-time>.</p>` : nothing}
      ${
        action === "again" || target.origin === ""
          ? button({
              label: "Try again",
              icon: "refresh",
              primary: true,
              onClick: () => this.instances.again(),
            })
          : button({
              label: "Open in its own tab",
              icon: "link-external",
              primary: true,
              onClick: () => window.open(target.origin, "_blank", "noopener,noreferrer"),
            })
      }
    </div>`;
  }
}

customElements.define("svc-remote", RemoteElement);
