/** `<svc-add-actor-dialog>` and `<svc-edit-actor-dialog>`: an Actor's fields. Adding ends with how an agent becomes this Actor. */
import { html } from "lit";
import type { ActorWithPresence } from "../../shared/operations/actors.ts";
import type { Host } from "../host.ts";
import { actorName } from "../state/actor-words.ts";
import type { Conversation } from "../state/conversation.ts";
import { button, checkbox, select, textField } from "../toolkit.ts";
import { DialogView } from "./dialog.ts";
import "./private-environment.ts";
import type { PrivateEnvironmentElement } from "./private-environment.ts";

type Runtime = ActorWithPresence["runtime"];
const RUNTIMES: readonly { value: Runtime; label: string }[] = [
  { value: "claude", label: "Claude Code" },
  { value: "codex", label: "Codex" },
  { value: "gemini", label: "Gemini" },
  { value: "opencode", label: "opencode" },
  { value: "copilot", label: "Copilot" },
  { value: "cursor", label: "Cursor" },
  { value: "custom", label: "Another program" },
];
const ID = /^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$/;

abstract class ActorDialog extends DialogView {
  static override readonly properties = {
    ...DialogView.properties,
    actorTitle: { state: true },
    runtime: { state: true },
    enabled: { state: true },
  };
  declare host: Host;
  declare conversation: Conversation;
  declare actorTitle: string;
  declare runtime: Runtime;
  declare enabled: boolean;

  constructor() {
    super();
    this.actorTitle = "";
    this.runtime = "claude";
    this.enabled = true;
  }

  protected fields() {
    return html`${textField({
      label: "Title",
      value: this.actorTitle,
      placeholder: "How people see it (optional)",
      onInput: (title) => {
        this.actorTitle = title;
      },
    })}
    ${select<Runtime>({
      label: "Runtime",
      value: this.runtime,
      choices: RUNTIMES,
      onChange: (runtime) => {
        this.runtime = runtime;
      },
    })}
    ${checkbox({
      label: "Enabled: it is handed messages",
      checked: this.enabled,
      onChange: (enabled) => {
        this.enabled = enabled;
      },
    })}`;
  }
}

class AddActorDialog extends ActorDialog {
  static override readonly properties = { ...ActorDialog.properties, actorId: { state: true } };
  declare actorId: string;

  constructor() {
    super();
    this.actorId = "";
  }

  protected override heading(): string {
    return "Add an Actor";
  }

  protected override content() {
    const first = this.conversation.group.actors.length === 0;
    return html`<p class="hint">
        ${first ? "The first Actor is the Group’s foreman: messages without a recipient go to it." : "It joins as a peer of the foreman."}
      </p>
      ${textField({
        label: "Id",
        value: this.actorId,
        focused: true,
        placeholder: "reviewer",
        hint: "1-32 letters, digits, - and _. Others write to it by this name.",
        onInput: (id) => {
          this.actorId = id.trim();
        },
      })}
      ${this.fields()}`;
  }

  protected override footer() {
    return html`${button({ label: "Cancel", onClick: () => this.close() })}
    ${button({ label: this.busy ? "Adding…" : "Add and connect", primary: true, disabled: this.busy || !ID.test(this.actorId), onClick: () => this.submit() })}`;
  }

  protected override submit(): void {
    if (!ID.test(this.actorId)) return;
    void this.act(() => this.#add()).then((added) => {
      if (added) this.close();
    });
  }

  async #add(): Promise<void> {
    const { actor, token_file } = await this.host.call("actor_add", {
      group_id: this.conversation.groupId,
      actor_id: this.actorId,
      title: this.actorTitle.trim(),
      runtime: this.runtime,
      enabled: this.enabled,
    });
    await this.conversation.group.refresh();
    this.tell("open-dialog", { name: "connect-actor", actor, tokenFile: token_file });
  }
}

class EditActorDialog extends ActorDialog {
  declare actor: ActorWithPresence;

  override connectedCallback(): void {
    this.actorTitle = this.actor.title;
    this.runtime = this.actor.runtime;
    this.enabled = this.actor.enabled;
    super.connectedCallback();
  }

  protected override heading(): string {
    return `Edit ${actorName(this.actor)}`;
  }

  protected override content() {
    return html`<p class="hint">Id <code>${this.actor.id}</code>, ${this.actor.role}. The id stays for as long as the Actor exists.</p>
      ${this.fields()}
      <svc-private-environment .names=${this.actor.private_env}></svc-private-environment>`;
  }

  protected override footer() {
    return html`${button({ label: "Cancel", onClick: () => this.close() })}
    ${button({ label: this.busy ? "Saving…" : "Save", primary: true, disabled: this.busy, onClick: () => this.submit() })}`;
  }

  protected override submit(): void {
    void this.act(async () => {
      await this.host.call("actor_update", {
        group_id: this.conversation.groupId,
        actor_id: this.actor.id,
        title: this.actorTitle.trim(),
        runtime: this.runtime,
        enabled: this.enabled,
      });
      const changes =
        this.querySelector<PrivateEnvironmentElement>("svc-private-environment")?.changes ?? null;
      if (changes !== null) {
        await this.host.call("actor_secrets", {
          group_id: this.conversation.groupId,
          actor_id: this.actor.id,
          ...changes,
        });
      }
      await this.conversation.group.refresh();
    }).then((saved) => {
      if (saved) this.close();
    });
  }
}

customElements.define("svc-add-actor-dialog", AddActorDialog);
customElements.define("svc-edit-actor-dialog", EditActorDialog);
