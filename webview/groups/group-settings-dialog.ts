/**
 * `<svc-group-settings-dialog>`: a Group's title, topic, folders and settings, and the two ways to
 * lose its history.
 */

import { html, nothing } from "lit";
import type { Group, GroupSettings } from "../../shared/model.ts";
import { secondsFrom, timeIn } from "../../shared/time-words.ts";
import { labelled } from "../../shared/voice.ts";
import { iconButton } from "../controls/controls.ts";
import { copyFrom } from "../controls/copy.ts";
import { DialogView } from "../controls/dialog.ts";
import { icon } from "../controls/icons.ts";
import { button, checkbox, select, textField } from "../controls/toolkit.ts";
import type { Host } from "../hosts/host.ts";
import type { Conversation } from "../state/conversation.ts";

/** Settings that are times, each in the unit that people use for it. */
const UNITS = {
  min_interval_seconds: "seconds",
  mail_notice_after_seconds: "minutes",
  reply_notice_after_seconds: "minutes",
} as const;
type TimeSetting = keyof typeof UNITS;

class GroupSettingsDialog extends DialogView {
  static override readonly properties = {
    ...DialogView.properties,
    groupTitle: { state: true },
    topic: { state: true },
    settings: { state: true },
    times: { state: true },
    path: { state: true },
    destroying: { state: true },
    typed: { state: true },
    group: { state: true },
  };
  declare host: Host;
  declare conversation: Conversation;
  declare group: Group;
  declare groupTitle: string;
  declare topic: string;
  declare settings: GroupSettings;
  /** As they were typed. */
  declare times: Readonly<Record<TimeSetting, string>>;
  declare path: string;
  declare destroying: "reset" | "delete" | null;
  declare typed: string;

  constructor() {
    super();
    this.path = "";
    this.destroying = null;
    this.typed = "";
  }

  override connectedCallback(): void {
    const { group } = this.conversation.group;
    if (group === null) return;
    this.group = group;
    this.groupTitle = group.title;
    this.topic = group.topic;
    this.settings = group.settings;
    const shown = (name: TimeSetting) => timeIn(UNITS[name], group.settings[name]);
    this.times = {
      min_interval_seconds: shown("min_interval_seconds"),
      mail_notice_after_seconds: shown("mail_notice_after_seconds"),
      reply_notice_after_seconds: shown("reply_notice_after_seconds"),
    };
    super.connectedCallback();
  }

  protected override heading(): string {
    return `Settings of ${labelled(this.group.title)}`;
  }

  protected override get wide(): boolean {
    return true;
  }

  protected override content() {
    return html`${textField({
      label: "Title",
      value: this.groupTitle,
      focused: true,
      onInput: (title) => {
        this.groupTitle = title;
      },
    })}
    ${textField({
      label: "Topic",
      value: this.topic,
      onInput: (topic) => {
        this.topic = topic;
      },
    })}
    <div class="columns">
      ${select({
        label: "Without a recipient, messages go to",
        value: this.settings.default_send_to,
        choices: [
          { value: "foreman", label: "the foreman" },
          { value: "broadcast", label: "everyone" },
        ],
        onChange: (defaultSendTo) => {
          this.settings = { ...this.settings, default_send_to: defaultSendTo };
        },
      })}
      ${this.#time("min_interval_seconds", "Pause between prompts (seconds)", "0 means no pause.")}
      ${this.#time("mail_notice_after_seconds", "Remind about unread Mail after (minutes)", "0 means never.")}
      ${this.#time("reply_notice_after_seconds", "Remind about replies due after (minutes)", "0 means never.")}
    </div>
    ${checkbox({
      label: "Start enabled Actors with the daemon",
      checked: this.settings.start_actors,
      onChange: (startActors) => {
        this.settings = { ...this.settings, start_actors: startActors };
      },
    })}
    <section class="dialog-section">
      <h3>Folders</h3>
      ${
        this.group.scopes.length === 0
          ? html`<p class="hint">No folder is attached. Agents can take part, but they have no project here.</p>`
          : html`<ul class="plain-list">
              ${this.group.scopes.map(
                (scope) => html`<li class="scope">
                  ${icon("folder")}<span class="scope-path"><bdi>${scope.path}</bdi></span>
                  ${scope.git_remote === null ? nothing : html`<span class="hint"><bdi>${scope.git_remote}</bdi></span>`}
                  ${
                    scope.scope_key === this.group.active_scope_key
                      ? html`<span class="mode">${icon("check")}active</span>`
                      : button({
                          label: "Make active",
                          onClick: () => void this.#update({ active_scope_key: scope.scope_key }),
                        })
                  }
                </li>`,
              )}
            </ul>`
      }
      <div class="inline-form">
        ${textField({
          label: "Attach a folder on the daemon’s machine",
          value: this.path,
          placeholder: "/home/me/project",
          onInput: (path) => {
            this.path = path;
          },
        })}
        ${button({ label: "Attach", disabled: this.busy || this.path.trim() === "", onClick: () => void this.#attach() })}
      </div>
    </section>
    <section class="dialog-section">
      <h3>Export</h3>
      <p class="hint">Run this on the daemon’s machine. The file contains messages, Actors and files, but no secrets.</p>
      ${this.#command(`svc group export --group ${this.group.group_id} ${this.group.group_id}.svc-group`)}
    </section>
    <section class="dialog-section">
      <h3>Danger zone</h3>
      ${this.#destroy()}
    </section>`;
  }

