/** `<svc-sign-in>`: for a visitor without a session. */
import { html, type TemplateResult } from "lit";
import { failure } from "../controls/controls.ts";
import { icon } from "../controls/icons.ts";
import { button, textField } from "../controls/toolkit.ts";
import { View } from "../controls/view.ts";
import type { Session, Viewer } from "../hosts/host.ts";

/** Somewhere else than in a frame, the link opens this page itself. */
function byLink(): TemplateResult {
  return html`<p>On the daemon’s machine, run <code>svc open</code>. It prints a one-time link that signs you in.</p>
    <p class="or"><span>or</span></p>`;
}

function framed(around: string): TemplateResult {
  return html`<p>You see <strong><bdi>${location.host}</bdi></strong> inside the page of <strong><bdi>${around}</bdi></strong>.</p>
    <p>Sign in as an administrator here: run <code>svc open</code> on this instance’s machine and paste the link that it prints. The sign-in is for this site inside that one only, and so is signing out.</p>`;
}

class SignInElement extends View {
  static override readonly properties = {
    session: { attribute: false },
    problem: {},
    around: {},
    token: { state: true },
    busy: { state: true },
  };
  declare session: Session;
  declare problem: string | null;
  /** The host of the page that shows this one in a frame; null where none does. */
  declare around: string | null;
  declare token: string;
  declare busy: boolean;

  constructor() {
    super();
    this.problem = null;
    this.around = null;
    this.token = "";
    this.busy = false;
  }

  protected override render() {
    return html`<main class="sign-in">
      <form
        class="sign-in-box"
        @submit=${(event: Event) => {
          event.preventDefault();
          void this.#signIn();
        }}
        @keydown=${(event: KeyboardEvent) => {
          if (event.key === "Enter" && (event.target as HTMLElement).matches("vscode-text-field"))
            void this.#signIn();
        }}
      >
        <h1>${icon("comment-discussion")}Workbench</h1>
        ${this.around === null ? byLink() : framed(this.around)}
        ${textField({
          label: this.around === null ? "Access token" : "One-time link or access token",
          value: this.token,
          secret: true,
          focused: true,
          name: "access-token",
          onInput: (token) => {
            this.token = token;
          },
        })}
        ${failure(this.problem)}
        ${button({
          label: this.busy ? "Signing in…" : "Sign in",
          primary: true,
          disabled: this.busy || this.token.trim() === "",
          onClick: () => void this.#signIn(),
        })}
      </form>
    </main>`;
  }

  async #signIn(): Promise<void> {
    if (this.busy || this.token.trim() === "") return;
    this.busy = true;
    this.problem = null;
    try {
      const viewer: Viewer = await this.session.signIn(this.token.trim());
      this.token = "";
      this.tell("signed-in", viewer);
    } catch (error) {
      this.problem = error instanceof Error ? error.message : String(error);
    } finally {
      this.busy = false;
    }
  }
}

customElements.define("svc-sign-in", SignInElement);
