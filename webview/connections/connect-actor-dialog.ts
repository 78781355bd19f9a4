/**
 * `<svc-connect-actor-dialog>`: how an agent becomes this Actor, step by step for each kind of
 * agent, until it is connected. The token stays in its file; only the file's path is shown.
 */
import { html, nothing } from "lit";
import { actorName } from "../../shared/actor-words.ts";
import { AGENT_CLIENTS, agentClient, agentSteps } from "../../shared/agent-clients.ts";
import { NOT_CONNECTED } from "../../shared/names.ts";
import type { ActorWithPresence } from "../../shared/operations/actors.ts";
import { announce } from "../controls/announce.ts";
import { iconButton } from "../controls/controls.ts";
import { copyFrom } from "../controls/copy.ts";
import { DialogView } from "../controls/dialog.ts";
import { icon } from "../controls/icons.ts";
import { button, progressRing, select } from "../controls/toolkit.ts";
import { follow } from "../controls/view.ts";
import type { Host } from "../hosts/host.ts";
import type { Conversation } from "../state/conversation.ts";

/** An agent that isn't in the table: it gets the whole entry, with its paths. */
const ANY = "any";

class ConnectActorDialog extends DialogView {
  static override readonly properties = {
    ...DialogView.properties,
    config: { state: true },
    home: { state: true },
    kind: { state: true },
    tokenFile: { state: true },
    renewed: { state: true },
  };
  declare host: Host;
  declare conversation: Conversation;
  declare actor: Pick<ActorWithPresence, "id" | "title" | "runtime">;
  declare config: string | null;
  /** The Home that the agent's server must know; null until it is read. */
  declare home: string | null;
  /** The chosen kind of agent. */
  declare kind: string;
  declare tokenFile: string | null;
  declare renewed: boolean;

  constructor() {
    super();
    this.config = null;
    this.home = null;
    this.kind = ANY;
    this.tokenFile = null;
    this.renewed = false;
    follow(this, () => [this.conversation.group]);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    const { id, runtime } = this.actor;
    const client = agentClient(id) ?? AGENT_CLIENTS.find((one) => one.runtime === runtime);
    this.kind = this.#folder === undefined ? ANY : (client?.id ?? "claude");
    void this.act(() => this.#read());
  }

  async #read(): Promise<void> {
    const config = await this.host.call("actor_mcp_config", this.#address);
    this.config = JSON.stringify(config, null, 2);
    this.home = config.mcpServers.svc.env["SVC_HOME"] ?? null;
    this.tokenFile ??= config.mcpServers.svc.env["SVC_ACTOR_FILE"] ?? null;
  }

  /** The project's folder: `svc mcp --as` finds the Group by it. */
  get #folder(): string | undefined {
    return this.conversation.group.group?.scopes[0]?.path;
  }

  get #address() {
    return { group_id: this.conversation.groupId, actor_id: this.actor.id };
  }

  protected override heading(): string {
    return `Connect an agent as ${actorName(this.actor)}`;
  }

  protected override get wide(): boolean {
    return true;
  }

  protected override content() {
    return html`${this.#state()}
      ${select({
        label: "Agent",
        value: this.kind,
        choices: [
          ...AGENT_CLIENTS.map(({ id, title }) => ({ value: id, label: title })),
          { value: ANY, label: "Any MCP client" },
        ],
        onChange: (kind) => {
          this.kind = kind;
        },
      })}
      ${
        this.config === null || this.home === null
          ? this.busy
            ? progressRing("Reading the configuration")
            : nothing
          : this.#steps(this.config, this.home)
      }
      <h3>Renew the token</h3>
      <p class="hint">Ends whatever runs as ${actorName(this.actor)} and invalidates its old token. The path stays the same.</p>
      ${
        this.renewed
          ? html`<p class="state tone-good">${icon("check")}<span>The token has been renewed. Start the agent again.</span></p>`
          : button({
              label: `Restart ${actorName(this.actor)}`,
              icon: "debug-restart",
              disabled: this.busy,
              onClick: () => void this.#restart(),
            })
      }`;
  }

  /** Whether the agent is there yet. */
  #state() {
    const now = this.conversation.group.actors.find(({ id }) => id === this.actor.id);
    const connected = now !== undefined && now.enabled && !now.presence.reason.includes(NOT_CONNECTED);
    return html`<p class="state ${connected ? "tone-good" : ""}" role="status">
      ${icon(connected ? "check" : "clock")}<span
        >${connected ? `${actorName(this.actor)} is connected.` : `Waiting for ${actorName(this.actor)} to connect…`}</span
      >
    </p>`;
  }

  #steps(config: string, home: string) {
    const client = agentClient(this.kind);
    if (client === undefined)
      return html`<p>Add this to the agent’s MCP configuration, then start the agent. It contains no secrets: it only points to the file with the Actor’s token, which only you can read.</p>
        ${this.#code("mcp.json", config)}
        ${
          this.tokenFile === null
            ? nothing
            : html`<h3>Token file</h3>
                ${this.#line(this.tokenFile, "Copy the path")}`
        }`;
    const folder = this.#folder;
    if (folder === undefined)
      return html`<p>First attach a project’s folder to this Group, with <code>svc attach</code> in that folder: the agent finds the Group by it. Or choose Any MCP client.</p>`;
    const steps = agentSteps(client, { actorId: this.actor.id, home });
    const where = html`<code>${folder}</code>`;
    return html`${
      steps.command === null
        ? html`<p>In ${where}, add this to <code>${steps.file}</code>:</p>`
        : html`<p>In ${where}, run:</p>
              ${this.#line(steps.command, "Copy the command")}
              <p>Or add this to <code>${steps.file}</code>:</p>`
    }
      ${this.#code(steps.file, steps.snippet)}
      ${
        steps.environment === null
          ? nothing
          : html`<p>Set this in the agent’s environment:</p>
              ${this.#line(steps.environment, "Copy the variable")}`
      }
      <p>${steps.next}</p>
      <p class="hint">The agent starts the program <code>svc</code>. If that isn’t on its PATH, choose Any MCP client.</p>`;
  }

  #code(name: string, text: string) {
    return html`<div class="code-block">
      <div class="code-head">
        <span class="code-language">${name}</span>
        <button type="button" class="code-copy" @click=${(event: Event) => void copyFrom(event.currentTarget as HTMLElement, text)}>Copy</button>
      </div>
      <pre tabindex="0" aria-label="MCP configuration"><code>${text}</code></pre>
    </div>`;
  }

  #line(text: string, label: string) {
    return html`<div class="command">
      <code>${text}</code>${iconButton({ icon: "copy", label, onClick: (event) => void copyFrom(event.currentTarget as HTMLElement, text) })}
    </div>`;
  }

  async #restart(): Promise<void> {
    await this.act(async () => {
      const { token_file: tokenFile } = await this.host.call("actor_restart", this.#address);
      this.tokenFile = tokenFile;
      this.renewed = true;
      announce("Token renewed");
      await this.conversation.group.refresh();
    });
  }

  protected override footer() {
    return button({ label: "Done", primary: true, onClick: () => this.close() });
  }
}

customElements.define("svc-connect-actor-dialog", ConnectActorDialog);
