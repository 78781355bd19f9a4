/** `<svc-keyboard-dialog>`: the keyboard shortcuts. */
import { html } from "lit";
import { DialogView } from "../../controls/dialog.ts";
import { button } from "../../controls/toolkit.ts";

const KEYS: readonly (readonly [keys: readonly string[], what: string])[] = [
  [["Ctrl+Enter", "⌘ Enter"], "Send"],
  [["Alt+↑", "Alt+↓"], "Previous and next Group"],
  [["Ctrl+K", "⌘ K"], "Go to a Group, an Actor, a command, or a message in any Group"],
  [["/"], "Search in the Group"],
  [["r"], "Reply to the focused message, or to the latest"],
  [["u"], "Mark the focused message and those after it as unread"],
  [["c"], "Write"],
  [["p"], "Show and close the presentations"],
  [["↑", "↓"], "Move in a list"],
  [["Home", "End"], "First and last item; in the feed, the oldest and latest message"],
  [["@", "#"], "While writing: mention an Actor or another Group"],
  [["Enter", "Esc"], "Enter and leave a message’s links, code and actions"],
  [["Esc"], "Close"],
  [["?"], "Keyboard shortcuts"],
];

class KeyboardDialog extends DialogView {
  protected override heading(): string {
    return "Keyboard shortcuts";
  }

  protected override get isText(): boolean {
    return true;
  }

  protected override content() {
    return html`<dl class="keys">
      ${KEYS.map(
        ([keys, what]) => html`<div>
          <dt>${keys.map((key) => html`<kbd>${key}</kbd>`)}</dt>
          <dd>${what}</dd>
        </div>`,
      )}
    </dl>`;
  }

  protected override footer() {
    return button({ label: "Done", primary: true, onClick: () => this.close() });
  }
}

customElements.define("svc-keyboard-dialog", KeyboardDialog);
