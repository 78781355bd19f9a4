/**
 * `<svc-account-dialog>`: the link of this instance to an account: how it is made, what it gives,
 * who joined, and how it ends.
 */

import { html, nothing, type PropertyValues } from "lit";
import { accountStateWords, joinedSentence, remedyForLink } from "../../shared/account-words.ts";
import { shownName } from "../../shared/foreign-text.ts";
import { exact } from "../../shared/time-words.ts";
import { typedOrigin } from "../../shared/typed-origin.ts";
import { labelled } from "../../shared/voice.ts";
import { announce } from "../controls/announce.ts";
import { failure, iconButton, skeleton, stateWord } from "../controls/controls.ts";
import { copyFrom } from "../controls/copy.ts";
import { DialogView } from "../controls/dialog.ts";
import { icon } from "../controls/icons.ts";
import { button, textField } from "../controls/toolkit.ts";
import { follow } from "../controls/view.ts";
import type { Host } from "../hosts/host.ts";
import { AccountLink, type AccountShown } from "./account-link.ts";
import { instanceCard } from "./instance-card.ts";
import { qrCode } from "./qr-code.ts";
import { remedied } from "./remedied.ts";

/** How often the state is polled while the dialog is open. */
const EVERY_MS = 1500;

const LOOKS = {
  not_linked: { icon: "circle-outline", tone: "quiet" },
  waiting: { icon: "clock", tone: "attention" },
  linked: { icon: "pass", tone: "good" },
  logged_out: { icon: "warning", tone: "attention" },
  disabled: { icon: "circle-slash", tone: "attention" },
} as const;

class AccountDialog extends DialogView {
  static override readonly properties = {
    ...DialogView.properties,
    origin: { state: true },
    ending: { state: true },
  };
  declare host: Host;
  /** What the person has typed; null until then. */
  declare origin: string | null;
  /** The consequences of unlinking are shown. */
  declare ending: boolean;
  #link!: AccountLink;

  constructor() {
    super();
    this.origin = null;
    this.ending = false;
    follow(this, () => [this.#link]);
  }

  override connectedCallback(): void {
    this.#link = new AccountLink(this.host, EVERY_MS, () => !document.hidden);
    super.connectedCallback();
    this.#link.open();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#link.close();
  }

  /** Where the focus goes when another part of the dialog replaces the one that had it. */
  protected override updated(changed: PropertyValues): void {
    if (!changed.has("ending") || changed.get("ending") === undefined) return;
    this.querySelector<HTMLElement>(this.ending ? ".destroy .button" : ".dialog-foot .button")?.focus();
  }

  protected override heading(): string {
    return "Account";
  }

  protected override get wide(): boolean {
    return true;
  }

  protected override content() {
    const { shown, failure: stale } = this.#link;
    return html`<div class="connections" data-state=${shown?.state ?? "unknown"}>
      ${shown === null ? (stale === null ? skeleton(3, "list") : nothing) : this.#page(shown)}
      ${stale === null ? nothing : failure(`${stale} What you see may be out of date.`)}
    </div>`;
  }

  #page(shown: AccountShown) {
    switch (shown.state) {
      case "not_linked":
        return html`<p class="hint">An account lets your machines find each other without invitations: link each of them once, and their Groups can write to each other. The account service knows your machines’ names, keys and addresses. It never sees a message or a file.</p>
          ${this.#trouble(shown)} ${this.#field(shown)}`;
      case "waiting":
        return this.#waiting(shown);
      case "linked":
      case "logged_out":
      case "disabled":
        return this.#linked(shown);
    }
  }

  #field(shown: AccountShown) {
    return textField({
      label: "Address of the account service",
      value: this.#origin(shown),
      placeholder: "https://account.example.org",
      name: "origin",
      focused: true,
      onInput: (origin) => {
        this.origin = origin;
      },
    });
  }

