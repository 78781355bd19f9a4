/**
 * `<svc-add-actor-dialog>` and `<svc-edit-actor-dialog>`: an Actor's fields. Adding ends with the
 * Actor's terminal, or with instructions for the agent that is to become this Actor.
 */
import { html, nothing } from "lit";
import { actorName, hasConversations } from "../../shared/actor-words.ts";
import type { ActorWithPresence, RuntimeDescription } from "../../shared/operations/actors.ts";
import { missingWords } from "../../shared/start-words.ts";
import { isOnlyNamed, needsMark } from "../../shared/typed-actors.ts";
import { joinCommand, splitCommand } from "../composer/command-words.ts";
import { DialogView } from "../controls/dialog.ts";
import { icon } from "../controls/icons.ts";
import { button, checkbox, select, textField } from "../controls/toolkit.ts";
import type { Host } from "../hosts/host.ts";
import type { Conversation } from "../state/conversation.ts";
import { startProblem } from "./start-problem.ts";
import "./private-environment.ts";
import type { PrivateEnvironmentElement } from "./private-environment.ts";

type Runtime = ActorWithPresence["runtime"];
type Runner = ActorWithPresence["runner"];
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
    runner: { state: true },
    command: { state: true },
    found: { state: true },
    enabled: { state: true },
    allowTools: { state: true },
    answerable: { state: true },
    prompts: { state: true },
  };
  declare host: Host;
  declare runner: Runner;
  declare command: string;
  /** What this machine has; null until it is known. */
  declare found: readonly RuntimeDescription[] | null;
  declare conversation: Conversation;
  declare actorTitle: string;
  declare runtime: Runtime;
  declare enabled: boolean;
  declare allowTools: boolean;
  /** What its agent asks can be answered here as well. */
  declare answerable: boolean;
  /** Its owner says that its program reads prompts. */
  declare prompts: boolean;

  constructor() {
    super();
    this.actorTitle = "";
    this.runtime = "claude";
    this.enabled = true;
    this.allowTools = true;
    this.answerable = false;
    this.prompts = false;
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
      this.found = (await this.host.call("runtime_list", this.place)).runtimes;
      this.looked();
    } catch {
      // The list of names is enough. Adding the Actor says what is wrong.
    }
  }

  /** Where the agent would run. */
  protected get place(): { group_id: string; actor_id?: string } {
    return { group_id: this.conversation.groupId };
  }

  /** What this machine has is known now. */
  protected looked(): void {}

  protected find(runtime: Runtime): RuntimeDescription | undefined {
    return this.found?.find((entry) => entry.runtime === runtime);
  }

  /** Its agent asks a person before it uses a tool, and is started by svc. */
  get #asksForTools(): boolean {
    return hasConversations({ runner: this.runner, runtime: this.runtime });
  }

  /** What a runtime's name means. */
  protected runtimeNote(runtime: Runtime): string {
    if (this.runner === "external" || runtime === "custom") return "";
    const found = this.find(runtime);
    if (found === undefined) return "";
    if (!found.installed) return " (not found here)";
    return found.version === null ? "" : ` ${found.version}`;
  }

  /** The runtime whose own program would run; null if there is none, or if it isn't known. */
  get #own(): RuntimeDescription | null {
    if (this.runner === "external" || this.runtime === "custom" || this.command.trim() !== "") return null;
    return this.find(this.runtime) ?? null;
  }

  /** The runtime's own program would run, but it isn't installed. */
  protected get missing(): boolean {
    return this.#own?.installed === false;
  }

  /** The program that will run in the terminal is known. */
  protected get hasProgram(): boolean {
    return this.runner === "external" || this.runtime !== "custom" || splitCommand(this.command).length > 0;
  }

  protected commandField() {
    if (this.runner === "external") return nothing;
    const custom = this.runtime === "custom";
    return html`${textField({
      label: "Command and arguments",
      value: this.command,
      name: "command",
      placeholder: custom ? "program and arguments" : (this.find(this.runtime)?.command ?? ""),
      hint: custom
        ? "Required: the program to run in the terminal. Quote arguments that contain spaces."
        : "Optional. By default, the runtime’s own command runs. Quote arguments that contain spaces.",
      onInput: (command) => {
        this.command = command;
      },
    })}
    ${this.#missingNotes()}`;
  }

  /** Shown before anything is started, each with its remedy. */
  #missingNotes() {
    return (this.#own === null ? [] : missingWords(this.#own)).map(
      ({ what, command, remedy }) => html`<p class="missing" role="status">
        ${icon("warning")}<span
          >${`${what} ${remedy}`.replaceAll(/(?<=\w)'(?=\w)/g, "’")}${command === undefined ? nothing : html` <code>${command}</code>`}</span
        >
      </p>`,
    );
  }

  protected fields() {
    return html`${textField({
      label: "Title",
      value: this.actorTitle,
      placeholder: "The name people see (optional)",
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
      label: "Receives messages",
      checked: this.enabled,
      onChange: (enabled) => {
        this.enabled = enabled;
      },
    })}
    ${
      this.#asksForTools
        ? html`${checkbox({
            label: "Allow svc’s tools without asking you each time",
            checked: this.allowTools,
            onChange: (allowed) => {
              this.allowTools = allowed;
            },
          })}
          ${checkbox({
            label: "Answer its questions here, too: permissions with the exact command or change",
            checked: this.answerable,
            onChange: (answerable) => {
              this.answerable = answerable;
            },
          })}`
        : nothing
    }
    ${this.#promptsField()}`;
  }

  /** Only a person knows what a program does with the text that is typed into it. */
  #promptsField() {
    if (!needsMark(this)) return nothing;
    return html`${checkbox({
      label: "Reads prompts: svc types messages into it",
      checked: this.prompts,
      onChange: (prompts) => {
        this.prompts = prompts;
      },
    })}
    <p class="hint">
      ${
        this.prompts
          ? "Every message is typed into this program, followed by Enter. A shell would run it as a command."
          : isOnlyNamed(this)
            ? "svc types nothing into it, because a shell would run it as a command. Messages wait in its Inbox, and only those addressed to it by name reach it."
            : "svc types nothing into it. Messages wait in its Inbox until it reads them."
      }
    </p>`;
  }

  /** As the daemon expects it: left out for programs that svc knows. */
  protected get marked(): { prompts?: boolean } {
    return needsMark(this) ? { prompts: this.prompts } : {};
  }
}

