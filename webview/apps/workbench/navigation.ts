/** Keeps the address equal to what the person sees, and shows what an address names. */
import { type Address, NOWHERE } from "../../../shared/address.ts";
import type { Release } from "../../../shared/stream-client/listeners.ts";
import type { Addresses } from "../../hosts/host.ts";

export class Navigation {
  readonly #addresses: Addresses;
  readonly #show: (address: Address, left: Address | null) => void;
  readonly #release: Release;
  address: Address;

  /** `show` also gets the address that was left by Back or Forward; else null. */
  constructor(addresses: Addresses, show: (address: Address, left: Address | null) => void) {
    this.#addresses = addresses;
    this.#show = show;
    this.address = addresses.current;
    this.#release = addresses.watch((address) => {
      const left = this.address;
      this.address = address;
      show(address, left);
    });
  }

  /** The person goes there. Back leads to where they were. */
  go(to: Partial<Address>): void {
    this.#set(to, true);
    this.#show(this.address, null);
  }

  /** What is shown has another address now, without a step of the person. */
  settle(to: Partial<Address>): void {
    this.#set(to, false);
  }

  close(): void {
    this.#release();
  }

  #set(to: Partial<Address>, step: boolean): void {
    this.address = { ...NOWHERE, ...to };
    this.#addresses.set(this.address, step);
  }
}
