/**
 * `<svc-private-environment>`: an Actor's private environment by name. Values go to the daemon and
 * are never shown again.
 */
import { html, nothing } from "lit";
import { iconButton } from "../controls/controls.ts";
import { icon } from "../controls/icons.ts";
import { button, textField } from "../controls/toolkit.ts";
import { View } from "../controls/view.ts";

const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;

class PrivateEnvironmentElement extends View {
  static override readonly properties = {
    names: { attribute: false },
    set: { state: true },
    unset: { state: true },
    entryName: { state: true },
    entryValue: { state: true },
  };
  /** Names that have a value in the daemon. */
  declare names: readonly string[];
  declare set: ReadonlyMap<string, string>;
  declare unset: ReadonlySet<string>;
  declare entryName: string;
  declare entryValue: string;

  constructor() {
    super();
    this.names = [];
    this.set = new Map();
    this.unset = new Set();
    this.entryName = "";
    this.entryValue = "";
  }

  /**
   * What to change; null when nothing changed. An entry that was typed but not added counts as
   * added.
   */
  get changes(): { set: Record<string, string>; unset: string[] } | null {
    if (NAME.test(this.entryName)) this.#add();
    if (this.set.size === 0 && this.unset.size === 0) return null;
    return { set: Object.fromEntries(this.set), unset: [...this.unset] };
  }

  protected override render() {
    const names = [...new Set([...this.names, ...this.set.keys()])].sort();
    const wrong = this.entryName !== "" && !NAME.test(this.entryName);
    return html`<section class="dialog-section">
      <h3>Private environment</h3>
      <p class="hint">Variables for this Actor’s program, kept in a separate file that only you can read. You can replace or remove a value, but not view it.</p>
      ${names.length === 0 ? nothing : html`<ul class="plain-list">${names.map((name) => this.#row(name))}</ul>`}
      <div class="inline-form">
        ${textField({
          label: "Name",
          value: this.entryName,
          placeholder: "API_KEY",
          onInput: (name) => {
            this.entryName = name.trim();
          },
        })}
        ${textField({
          label: "Value",
          value: this.entryValue,
          secret: true,
          onInput: (value) => {
            this.entryValue = value;
          },
        })}
        ${button({ label: "Set", disabled: !NAME.test(this.entryName), onClick: () => this.#add() })}
      </div>
      ${wrong ? html`<p class="hint" role="status">Use letters, digits and _, and don’t start with a digit.</p>` : nothing}
    </section>`;
  }

  #row(name: string) {
    const removed = this.unset.has(name);
    const word = removed ? "will be removed" : this.set.has(name) ? "will be set" : "is set";
    return html`<li class="environment">
      ${icon(removed ? "trash" : "key")}<code class=${removed ? "gone" : ""}>${name}</code><span class="hint">${word}</span>
      ${
        word === "is set"
          ? iconButton({ icon: "trash", label: `Remove ${name}`, onClick: () => this.#remove(name) })
          : iconButton({ icon: "close", label: `Keep ${name} as it is`, onClick: () => this.#leave(name) })
      }
    </li>`;
  }

  #add(): void {
    if (!NAME.test(this.entryName)) return;
    const name = this.entryName;
    this.set = new Map([...this.set, [name, this.entryValue]]);
    this.unset = new Set([...this.unset].filter((entry) => entry !== name));
    this.entryName = "";
    this.entryValue = "";
  }

  #remove(name: string): void {
    this.unset = new Set([...this.unset, name]);
  }

  #leave(name: string): void {
    this.set = new Map([...this.set].filter(([entry]) => entry !== name));
    this.unset = new Set([...this.unset].filter((entry) => entry !== name));
  }
}

customElements.define("svc-private-environment", PrivateEnvironmentElement);

export type { PrivateEnvironmentElement };
