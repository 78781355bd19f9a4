/**
 * `<svc-create-group-dialog>`: a new Group, for a folder on the daemon's machine or without one.
 */
import { html, nothing } from "lit";
import { DialogView } from "../controls/dialog.ts";
import { button, textField } from "../controls/toolkit.ts";
import type { Host } from "../hosts/host.ts";
import "./folder-picker.ts";

class CreateGroupDialog extends DialogView {
  static override readonly properties = {
    ...DialogView.properties,
    path: { state: true },
    browsing: { state: true },
    groupTitle: { state: true },
    topic: { state: true },
  };
  declare host: Host;
  declare path: string;
  /** Folders are shown to choose from. An editor has its own dialog for that. */
  declare browsing: boolean;
  declare groupTitle: string;
  declare topic: string;

  constructor() {
    super();
    this.path = "";
    this.browsing = false;
    this.groupTitle = "";
    this.topic = "";
  }

  protected override heading(): string {
    return "New Group";
  }

  get #title(): string {
    return this.groupTitle.trim() || this.#folder;
  }

  get #folder(): string {
    return (
      this.path
        .trim()
        .replace(/[/\\]+$/, "")
        .split(/[/\\]/)
        .at(-1) ?? ""
    );
  }

  protected override content() {
    return html`${textField({
      label: "Project folder",
      value: this.path,
      focused: true,
      placeholder: "/home/me/project",
      hint: "A folder on the daemon’s machine, where the agents work. Optional.",
      onInput: (path) => {
        this.path = path;
      },
    })}
    ${
      this.host.home !== "browser"
        ? nothing
        : this.browsing
          ? html`<svc-folder-picker
              .host=${this.host}
              start=${this.path}
              @folder=${({ detail }: CustomEvent<string>) => (this.path = detail)}
            ></svc-folder-picker>`
          : html`<div class="dialog-actions">
              ${button({ label: "Browse folders…", icon: "folder", onClick: () => (this.browsing = true) })}
            </div>`
    }
    ${textField({
      label: "Title",
      value: this.groupTitle,
      placeholder: this.#folder === "" ? "The Group’s name" : this.#folder,
      onInput: (title) => {
        this.groupTitle = title;
      },
    })}
    ${textField({
      label: "Topic",
      value: this.topic,
      placeholder: "What it is about (optional)",
      onInput: (topic) => {
        this.topic = topic;
      },
    })}`;
  }

  protected override footer() {
    return html`${button({ label: "Cancel", onClick: () => this.close() })}
    ${button({ label: this.busy ? "Creating…" : "Create Group", primary: true, disabled: this.busy || this.#title === "", onClick: () => this.submit() })}`;
  }

  protected override submit(): void {
    if (this.#title === "") return;
    void this.act(() => this.#create()).then((created) => {
      if (created) this.close();
    });
  }

  async #create(): Promise<void> {
    const group = await this.host.call("group_create", { title: this.#title, topic: this.topic.trim() });
    const path = this.path.trim();
    if (path !== "") {
      try {
        await this.host.call("attach", { group_id: group.group_id, path });
      } catch (error) {
        // The Group was created only for this folder, so without it nothing is left behind.
        await this.host.call("group_delete", { group_id: group.group_id, confirm: group.group_id });
        throw error;
      }
    }
    this.tell("open-group", group.group_id);
  }
}

customElements.define("svc-create-group-dialog", CreateGroupDialog);
