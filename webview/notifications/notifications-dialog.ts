/**
 * `<svc-notifications-dialog>`: how this browser tells the person what waits for them, and which
 * browsers are told while no page is open.
 */
import { html, nothing } from "lit";
import { NOTIFICATION_KINDS } from "../../shared/operations/notification-kinds.ts";
import type { PushSubscription } from "../../shared/operations/notifications.ts";
import { iconButton, skeleton } from "../controls/controls.ts";
import { DialogView } from "../controls/dialog.ts";
import { icon } from "../controls/icons.ts";
import { button, checkbox } from "../controls/toolkit.ts";
import { follow } from "../controls/view.ts";
import { type Host, HostError } from "../hosts/host.ts";
import type { Notifications, Permission } from "./notifications.ts";
import { KIND_LABELS } from "./settings.ts";

const WHY_NOT: Partial<Record<Permission, string>> = {
  insecure: "Browsers allow notifications only on HTTPS pages and on this machine’s own localhost.",
  unsupported:
    "This browser can’t show notifications. On an iPhone or iPad, add this page to the Home Screen first.",
  denied: "Notifications are blocked for this page. Allow them in the browser’s settings of this site.",
};

class NotificationsDialog extends DialogView {
  static override readonly properties = {
    ...DialogView.properties,
    browsers: { state: true },
    result: { state: true },
  };
  declare host: Host;
  declare notifications: Notifications;
  /** Null until they are read. */
  declare browsers: readonly PushSubscription[] | null;
  /** What became of a test. */
  declare result: string;

  constructor() {
    super();
    this.browsers = null;
    this.result = "";
    follow(this, () => [this.notifications]);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    void this.act(() => this.#read());
  }

  async #read(): Promise<void> {
    this.browsers = (await this.host.call("push_list", {})).subscriptions;
  }

  protected override heading(): string {
    return "Notifications";
  }

  protected override get wide(): boolean {
    return true;
  }

  get #current(): PushSubscription | undefined {
    return this.browsers?.find(({ current }) => current);
  }

  protected override content() {
    const { settings, permission } = this.notifications;
    const isOn = settings.shows && permission === "granted";
    const whyNot = WHY_NOT[permission];
    return html`<p class="hint">You are told once when something begins to wait for you, in one of your open windows.</p>
      <section class="dialog-section">
        <h3>This browser</h3>
        ${checkbox({
          label: "Show notifications",
          checked: isOn,
          disabled: this.busy || whyNot !== undefined,
          onChange: (shows) => void this.#show(shows),
        })}
        ${whyNot === undefined ? nothing : html`<p class="hint">${icon("info")} ${whyNot}</p>`}
        ${checkbox({
          label: "Play a sound",
          checked: settings.sounds,
          onChange: (sounds) => this.notifications.set({ sounds }),
        })}
        ${checkbox({
          label: "Tell this browser also while no page is open, by Web Push",
          checked: this.#current !== undefined,
          disabled:
            this.busy || whyNot !== undefined || !this.notifications.canPush || this.browsers === null,
          onChange: (on) => void this.#push(on),
        })}
        <p class="hint">Web Push goes through the browser’s own push service. It carries the names of the Group and the Actor, encrypted, and no text of a message.</p>
        <fieldset class="choices few">
          <legend>Tell me when</legend>
          ${NOTIFICATION_KINDS.map((kind) =>
            checkbox({
              label: KIND_LABELS[kind],
              checked: settings.kinds.includes(kind),
              onChange: (on) => void this.#choose(kind, on),
            }),
          )}
        </fieldset>
        <p class="buttons">
          ${button({
            label: "Test",
            disabled: this.busy || (!isOn && !settings.sounds),
            onClick: () => void this.#test(),
          })}
          <span class="hint" role="status">${this.result}</span>
        </p>
      </section>
      <section class="dialog-section">
        <h3>Told by Web Push</h3>
        ${this.#list()}
      </section>`;
  }

  #list() {
    if (this.browsers === null) return this.problem === null ? skeleton(2, "list") : nothing;
    if (this.browsers.length === 0)
      return html`<p class="hint">No browser yet. Open this page on your phone and turn Web Push on there.</p>`;
    return html`<ul class="plain-list tokens">${this.browsers.map((browser) => this.#row(browser))}</ul>`;
  }

  #row({ id, name, service, current, sent, failed, last_failure: failure }: PushSubscription) {
    const shown = name === "" ? "Unnamed browser" : name;
    return html`<li class="token push-browser">
      ${icon("bell-dot")}
      <span class="token-name"><bdi>${shown}</bdi>${current ? html` <span class="role">this browser</span>` : nothing}</span>
      <span class="token-kind">
        ${service} · ${sent} sent · ${failed} failed
        ${failure === null ? nothing : html`· last failure <svc-time manner="past" value=${failure.at}></svc-time>: ${failure.reason}`}
      </span>
      <span class="buttons">
        ${button({ label: "Test", disabled: this.busy, title: `Send a test to ${shown}`, onClick: () => void this.#testPush(id) })}
        ${iconButton({ icon: "trash", label: `Stop telling ${shown}`, onClick: () => void this.#remove(id, current) })}
      </span>
    </li>`;
  }

  async #show(shows: boolean): Promise<void> {
    await this.act(async () => {
      if (!shows) this.notifications.set({ shows });
      else await this.notifications.allow();
    });
    // A checkbox that the browser refused goes back.
    this.requestUpdate();
  }

  #push(on: boolean): Promise<boolean> {
    const { notifications } = this;
    return this.act(async () => {
      try {
        if (on) await notifications.subscribePush();
        else if (this.#current !== undefined) await this.#end(this.#current.id, true);
      } finally {
        this.requestUpdate();
      }
      await this.#read();
    });
  }

  async #choose(kind: (typeof NOTIFICATION_KINDS)[number], on: boolean): Promise<void> {
    const { notifications } = this;
    const { kinds } = notifications.settings;
    notifications.set({
      kinds: NOTIFICATION_KINDS.filter((one) => (one === kind ? on : kinds.includes(one))),
    });
    if (this.#current !== undefined) await this.act(() => notifications.updatePush());
  }

  #test(): Promise<boolean> {
    return this.act(async () => {
      await this.notifications.test();
      this.result = "Sent. If you see nothing, look at the system’s settings for this browser.";
    });
  }

  #testPush(id: string): Promise<boolean> {
    return this.act(async () => {
      const { sent, reason } = await this.host.call("push_test", { push_id: id });
      await this.#read();
      if (!sent) throw new HostError("push", reason);
      this.result = "The push service took it.";
    });
  }

  #remove(id: string, current: boolean): Promise<boolean> {
    return this.act(async () => {
      await this.#end(id, current);
      await this.#read();
    });
  }

  async #end(id: string, current: boolean): Promise<void> {
    await this.host.call("push_unsubscribe", { push_id: id });
    if (current) await this.notifications.unsubscribePush();
  }

  protected override footer() {
    return button({ label: "Done", primary: true, onClick: () => this.close() });
  }
}

customElements.define("svc-notifications-dialog", NotificationsDialog);
