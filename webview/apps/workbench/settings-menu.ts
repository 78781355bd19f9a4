/**
 * `<svc-settings-menu>`: settings of the whole window: appearance, access, health, keys, signing
 * out.
 */
import { html } from "lit";
import type { MenuItem } from "../../controls/menu.ts";
import { View } from "../../controls/view.ts";
import { servesScreenReader } from "../../hosts/screen-reader.ts";
import { THEME_CHOICES, type ThemeChoice } from "./appearance.ts";

class SettingsMenuElement extends View {
  static override readonly properties = {
    administrator: { type: Boolean },
    mayLeave: { type: Boolean },
    theme: {},
    notifies: { type: Boolean },
  };
  declare administrator: boolean;
  declare mayLeave: boolean;
  /** The person's choice; empty where the editor decides. */
  declare theme: ThemeChoice | "";
  /** The editor notifies by itself. */
  declare notifies: boolean;

  protected override render() {
    return html`<svc-menu label="Settings" icon="settings-gear" .items=${() => this.#items()}></svc-menu>`;
  }

  #items(): MenuItem[] {
    const dialog = (name: string) => () => this.tell("open-dialog", { name });
    const items: MenuItem[] = [];
    if (this.administrator) {
      items.push(
        { label: "Account…", icon: "account", onSelect: dialog("account") },
        { label: "Access tokens…", icon: "key", onSelect: dialog("tokens") },
        { label: "Health…", icon: "heart", onSelect: dialog("health") },
      );
    }
    if (this.notifies)
      items.push({ label: "Notifications…", icon: "bell", onSelect: dialog("notifications") });
    items.push({ label: "Keyboard…", icon: "keyboard", detail: "?", onSelect: dialog("keyboard") });
    items.push({
      heading: "Terminals",
      label: "Screen reader support",
      icon: "terminal",
      checked: servesScreenReader(),
      onSelect: () => this.tell("choose-screen-reader", !servesScreenReader()),
    });
    if (this.theme !== "") {
      for (const [index, choice] of THEME_CHOICES.entries()) {
        items.push({
          ...(index === 0 ? { heading: "Theme" } : {}),
          label: choice.label,
          icon: "color-mode",
          checked: choice.value === this.theme,
          onSelect: () => this.tell("choose-theme", choice.value),
        });
      }
    }
    if (this.mayLeave)
      items.push({ heading: "", label: "Sign out", icon: "sign-out", onSelect: () => this.tell("sign-out") });
    return items;
  }
}

customElements.define("svc-settings-menu", SettingsMenuElement);
