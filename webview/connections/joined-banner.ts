/** `<svc-joined>`: a thin line while a person hasn't looked at who joined the account. */
import { html, nothing } from "lit";
import { joinedSentence } from "../../shared/account-words.ts";
import { icon } from "../controls/icons.ts";
import { follow, View } from "../controls/view.ts";
import type { AccountLink } from "./account-link.ts";

class JoinedElement extends View {
  static override readonly properties = { account: { attribute: false } };
  declare account: AccountLink;

  constructor() {
    super();
    follow(this, () => [this.account]);
  }

  protected override render() {
    const { joined = [] } = this.account.shown ?? {};
    const [first] = joined;
    if (first === undefined) return nothing;
    const words =
      joined.length === 1 ? joinedSentence(first) : `${joined.length} instances joined your account.`;
    return html`<div class="joined-line" role="status">
      ${icon("bell-dot")}<span><bdi>${words}</bdi></span>
      <button type="button" class="link" @click=${() => this.tell("open-dialog", { name: "account" })}>Look…</button>
    </div>`;
  }
}

customElements.define("svc-joined", JoinedElement);
