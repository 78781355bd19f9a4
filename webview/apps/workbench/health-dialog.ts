/**
 * `<svc-health-dialog>`: what the daemon checks about itself, and what to do if something is wrong.
 */
import { html, nothing } from "lit";
import type { HealthCheck } from "../../../shared/health.ts";
import type { ResultOf } from "../../../shared/operations/registry.ts";
import { skeleton, stateWord } from "../../controls/controls.ts";
import { DialogView } from "../../controls/dialog.ts";
import { button } from "../../controls/toolkit.ts";
import type { Host } from "../../hosts/host.ts";

const WORDS = {
  ok: { icon: "pass", word: "ok", tone: "good" },
  warning: { icon: "warning", word: "warning", tone: "attention" },
  error: { icon: "error", word: "error", tone: "bad" },
} as const;

class HealthDialog extends DialogView {
  static override readonly properties = {
    ...DialogView.properties,
    checks: { state: true },
    status: { state: true },
  };
  declare host: Host;
  declare checks: readonly HealthCheck[] | null;
  declare status: ResultOf<"daemon_status"> | null;

  constructor() {
    super();
    this.checks = null;
    this.status = null;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    void this.#read();
  }

  #read(): Promise<boolean> {
    return this.act(async () => {
      const [health, status] = await Promise.all([
        this.host.call("health", {}),
        this.host.call("daemon_status", {}),
      ]);
      this.checks = health.checks;
      this.status = status;
    });
  }

  protected override heading(): string {
    return "Health";
  }

  protected override get wide(): boolean {
    return true;
  }

  protected override get isText(): boolean {
    return true;
  }

  protected override content() {
    const { status } = this;
    return html`${
      status === null
        ? nothing
        : html`<dl class="facts">
            <div><dt>Version</dt><dd>${status.version}</dd></div>
            <div><dt>Process</dt><dd>${status.pid}, running for <svc-time manner="lasting" value=${status.started_at}></svc-time></dd></div>
            <div><dt>Home</dt><dd><code>${status.home}</code></dd></div>
          </dl>`
    }
    ${
      this.checks === null
        ? this.problem === null
          ? skeleton(6, "list")
          : nothing
        : html`<p role="status">${summary(this.checks)}</p>
          <ul class="plain-list checks">
            ${worstFirst(this.checks).map(
              (check) => html`<li class="check">
                ${stateWord(WORDS[check.severity])}
                <div><strong>${check.title}</strong><p>${check.text}</p>${check.remedy === "" ? nothing : html`<p class="remedy">${check.remedy}</p>`}</div>
              </li>`,
            )}
          </ul>`
    }`;
  }

  protected override footer() {
    return html`${button({ label: "Check again", icon: "refresh", disabled: this.busy, onClick: () => void this.#read() })}
    ${button({ label: "Done", primary: true, onClick: () => this.close() })}`;
  }
}

function worstFirst(checks: readonly HealthCheck[]): HealthCheck[] {
  const order = ["error", "warning", "ok"];
  return checks.toSorted((a, b) => order.indexOf(a.severity) - order.indexOf(b.severity));
}

function summary(checks: readonly HealthCheck[]): string {
  const wrong = checks.filter(({ severity }) => severity !== "ok").length;
  return wrong === 0 ? "Everything is in order." : `${wrong} of ${checks.length} need attention.`;
}

customElements.define("svc-health-dialog", HealthDialog);
