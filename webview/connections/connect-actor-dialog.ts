/**
 * `<svc-connect-actor-dialog>`: how an agent becomes this Actor. The token stays in its file; only
 * the file's path is shown.
 */
import { html, nothing } from "lit";
import { actorName } from "../../shared/actor-words.ts";
import type { ActorWithPresence } from "../../shared/operations/actors.ts";
import { announce } from "../controls/announce.ts";
import { iconButton } from "../controls/controls.ts";
import { copyFrom } from "../controls/copy.ts";
import { DialogView } from "../controls/dialog.ts";
import { icon } from "../controls/icons.ts";
import { button, progressRing } from "../controls/toolkit.ts";
import type { Conversation } from "../feed/conversation.ts";
import type { Host } from "../hosts/host.ts";

class ConnectActorDialog extends DialogView {
  static override readonly properties = {
    ...DialogView.properties,
    config: { state: true },
    tokenFile: { state: true },
    renewed: { state: true },
  };
  declare host: Host;
  declare conversation: Conversation;
  declare actor: Pick<ActorWithPresence, "id" | "title" | "runtime">;
  declare config: string | null;
  declare tokenFile: string | null;
  declare renewed: boolean;

  constructor() {
    super();
    this.config = null;
    this.tokenFile = null;
    this.renewed = false;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    void this.act(() => this.#read());
  }

  async #read(): Promise<void> {
    const config = await this.host.call("actor_mcp_config", this.#address);
    this.config = JSON.stringify(config, null, 2);
    this.tokenFile ??= config.mcpServers.svc.env["SVC_ACTOR_FILE"] ?? null;
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
    return html`<p>Add this to the agent’s MCP configuration, then start the agent. It contains no secrets: it only points to the file with the Actor’s token, which only you can read.</p>
      ${
        this.config === null
          ? this.busy
            ? progressRing("Reading the configuration")
            : nothing
          : html`<div class="code-block">
              <div class="code-head">
                <span class="code-language">mcp.json</span>
                <button type="button" class="code-copy" @click=${(event: Event) => void copyFrom(event.currentTarget as HTMLElement, this.config ?? "")}>Copy</button>
              </div>
              <pre tabindex="0" aria-label="MCP configuration"><code>${this.config}</code></pre>
            </div>`
      }
      ${
        this.tokenFile === null
          ? nothing
          : html`<h3>Token file</h3>
              <div class="command">
                <code>${this.tokenFile}</code>${iconButton({ icon: "copy", label: "Copy the path", onClick: (event) => void copyFrom(event.currentTarget as HTMLElement, this.tokenFile ?? "") })}
              </div>`
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