class AddActorDialog extends ActorDialog {
  static override readonly properties = {
    ...ActorDialog.properties,
    actorId: { state: true },
  };
  declare actorId: string;

  constructor() {
    super();
    this.actorId = "";
  }

  protected override looked(): void {
    const installed = (runtime: Runtime) => this.find(runtime)?.installed === true;
    // Nothing was found, so the person probably wants to connect an agent that runs elsewhere.
    const first = RUNTIMES.find(({ value }) => value !== "custom" && installed(value));
    if (first === undefined) this.runner = "external";
    else if (!installed(this.runtime)) this.runtime = first.value;
  }

  get #ready(): boolean {
    return ID.test(this.actorId) && this.hasProgram;
  }

  protected override heading(): string {
    return "Add an Actor";
  }

  protected override content() {
    const first = this.conversation.group.actors.length === 0;
    return html`<p class="hint">
        ${first ? "The first Actor is the Group’s foreman: messages without a recipient go to it." : "It joins the Group as a peer."}
      </p>
      ${textField({
        label: "Id",
        value: this.actorId,
        focused: true,
        placeholder: "reviewer",
        hint: "1–32 letters, digits, - or _. Others address it by this id.",
        onInput: (id) => {
          this.actorId = id.trim();
        },
      })}
      ${select<Runner>({
        label: "Runs",
        value: this.runner,
        choices: [
          { value: "pty", label: "On this machine, run by svc" },
          { value: "external", label: "Elsewhere, I connect it" },
        ],
        onChange: (runner) => {
          this.runner = runner;
        },
      })}
      ${this.fields()} ${this.commandField()}`;
  }

  protected override footer() {
    const label = this.runner === "external" ? "Add and connect" : this.missing ? "Add" : "Add and start";
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
    const { actor, token_file: tokenFile } = await this.host.call("actor_add", {
      group_id: this.conversation.groupId,
      actor_id: this.actorId,
      title: this.actorTitle.trim(),
      runtime: this.runtime,
      runner: this.runner,
      ...(this.runner === "pty" && this.command.trim() !== "" ? { command: splitCommand(this.command) } : {}),
      enabled: this.enabled,
      allow_tools: this.allowTools,
      answerable: this.answerable,
      ...this.marked,
    });
    await this.conversation.group.refresh();
    if (this.runner === "external") {
      this.tell("open-dialog", { name: "connect-actor", actor, tokenFile: tokenFile });
      return;
    }
    if (this.missing) return;
    if (this.enabled) {
      try {
        await this.host.call("actor_start", { group_id: this.conversation.groupId, actor_id: actor.id });
      } catch (error) {
        // The Actor exists now, so problems are corrected in its settings.
        const added = this.conversation.group.actors.find(({ id }) => id === actor.id);
        this.tell("open-dialog", { name: "edit-actor", actor: added, problem: startProblem(error) });
        return;
      }
    }
    this.conversation.terminals.show(actor.id);
    await this.conversation.group.refresh();
  }
}