  #command(text: string) {
    return html`<div class="command">
      <code>${text}</code>${iconButton({ icon: "copy", label: "Copy the command", onClick: (event) => void copyFrom(event.currentTarget as HTMLElement, text) })}
    </div>`;
  }

  #time(name: TimeSetting, label: string, hint: string) {
    return textField({
      label,
      name,
      value: this.times[name],
      hint: this.#seconds(name) === null ? `Enter a number of ${UNITS[name]}. ${hint}` : hint,
      onInput: (value) => {
        this.times = { ...this.times, [name]: value };
      },
    });
  }

  /** Null if no time was typed. An unchanged value stays exact to the second. */
  #seconds(name: TimeSetting): number | null {
    return secondsFrom(UNITS[name], this.times[name]);
  }

  /** As they would be saved; null while a time is missing. */
  get #wanted(): GroupSettings | null {
    const wanted = { ...this.settings };
    for (const name of Object.keys(UNITS) as TimeSetting[]) {
      const seconds = this.#seconds(name);
      if (seconds === null) return null;
      wanted[name] = seconds;
    }
    return wanted;
  }

  #destroy() {
    if (this.destroying === null) {
      return html`<div class="buttons danger">
        ${this.#danger("Clear the history…", "reset")} ${this.#danger("Delete the Group…", "delete")}
      </div>`;
    }
    const { title, actors } = this.group;
    const what =
      this.destroying === "reset"
        ? `This deletes every message and file in ${labelled(title)}. Its ${actors.length} ${actors.length === 1 ? "Actor" : "Actors"} and its settings stay.`
        : `This deletes ${labelled(title)} with its ${actors.length} ${actors.length === 1 ? "Actor" : "Actors"} and every message and file in it.`;
    return html`<div class="destroy">
      <p>${icon("warning")} <span>${what} This can’t be undone. Type <strong>${title}</strong> to continue.</span></p>
      ${textField({
        label: "Title of the Group",
        value: this.typed,
        onInput: (typed) => {
          this.typed = typed;
        },
      })}
      <div class="buttons">
        ${button({ label: "Keep it", onClick: () => this.#ask(null) })}
        <button
          type="button"
          class="danger-button"
          ?disabled=${this.busy || this.typed !== title}
          @click=${() => void this.#destroyNow()}
        >
          ${this.destroying === "reset" ? "Clear the history" : "Delete the Group"}
        </button>
      </div>
    </div>`;
  }

  #danger(label: string, destroying: "reset" | "delete") {
    return html`<button type="button" class="danger-button" @click=${() => this.#ask(destroying)}>${label}</button>`;
  }

  #ask(destroying: "reset" | "delete" | null): void {
    this.destroying = destroying;
    this.typed = "";
    void this.updateComplete.then(() => {
      this.querySelector<HTMLElement>(
        destroying === null ? ".danger .danger-button" : ".destroy .text-field",
      )?.focus();
      // After its field has its height. Earlier, the buttons below it would stay half out of sight.
      requestAnimationFrame(() => this.querySelector(".destroy")?.scrollIntoView({ block: "nearest" }));
    });
  }

  protected override footer() {
    return html`${button({ label: "Cancel", onClick: () => this.close() })}
    ${button({ label: this.busy ? "Saving…" : "Save", primary: true, disabled: this.busy || !this.#valid, onClick: () => this.submit() })}`;
  }

  get #valid(): boolean {
    return this.groupTitle.trim() !== "" && this.#wanted !== null;
  }

  protected override submit(): void {
    const settings = this.#wanted;
    if (!this.#valid || settings === null || this.destroying !== null) return;
    void this.#update({ title: this.groupTitle.trim(), topic: this.topic, settings }).then((saved) => {
      if (saved) this.close();
    });
  }

  #update(change: {
    title?: string;
    topic?: string;
    settings?: GroupSettings;
    active_scope_key?: string;
  }): Promise<boolean> {
    return this.act(async () => {
      const group = await this.host.call("group_update", { group_id: this.group.group_id, ...change });
      this.group = group;
      await this.conversation.group.refresh();
    });
  }

  #attach(): Promise<boolean> {
    return this.act(async () => {
      const { group_id: groupId } = this.group;
      await this.host.call("attach", { group_id: groupId, path: this.path.trim() });
      this.group = await this.host.call("group_show", { group_id: groupId });
      this.path = "";
      await this.conversation.group.refresh();
    });
  }

  async #destroyNow(): Promise<void> {
    const { group_id: groupId } = this.group;
    const reset = this.destroying === "reset";
    const done = await this.act(() =>
      this.host.call(reset ? "group_reset" : "group_delete", { group_id: groupId, confirm: groupId }),
    );
    if (!done) return;
    this.tell(reset ? "group-reset" : "group-deleted", groupId);
    this.close();
  }
}

customElements.define("svc-group-settings-dialog", GroupSettingsDialog);
