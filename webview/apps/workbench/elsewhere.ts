/** The account's other instances in the Workbench: the list, and the one that is shown. */
import { html, nothing } from "lit";
import type { AccountLink } from "../../connections/account-link.ts";
import { Store } from "../../controls/store.ts";
import type { Host } from "../../hosts/host.ts";
import type { Instances } from "../../instances/instances.ts";
import type { FrameParts, LiveFrame } from "../../instances/live-frame.ts";
import type { Layout } from "./layout.ts";

/** The page goes where it was opened, at another instance, only if it can be so soon. */
const BEGIN_MS = 30_000;

interface Parts {
  host: Host;
  account: AccountLink;
  layout: Layout;
  /** Gets a proof for the frame of another instance. */
  open: FrameParts["open"];
  /** Asks whether to leave a frame in which something isn't saved; `leave` leaves it. */
  ask(fields: { frame: LiveFrame; leave: () => void }): void;
}

export class Elsewhere extends Store {
  /** Null until the account has any. */
  instances: Instances | null = null;
  readonly #parts: Parts;
  readonly #begun = performance.now();
  /** The person has done something here: the page goes nowhere by itself any more. */
  readonly #touched = new AbortController();
  #ended = false;

  constructor(parts: Parts) {
    super();
    this.#parts = parts;
    parts.account.subscribe(() => void this.#add());
    const options = { capture: true, signal: this.#touched.signal };
    for (const done of ["pointerdown", "keydown", "input"])
      document.addEventListener(done, () => this.#touched.abort(), options);
  }

  /** The one that is shown; null while this machine's own Groups are. */
  get live(): LiveFrame | null {
    return this.instances?.live ?? null;
  }

  /** Shows an instance, and there a Group. `connections` opens its dialog of connections. */
  show(instanceId: string, groupId: string | null, connections: boolean): void {
    const { live } = this;
    const isShown = live !== null && live.phase !== "failed" && live.target.instance_id === instanceId;
    const show = (): void => {
      this.#touched.abort();
      this.instances?.show(instanceId, groupId, connections);
      const { layout } = this.#parts;
      if (layout.breadth === "narrow") layout.show("feed");
    };
    if (isShown) show();
    else this.#askFirst(show);
  }

  /** Back to this machine's own Groups, where `then` goes on. */
  leave(then: () => void = () => {}): void {
    this.#askFirst(() => {
      this.#touched.abort();
      this.instances?.leave();
      then();
    });
  }

  end(): void {
    this.#ended = true;
    this.#touched.abort();
    this.instances?.stop();
    this.instances = null;
  }

  /** What stands in the place of the own conversation. */
  render() {
    const { instances } = this;
    if (instances === null || instances.live === null) return nothing;
    const { breadth, page } = this.#parts.layout;
    const narrow = breadth === "narrow";
    return html`<svc-remote role="main" .instances=${instances} ?narrow=${narrow} ?hidden=${narrow && page === "groups"}></svc-remote>`;
  }

  #askFirst(leave: () => void): void {
    const { live } = this;
    if (live?.dirty === true) this.#parts.ask({ frame: live, leave });
    else leave();
  }

  /** Their code is loaded with the first of them. */
  async #add(): Promise<void> {
    const { account, host, open, layout } = this.#parts;
    if (this.instances !== null || !account.connections.some(({ kind }) => kind === "account")) return;
    const { Instances } = await import("../../instances/browser-instances.ts");
    // The person may have left meanwhile, or an earlier answer was quicker.
    if (this.#ended || this.instances !== null) return;
    this.instances = new Instances({
      host,
      open,
      query: host.addresses.first,
      mayBegin: () => !this.#touched.signal.aborted && performance.now() < this.#begun + BEGIN_MS,
      sidebar: () => layout.show("groups"),
      reload: () => location.reload(),
    });
    this.instances.subscribe(() => this.changed());
    this.instances.start();
    this.changed();
  }
}
