/** Addresses of Direct: where to bind, where to connect, what to suggest. */

import type { NetworkInterface } from "../../../platform/network.ts";
import { DIRECT } from "../../../shared/names.ts";
import type { BindAddress } from "./link.ts";

/** Host and port of a checked `IP:PORT` or `HOST:PORT`, without the brackets of an IPv6 address. */
export function bindAddress(text: string): BindAddress {
  const colon = text.lastIndexOf(":");
  return { host: text.slice(0, colon).replace(/^\[(.*)\]$/u, "$1"), port: Number(text.slice(colon + 1)) };
}

/**
 * What a person may choose for the listener, with the usual port: this machine's addresses, with
 * those that others can reach first. Link-local ones are left out because they must name the other
 * machine's interface.
 */
export function suggestAddresses(
  interfaces: readonly NetworkInterface[],
): { interface: string; bind: string; address: string }[] {
  return interfaces
    .filter(({ address }) => !/^fe[89ab]|^169\.254\./iu.test(address))
    .sort((one, other) => rank(one) - rank(other))
    .map(({ name, address }) => {
      const at = `${address.includes(":") ? `[${address}]` : address}:${DIRECT.defaultPort}`;
      return { interface: name, bind: at, address: at };
    });
}

function rank({ address, internal }: NetworkInterface): number {
  return (internal ? 2 : 0) + (address.includes(":") ? 1 : 0);
}
