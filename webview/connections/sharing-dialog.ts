/**
 * `<svc-sharing-dialog>`: selects a Group for a connection with another account. It ends with the
 * account service's page, where the person says whom they invite, or sees who invites them.
 */

import { html, nothing, type PropertyValues } from "lit";
import { pastedInvitation } from "../../shared/address.ts";
import { labelled } from "../../shared/voice.ts";
import { failure, iconButton, skeleton } from "../controls/controls.ts";
import { copyFrom } from "../controls/copy.ts";
import { DialogView } from "../controls/dialog.ts";
import { button, select, textField } from "../controls/toolkit.ts";
import type { Host } from "../hosts/host.ts";
import type { SharingStatus } from "../state/group-connections.ts";
import type { GroupsStore } from "../state/group-list.ts";

class SharingDialog extends DialogView {
  static override readonly properties = {
    ...DialogView.properties,
    groupId: { state: true },
    sharing: { state: true },
    pasted: { state: true },
    url: { state: true },
  };
  declare host: Host;
  /** Those to choose from; null where the Group is settled. */
  declare groups: GroupsStore | null;
  /** The Group to connect; null until the person has chosen one. */
  declare groupId: string | null;
  /** Of the settled Group. */
  declare groupTitle: string;
  /** The invitation that brought the person here; null if they came by themselves. */
  declare invitation: string | null;
  /** What the account service said last; null until it is read. */
  declare sharing: SharingStatus | null;
  declare pasted: string;
  /** The page to go on with. */
  declare url: string | null;
  #isSettled = false;

  constructor() {
    super();
    this.groups = null;
    this.groupId = null;
    this.groupTitle = "";
    this.invitation = null;
    this.sharing = null;
    this.pasted = "";
    this.url = null;
  }

  override connectedCallback(): void {
    this.#isSettled = this.groupId !== null;
    const list = this.groups?.list ?? [];
    if (!this.#isSettled && list.length === 1) this.groupId = list[0]!.group_id;
    super.connectedCallback();
    void this.#read();
  }

  /** Where the focus goes when another part of the dialog replaces the one that had it. */
  protected override updated(changed: PropertyValues): void {
    if (changed.has("url") && this.url !== null)
      this.querySelector<HTMLElement>(".dialog-foot .button[appearance=primary]")?.focus();
  }

  protected override heading(): string {
    return this.invitation === null ? "Connect with another account" : "Answer an invitation";
  }

  protected override content() {
    const { sharing } = this;
    if (this.url !== null) return this.#selected(this.url);
    const isPending = sharing === null && this.problem === null && this.groupId !== null;
    return html`<div class="connections">
      ${isPending ? skeleton(2, "list") : this.#isUnlinked ? this.#linking() : this.#selecting()}
    </div>`;
  }

  get #isUnlinked(): boolean {
    return this.sharing?.status === "not_linked";
  }

