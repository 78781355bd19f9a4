/**
 * `<svc-add-actor-dialog>` and `<svc-edit-actor-dialog>`: an Actor's fields. Adding ends with the Actor's terminal, or with how an agent
 * becomes this Actor.
 */
import { html, nothing } from "lit";
import type { ActorWithPresence } from "../../shared/operations/actors.ts";
import type { ResultOf } from "../../shared/operations/registry.ts";
import type { Host } from "../host.ts";
import { actorName } from "../state/actor-words.ts";
import { splitCommand } from "../state/command-words.ts";
import type { Conversation } from "../state/conversation.ts";
import { button, checkbox, select, textField } from "../toolkit.ts";
import { DialogView } from "./dialog.ts";
import "./private-environment.ts";
import type { PrivateEnvironmentElement } from "./private-environment.ts";

type Runtime = ActorWithPresence["runtime"];
type Runner = ActorWithPresence["runner"];
type Found = ResultOf<"runtime_list">["runtimes"][number];
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

  /** What stands behind a runtime's name. */
  protected runtimeNote(_runtime: Runtime): string {
    return "";
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
      choices: RUNTIMES.map(({ value, label }) => ({ value, label: label + this.runtimeNote(value) })),
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
  static override readonly properties = {
    ...ActorDialog.properties,
    actorId: { state: true },
    runner: { state: true },
    command: { state: true },
    found: { state: true },
  };
  declare actorId: string;
  declare runner: Runner;
  declare command: string;
  /** What this machine has; null until it is known. */
  declare found: readonly Found[] | null;

  constructor() {
    super();
    this.actorId = "";
    this.runner = "pty";
    this.command = "";
    this.found = null;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    void this.#look();
  }

  async #look(): Promise<void> {
    try {
      const { runtimes } = await this.host.call("runtime_list", {});
      this.found = runtimes;
      const installed = (runtime: Runtime) => this.#find(runtime)?.installed === true;
      // Nothing is found: most likely an agent that runs elsewhere is to be connected.
      const first = RUNTIMES.find(({ value }) => value !== "custom" && installed(value));
      if (first === undefined) this.runner = "external";
      else if (!installed(this.runtime)) this.runtime = first.value;
    } catch {
      // The list of names is enough; adding says what is wrong.
    }
  }

  #find(runtime: Runtime): Found | undefined {
    return this.found?.find((entry) => entry.runtime === runtime);
  }

  protected override runtimeNote(runtime: Runtime): string {
    if (this.runner === "external" || runtime === "custom") return "";
    const found = this.#find(runtime);
    if (found === undefined) return "";
    if (!found.installed) return " (not found here)";
    return found.version === null ? "" : ` ${found.version}`;
  }

  get #ready(): boolean {
    if (!ID.test(this.actorId)) return false;
    return this.runner === "external" || this.runtime !== "custom" || splitCommand(this.command).length > 0;
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
      ${select<Runner>({
        label: "Runs",
        value: this.runner,
        choices: [
          { value: "pty", label: "here, in a terminal that svc starts" },
          { value: "external", label: "elsewhere: I connect it myself" },
        ],
        onChange: (runner) => {
          this.runner = runner;
        },
      })}
      ${this.fields()}
      ${
        this.runner === "pty"
          ? textField({
              label: "Command",
              value: this.command,
              placeholder:
                this.runtime === "custom"
                  ? "program and arguments"
                  : (this.#find(this.runtime)?.command ?? ""),
              hint:
                this.runtime === "custom"
                  ? "Needed: the program that runs in the terminal."
                  : "Optional; without it the runtime’s own command runs.",
              onInput: (command) => {
                this.command = command;
              },
            })
          : nothing
      }`;
  }

  protected override footer() {
    const label = this.runner === "pty" ? "Add and start" : "Add and connect";
    return html`${button({ label: "Cancel", onClick: () => this.close() })}
    ${button({ label: this.busy ? "Adding…" : label, primary: true, disabled: this.busy || !this.#ready, onClick: () => this.submit() })}`;
  }

  protected override submit(): void {
    if (!this.#ready) return;
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
      runner: this.runner,
      ...(this.runner === "pty" && this.command.trim() !== "" ? { command: splitCommand(this.command) } : {}),
      enabled: this.enabled,
    });
    await this.conversation.group.refresh();
    if (this.runner === "external") {
      this.tell("open-dialog", { name: "connect-actor", actor, tokenFile: token_file });
      return;
    }
    this.conversation.terminals.show(actor.id);
    if (!this.enabled) return;
    await this.host.call("actor_start", { group_id: this.conversation.groupId, actor_id: actor.id });
    await this.conversation.group.refresh();
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
