/** Addresses in a browser: the page's own, with its history. */
import { type Address, addressQuery, readAddress, readInvitation } from "../../../shared/address.ts";
import type { Release } from "../../../shared/stream-client/listeners.ts";
import type { Addresses } from "../host.ts";

export class BrowserAddresses implements Addresses {
  readonly first = location.search;
  readonly #path: string | null;

  /** `path` is where links lead instead of to the page's own, which no other tab can open. */
  constructor(path: string | null = null) {
    this.#path = path;
  }

  get current(): Address {
    return readAddress(location.search);
  }

  takeInvitation(): string | null {
    const invitation = readInvitation(location.search);
    if (invitation !== null) history.replaceState(null, "", this.href(this.current));
    return invitation;
  }

  set(address: Address, step: boolean): void {
    const to = location.pathname + addressQuery(address);
    if (to === location.pathname + location.search) return;
    if (step) history.pushState(null, "", to);
    else history.replaceState(null, "", to);
  }

  watch(listener: (address: Address) => void): Release {
    const heard = () => listener(this.current);
    addEventListener("popstate", heard);
    return () => removeEventListener("popstate", heard);
  }

  href(address: Address): string {
    return (this.#path ?? location.pathname) + addressQuery(address);
  }

  async link(address: Address): Promise<string> {
    return new URL(this.href(address), location.origin).href;
  }
}