  #linking() {
    return html`<p>This instance isn’t linked to an account. Link it to the account service that the other person uses, then come back.</p>`;
  }

  #selecting() {
    const { sharing } = this;
    const service = sharing?.account_origin ?? null;
    const memberId = sharing?.account_id ?? null;
    return html`${
      this.invitation === null
        ? html`<p>You select <bdi>${labelled(this.groupTitle)}</bdi>, then continue on the page of the account service${service === null ? nothing : html`, <code>${service}</code>`}. There you name the member whom you invite. Nothing is shared before they accept.</p>`
        : html`<p>Someone invites you to connect ${this.#isSettled ? html`<bdi>${labelled(this.groupTitle)}</bdi>` : "one of your Groups"} with one of theirs. ${this.#isSettled ? "Select it" : "Choose yours"}, then continue on the page of the account service${service === null ? nothing : html`, <code>${service}</code>`}. It shows who invites you and what they will be able to do, and asks before anything is connected.</p>`
    }
      ${this.#isSettled ? nothing : this.#choice()}
      ${this.invitation === null ? this.#invited() : nothing}
      ${
        memberId === null || this.invitation !== null
          ? nothing
          : html`<p class="hint">To be invited yourself, give the other person your member id:</p>
            <div class="command"><code>${memberId}</code>${iconButton({ icon: "copy", label: "Copy your member id", onClick: (event) => void copyFrom(event.currentTarget as HTMLElement, memberId) })}</div>`
      }`;
  }

  #choice() {
    const list = this.groups?.list ?? [];
    if (list.length === 0) return failure("There is no Group here yet. Attach a folder first.");
    return select({
      label: "Your Group",
      value: this.groupId ?? "",
      choices: [
        ...(this.groupId === null ? [{ value: "", label: "Choose…", disabled: true }] : []),
        ...list.map(({ group_id: value, title }) => ({ value, label: labelled(title) })),
      ],
      onChange: (groupId) => {
        this.groupId = groupId;
        void this.#read();
      },
    });
  }

  #invited() {
    return html`${textField({
      label: "Invitation, if you were invited",
      value: this.pasted,
      placeholder: "Leave empty to invite",
      name: "invitation",
      onInput: (pasted) => {
        this.pasted = pasted;
      },
    })}
    ${this.#isWrong ? failure("This isn’t an invitation. Copy it from the page Connections of your account.") : nothing}`;
  }

  #selected(url: string) {
    return html`<div class="connections">
      <p>The Group is selected. Continue on the page of the account service within 24 hours.</p>
      <div class="command"><code class="selected-page">${url}</code>${iconButton({ icon: "copy", label: "Copy the address", onClick: (event) => void copyFrom(event.currentTarget as HTMLElement, url) })}</div>
      <p class="hint">Nothing is connected yet. Once both of you have agreed, the connection appears in Group connections within a minute.</p>
    </div>`;
  }

  get #asked(): string | null {
    return this.invitation ?? pastedInvitation(this.pasted);
  }

  get #isWrong(): boolean {
    return this.pasted.trim() !== "" && pastedInvitation(this.pasted) === null;
  }

  get #maySelect(): boolean {
    return !this.busy && this.groupId !== null && this.groupId !== "" && !this.#isWrong;
  }

  protected override footer() {
    const { url } = this;
    const close = button({ label: url === null ? "Not now" : "Done", onClick: () => this.close() });
    if (url !== null)
      return html`${close}${button({ label: "Open the page", icon: "link-external", primary: true, onClick: () => this.host.openLink(url) })}`;
    if (this.#isUnlinked)
      return html`${close}${button({ label: "Link…", primary: true, onClick: () => this.#openAccount() })}`;
    return html`${close}${button({ label: "Select this Group", primary: true, disabled: !this.#maySelect, onClick: () => this.submit() })}`;
  }

  protected override submit(): void {
    if (this.url === null && !this.#isUnlinked && this.#maySelect) void this.#select();
  }

  async #select(): Promise<void> {
    const { groupId } = this;
    const invitation = this.#asked;
    if (groupId === null) return;
    await this.act(async () => {
      const { url } = await this.host.call("connect_group_select", {
        group_id: groupId,
        ...(invitation === null ? {} : { invitation }),
      });
      this.url = url;
    });
  }

  async #read(): Promise<void> {
    const { groupId } = this;
    if (groupId === null) return;
    try {
      const sharing = await this.host.call("connect_group_status", { group_id: groupId });
      // The person may have chosen another Group since.
      if (this.groupId === groupId) this.sharing = sharing;
    } catch (error) {
      if (this.groupId === groupId) this.problem = error instanceof Error ? error.message : String(error);
    }
  }

  /** In its own dialog, after this one has closed. */
  #openAccount(): void {
    const { parentElement } = this;
    this.close();
    parentElement?.dispatchEvent(
      new CustomEvent("open-dialog", { detail: { name: "account" }, bubbles: true }),
    );
  }
}

customElements.define("svc-sharing-dialog", SharingDialog);