  #origin(shown: AccountShown): string {
    return this.origin ?? shown.account_origin ?? "";
  }

  #trouble({ error }: AccountShown) {
    return error === null
      ? nothing
      : html`<p class="connection-error" role="status">${icon("warning")}<span><bdi>${shownName(error)}</bdi></span></p>`;
  }

  #waiting({ pending, error }: AccountShown) {
    if (pending === null) return skeleton(3, "list");
    const { user_code: code, verification_uri_complete: page, expires_at: expiresAt } = pending;
    return html`<p>Open the account’s page on any device, sign in, and confirm this code there. The page shows a code too: confirm only if both are the same.</p>
      <div class="command">
        <code class="user-code" aria-label="Code">${code}</code>${iconButton({ icon: "copy", label: "Copy the code", onClick: (event) => void copyFrom(event.currentTarget as HTMLElement, code) })}
      </div>
      <div class="buttons">${button({ label: "Open the page", icon: "link-external", primary: true, onClick: () => this.host.openLink(page) })}</div>
      ${qrCode(page, "The account’s page as a QR code")}
      <p class="waiting" role="status">${icon("clock")}<span>Waiting for the confirmation, until <span title=${exact(expiresAt)}><svc-time value=${expiresAt} manner="clock"></svc-time></span>. You can close this: the daemon goes on.</span></p>
      ${error === null ? nothing : html`<p class="connection-error">${icon("warning")}<span><bdi>${shownName(error)}</bdi></span></p>`}`;
  }

  #linked(shown: AccountShown) {
    const { state, account_label: label, account_origin: origin, public_origin: publicOrigin } = shown;
    const { connections } = this.#link;
    return html`${this.#joined(shown)}
      <dl class="facts">
        <div><dt>State</dt><dd>${stateWord({ ...LOOKS[state], word: accountStateWords(state) })}</dd></div>
        ${label === null ? nothing : html`<div><dt>Account</dt><dd><bdi>${labelled(label)}</bdi></dd></div>`}
        <div><dt>Service</dt><dd><code>${origin ?? ""}</code></dd></div>
        <div><dt>Address</dt><dd>${publicOrigin === null ? "none, so your other machines can’t send to this one. Set one with ‘svc origin set’." : html`<code>${publicOrigin}</code>`}</dd></div>
      </dl>
      ${this.#trouble(shown)}
      ${
        state === "linked"
          ? nothing
          : html`<p class="hint">${state === "disabled" ? "Someone retired this instance in the account." : "The account service no longer knows this instance."} Link it again to go on, or unlink it.</p>`
      }
      <section class="dialog-section">
        <div class="section-head">${this.embedded ? html`<h2>Your other machines</h2>` : html`<h3>Your other machines</h3>`}
        </div>
        ${
          connections.length === 0
            ? html`<p class="empty-connections">${icon("plug")} <span>${shown.error === null && state === "linked" ? "None yet. Link another machine to the same account, and it appears here within two minutes." : "Not known now: the account service doesn’t confirm this instance."}</span></p>`
            : html`<ul class="plain-list connection-list" aria-label="Your other machines">${connections.map((one) => instanceCard(one, origin === null ? null : () => this.host.openLink(origin)))}</ul>`
        }
      </section>
      ${this.ending ? this.#unlinking() : nothing}`;
  }

  #joined({ joined, account_origin: origin }: AccountShown) {
    if (joined.length === 0) return nothing;
    return html`<div class="joined" role="group" aria-label="New in your account">
      ${joined.map(
        (one) =>
          html`<p>${icon("bell-dot")} <span><bdi>${joinedSentence(one)}</bdi> <span class="hint" title=${exact(one.at)}><svc-time value=${one.at}></svc-time></span></span></p>`,
      )}
      <p class="hint">If that wasn’t you, someone may have been let into your account by a trick: retire it now.</p>
      <div class="buttons">
        ${origin === null ? nothing : button({ label: "Retire it…", icon: "link-external", onClick: () => this.host.openLink(origin) })}
        ${button({ label: "It was me", icon: "check", disabled: this.busy, onClick: () => void this.#acknowledge(joined.map((one) => one.device_id)) })}
      </div>
    </div>`;
  }

  #unlinking() {
    return html`<div class="destroy" role="group" aria-label="Unlink this instance">
      <p>${icon("warning")} <span>This instance is retired in the account, and your other machines no longer find it. Messages waiting to be sent to them fail. Messages that arrived stay. Direct connections stay as they are.</span></p>
      <div class="buttons">
        ${button({ label: "Keep it", onClick: () => (this.ending = false) })}
        <button type="button" class="danger-button" ?disabled=${this.busy} @click=${() => void this.#unlink(false)}>Unlink it</button>
        ${this.problem === null ? nothing : html`<button type="button" class="danger-button" ?disabled=${this.busy} @click=${() => void this.#unlink(true)}>Forget it here alone</button>`}
      </div>
    </div>`;
  }

  protected override footer() {
    const shown = this.#link.shown;
    const done = this.embedded ? nothing : button({ label: "Done", onClick: () => this.close() });
    switch (shown?.state) {
      case "not_linked":
        return html`${done}
        ${button({ label: "Link", primary: true, disabled: this.busy || this.#origin(shown).trim() === "", onClick: () => this.submit() })}`;
      case "waiting":
        return html`${done}
        ${button({ label: "Stop waiting", disabled: this.busy, onClick: () => void this.#do(() => this.host.call("account_link_cancel", {})) })}`;
      case "linked":
      case "logged_out":
      case "disabled":
        return html`${button({ label: "Unlink…", disabled: this.busy || this.ending, onClick: () => (this.ending = true) })}
        ${shown.state === "linked" ? done : button({ label: "Link again", primary: true, disabled: this.busy, onClick: () => this.submit() })}`;
      case undefined:
        return done;
    }
  }

  protected override submit(): void {
    const { shown } = this.#link;
    if (shown === null || shown.state === "waiting" || shown.state === "linked") return;
    const origin = typedOrigin(this.#origin(shown));
    if (origin === "") return;
    void this.#do(() => this.host.call("account_link", { account_origin: origin }));
  }

  async #acknowledge(deviceIds: string[]): Promise<void> {
    if (await this.#do(() => this.host.call("account_joined_seen", { device_ids: deviceIds })))
      announce("Noted");
  }

  async #unlink(forget: boolean): Promise<void> {
    if (!(await this.#do(() => this.host.call("account_unlink", { forget })))) return;
    this.ending = false;
    this.origin = null;
    announce("Unlinked");
  }

  /** Runs a change, then reads the new state. */
  #do(action: () => Promise<unknown>): Promise<boolean> {
    return this.act(() => remedied(action, remedyForLink, () => this.#link.refresh()));
  }
}

customElements.define("svc-account-dialog", AccountDialog);
