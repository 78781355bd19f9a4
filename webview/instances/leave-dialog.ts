/** `<svc-leave-dialog>`: asks before the page of another instance goes with unsaved input. */
import { html } from "lit";
import { DialogView } from "../controls/dialog.ts";
import { icon } from "../controls/icons.ts";
import { button } from "../controls/toolkit.ts";
import { follow } from "../controls/view.ts";
import type { LiveFrame } from "./live-frame.ts";

class LeaveDialog extends DialogView {
  declare frame: LiveFrame;
  declare leave: () => void;

  constructor() {
    super();
    follow(this, () => [this.frame]);
  }

  protected override heading(): string {
    return `Leave ${this.frame.target.name}?`;
  }

  protected override content() {
    const { dirty, target } = this.frame;
    return dirty
      ? html`<p>${icon("warning")} <span>Something that you wrote on <strong><bdi>${target.name}</bdi></strong> isn’t saved yet, or a file is still on its way. It’s lost if you leave now.</span></p>`
      : html`<p role="status">Nothing on <strong><bdi>${target.name}</bdi></strong> is unsaved any more.</p>`;
  }

  protected override footer() {
    return html`${button({ label: "Stay", onClick: () => this.close() })}
      <button type="button" class="danger-button" @click=${() => this.submit()}>Leave</button>`;
  }

  protected override submit(): void {
    this.close();
    this.leave();
  }
}

customElements.define("svc-leave-dialog", LeaveDialog);
