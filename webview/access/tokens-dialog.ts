/**
 * `<svc-tokens-dialog>`: who may sign in from a browser. A token is shown only once, when it is
 * created.
 */
import { html, nothing } from "lit";
import type { AccessToken } from "../../shared/operations/access.ts";
import { iconButton, skeleton } from "../controls/controls.ts";
import { copyFrom } from "../controls/copy.ts";
import { DialogView } from "../controls/dialog.ts";
import { icon } from "../controls/icons.ts";
import { button, checkbox, select, textField } from "../controls/toolkit.ts";
import { type Host, HostError, type Viewer } from "../hosts/host.ts";
import type { GroupsStore } from "../state/group-list.ts";

const KINDS = {
  administrator: "administrator",
  restricted: "restricted",
  exhibit: "exhibit, read-only",
} as const;

class TokensDialog extends DialogView {
  static override readonly properties = {
    ...DialogView.properties,
    tokens: { state: true },
    making: { state: true },
    name: { state: true },
    kind: { state: true },
    chosen: { state: true },
    made: { state: true },
    revoking: { state: true },
  };
  declare host: Host;
  declare viewer: Viewer;
  declare groups: GroupsStore;
  declare tokens: readonly AccessToken[] | null;
  declare making: boolean;
  declare name: string;
  declare kind: "administrator" | "restricted";
  declare chosen: readonly string[];
  declare made: string | null;
  declare revoking: string | null;

  constructor() {
    super();
    this.tokens = null;
    this.making = false;
    this.name = "";
    this.kind = "restricted";
    this.chosen = [];
    this.made = null;
    this.revoking = null;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    void this.act(() => this.#read());
  }

  async #read(): Promise<void> {
    this.tokens = (await this.host.call("access_token_list", {})).tokens;
  }

  protected override heading(): string {
    return "Access tokens";
  }

  protected override get wide(): boolean {
    return true;
  }

  protected override content() {
    return html`<p class="hint">A token lets another browser or program use this Workbench. Only its digest is kept here.</p>
      ${this.made === null ? nothing : this.#shown(this.made)} ${this.making ? this.#form() : nothing}
      ${
        this.tokens === null
          ? skeleton(3, "list")
          : this.tokens.length === 0
            ? html`<p>No tokens yet.</p>`
            : html`<ul class="plain-list tokens">${this.tokens.map((token) => this.#row(token))}</ul>`
      }
      ${this.#others.length === 0 ? nothing : this.#signOut()}`;
  }

  /** Other browsers that a login link signed in. */
  get #others(): readonly AccessToken[] {
    return (this.tokens ?? []).filter(({ id, session }) => session === true && id !== this.viewer.tokenId);
  }

  #signOut() {
    const { length } = this.#others;
    return html`<p class="buttons">
      <button type="button" class="danger-button sign-out-others" ?disabled=${this.busy} @click=${() => void this.#signOutOthers()}>
        ${length === 1 ? "Sign out the other browser" : `Sign out ${length} other browsers`}
      </button>
    </p>`;
  }

  async #signOutOthers(): Promise<void> {
    await this.act(async () => {
      for (const { id } of this.#others) {
        await this.host.call("access_token_revoke", { token_id: id }).catch((error: unknown) => {
          // It has signed out by itself meanwhile.
          if (!(error instanceof HostError && error.code === "token_not_found")) throw error;
        });
      }
      await this.#read();
    });
  }

  #shown(token: string) {
    return html`<div class="made">
      <p>${icon("key")} <span>This is shown only once. Copy it now:</span></p>
      <div class="command">
        <code>${token}</code>${iconButton({ icon: "copy", label: "Copy the token", onClick: (event) => void copyFrom(event.currentTarget as HTMLElement, token) })}
      </div>
    </div>`;
  }

  #row(token: AccessToken) {
    const groups = token.groups.map((id) => this.groups.find(id)?.title ?? id).join(", ");
    return html`<li class="token">
      ${icon(token.kind === "administrator" ? "shield" : "lock")}
      <span class="token-name"><bdi>${token.name === "" ? "unnamed" : token.name}</bdi>${token.id === this.viewer.tokenId ? html` <span class="role">this browser</span>` : nothing}</span>
      <span class="token-kind">${KINDS[token.kind]}${groups === "" ? "" : `: ${groups}`} · ${token.last_used_at === null ? "never used" : html`last used <svc-time manner="past" value=${token.last_used_at}></svc-time>`}</span>
      ${
        this.revoking === token.id
          ? html`<span class="buttons">
              <button type="button" class="danger-button" ?disabled=${this.busy} @click=${() => void this.#revoke(token)}>Revoke now</button>
              ${iconButton({
                icon: "close",
                label: "Keep it",
                onClick: () => {
                  this.revoking = null;
                },
              })}
            </span>`
          : iconButton({
              icon: "trash",
              label:
                token.id === this.viewer.tokenId
                  ? "Sign this browser out"
                  : `Revoke ${token.name} and end its browser sessions`,
              onClick: () => {
                this.revoking = token.id;
              },
            })
      }
    </li>`;
  }

  #form() {
    return html`<div class="token-form">
      ${textField({
        label: "Name",
        value: this.name,
        focused: true,
        placeholder: "What it’s for",
        onInput: (name) => {
          this.name = name;
        },
      })}
      ${select({
        label: "Access",
        value: this.kind,
        choices: [
          { value: "restricted", label: "Read and write in selected Groups" },
          { value: "administrator", label: "Full access" },
        ],
        onChange: (kind) => {
          this.kind = kind;
        },
      })}
      ${
        this.kind === "restricted"
          ? html`<fieldset class="choices"><legend>Groups</legend>
              ${this.groups.list.map((group) =>
                checkbox({
                  label: group.title,
                  checked: this.chosen.includes(group.group_id),
                  onChange: (on) => {
                    const rest = this.chosen.filter((id) => id !== group.group_id);
                    this.chosen = on ? [...rest, group.group_id] : rest;
                  },
                }),
              )}
            </fieldset>`
          : nothing
      }
    </div>`;
  }

  get #complete(): boolean {
    return this.kind === "administrator" || this.chosen.length > 0;
  }

  protected override footer() {
    if (!this.making) {
      return html`${button({ label: "Done", onClick: () => this.close() })}
      ${button({
        label: "New token…",
        icon: "add",
        primary: true,
        onClick: () => {
          this.making = true;
          this.made = null;
        },
      })}`;
    }
    return html`${button({
      label: "Back",
      onClick: () => {
        this.making = false;
      },
    })}
    ${button({ label: "Create token", primary: true, disabled: this.busy || !this.#complete, onClick: () => this.submit() })}`;
  }

  protected override submit(): void {
    if (!this.making || !this.#complete) return;
    void this.act(async () => {
      const { token } = await this.host.call("access_token_create", {
        name: this.name.trim(),
        ...(this.kind === "restricted" ? { groups: [...this.chosen] } : {}),
      });
      this.made = token;
      this.making = false;
      this.name = "";
      this.chosen = [];
      await this.#read();
    });
  }

  async #revoke(token: AccessToken): Promise<void> {
    await this.act(async () => {
      await this.host.call("access_token_revoke", { token_id: token.id });
      this.revoking = null;
      await this.#read();
    });
  }
}

customElements.define("svc-tokens-dialog", TokensDialog);