class EditActorDialog extends ActorDialog {
  declare actor: ActorWithPresence;

  override connectedCallback(): void {
    this.actorTitle = this.actor.title;
    this.runtime = this.actor.runtime;
    this.enabled = this.actor.enabled;
    this.allowTools = this.actor.allow_tools;
    this.answerable = this.actor.answerable;
    this.prompts = this.actor.prompts;
    this.runner = this.actor.runner;
    this.command = joinCommand(this.actor.command);
    super.connectedCallback();
  }

  protected override get place(): { group_id: string; actor_id?: string } {
    return { ...super.place, actor_id: this.actor.id };
  }

  protected override heading(): string {
    return `Edit ${actorName(this.actor)}`;
  }

  protected override content() {
    return html`<p class="hint">Id <code>${this.actor.id}</code>, ${this.actor.role}. The id can’t be changed.</p>
      ${this.fields()} ${this.commandField()}
      ${
        this.#runs
          ? html`<p class="hint">It’s running. A new command or runtime, and where its questions are answered, takes effect the next time it starts.</p>`
          : nothing
      }
      <svc-private-environment .names=${this.actor.private_env}></svc-private-environment>`;
  }

  protected override footer() {
    return html`${button({ label: "Cancel", onClick: () => this.close() })}
    ${
      this.#startable
        ? button({ label: "Save", disabled: this.busy || !this.hasProgram, onClick: () => this.#save(false) })
        : nothing
    }
    ${button({
      label: this.busy ? "Saving…" : this.#startable ? "Save and start" : "Save",
      primary: true,
      disabled: this.busy || !this.hasProgram,
      onClick: () => this.submit(),
    })}`;
  }

  get #runs(): boolean {
    return this.runner === "pty" && !["stopped", "failed"].includes(this.actor.presence.state);
  }

  get #startable(): boolean {
    return this.runner === "pty" && !this.#runs && !this.missing;
  }

  protected override submit(): void {
    if (this.hasProgram) this.#save(this.#startable);
  }

  #save(start: boolean): void {
    const address = { group_id: this.conversation.groupId, actor_id: this.actor.id };
    void this.act(async () => {
      const command = splitCommand(this.command);
      await this.host.call("actor_update", {
        ...address,
        title: this.actorTitle.trim(),
        runtime: this.runtime,
        enabled: this.enabled,
        allow_tools: this.allowTools,
        answerable: this.answerable,
        ...this.marked,
        ...(joinCommand(command) === joinCommand(this.actor.command) ? {} : { command }),
      });
      const changes =
        this.querySelector<PrivateEnvironmentElement>("svc-private-environment")?.changes ?? null;
      if (changes !== null) await this.host.call("actor_secrets", { ...address, ...changes });
      await this.conversation.group.refresh();
      if (!start) return;
      try {
        await this.host.call("actor_start", address);
      } catch (error) {
        throw new Error(startProblem(error), { cause: error });
      }
      this.conversation.terminals.show(this.actor.id);
      await this.conversation.group.refresh();
    }).then((saved) => {
      if (saved) this.close();
    });
  }
}

customElements.define("svc-add-actor-dialog", AddActorDialog);
customElements.define("svc-edit-actor-dialog", EditActorDialog);
