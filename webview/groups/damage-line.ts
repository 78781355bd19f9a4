/**
 * `<svc-damage>`: a line while the open Group's history is damaged: what is missing, and for an
 * administrator what can be done about it.
 */
import { html, nothing } from "lit";
import { missingWords } from "../../shared/damage-words.ts";
import type { LedgerDamage } from "../../shared/ledger-damage.ts";
import { icon } from "../controls/icons.ts";
import { View } from "../controls/view.ts";
import { type Host, HostError } from "../hosts/host.ts";

class DamageElement extends View {
  static override readonly properties = {
    host: { attribute: false },
    groupId: { attribute: false },
    damage: { attribute: false },
    administrator: { type: Boolean },
    isAsking: { state: true },
    problem: { state: true },
  };
  declare host: Host;
  declare groupId: string;
  declare damage: LedgerDamage;
  declare administrator: boolean;
  declare isAsking: boolean;
  declare problem: string | null;

  constructor() {
    super();
    this.isAsking = false;
    this.problem = null;
  }

  protected override render() {
    return html`<div class="damage-line" role="status">
      ${icon("warning")}<span>This Group’s history is damaged, so it can only be read.
        ${missingWords(this.damage)} ${this.problem ?? nothing}</span>
      ${this.administrator ? this.#choices() : nothing}
    </div>`;
  }

  #choices() {
    if (this.isAsking)
      return html`<span>Go on for good? The damaged files are kept.</span>
        <button type="button" class="link" @click=${() => void this.#decide(true)}>Go on</button>
        <button type="button" class="link" @click=${() => (this.isAsking = false)}>Cancel</button>`;
    return html`<button
        type="button"
        class="link"
        title="After the files were put back: ${this.damage.files.join(", ")}"
        @click=${() => void this.#decide(false)}
      >Read the files again</button>
      <button type="button" class="link" @click=${() => (this.isAsking = true)}>Go on without them…</button>`;
  }

  async #decide(goesOn: boolean): Promise<void> {
    const { groupId } = this;
    this.problem = null;
    this.isAsking = false;
    try {
      const { damage } = goesOn
        ? await this.host.call("ledger_continue", { group_id: groupId, confirm: groupId })
        : await this.host.call("ledger_reopen", { group_id: groupId });
      if (damage !== null && !goesOn) this.problem = "The files are still damaged.";
    } catch (error) {
      if (!(error instanceof HostError)) throw error;
      this.problem = error.message;
    }
  }
}

customElements.define("svc-damage", DamageElement);
