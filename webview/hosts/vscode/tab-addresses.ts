/**
 * Addresses in an editor: the state of one tab. A tab has no history of its own, and a link leads
 * to the browser.
 */
import { type Address, addressQuery, NOWHERE, readAddress } from "../../../shared/address.ts";
import type { Release } from "../../../shared/stream-client/listeners.ts";
import { type Addresses, type Host, HostError } from "../host.ts";

/** What a tab keeps of itself. */
interface TabState {
  get(): unknown;
  set(query: string): void;
}

export class TabAddresses implements Addresses {
  readonly first = "";
  readonly #host: Pick<Host, "call">;
  readonly #state: TabState;

  constructor(host: Pick<Host, "call">, state: TabState) {
    this.#host = host;
    this.#state = state;
  }

  get current(): Address {
    const kept = this.#state.get();
    return typeof kept === "string" ? readAddress(kept) : { ...NOWHERE };
  }

  takeInvitation(): null {
    return null;
  }

  set(address: Address): void {
    this.#state.set(addressQuery(address));
  }

  watch(): Release {
    return () => {};
  }

  href(address: Address): string {
    return addressQuery(address);
  }

  async link(address: Address): Promise<string> {
    const { web_origin: origin } = await this.#host.call("daemon_status", {});
    if (origin === null)
      throw new HostError("conflict", "Links lead to a browser, and the daemon’s Web listener is off.");
    return `${origin}/${addressQuery(address)}`;
  }
}
