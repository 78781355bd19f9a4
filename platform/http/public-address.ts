/** Which addresses belong to the public Internet, and a name lookup that gives no others. */
import { lookup } from "node:dns";
import { BlockList, isIPv4, isIPv6, type LookupFunction } from "node:net";

/** Code of the error of a name that leads to another address. */
export const NOT_PUBLIC = "ADDRESS_NOT_PUBLIC";

const PRIVATE = new BlockList();
for (const [network, prefix] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 3],
] as const)
  PRIVATE.addSubnet(network, prefix, "ipv4");
// Teredo and 6to4 carry an IPv4 address; the others are for documentation and benchmarks.
for (const [network, prefix] of [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
] as const)
  PRIVATE.addSubnet(network, prefix, "ipv6");
const GLOBAL = new BlockList();
GLOBAL.addSubnet("2000::", 3, "ipv6");
const NAT64 = new BlockList();
NAT64.addSubnet("64:ff9b::", 96, "ipv6");

/** Whether an IP address is a public one (RFC 6890). False for anything that isn't an address. */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !PRIVATE.check(address, "ipv4");
  if (!isIPv6(address)) return false;
  if (NAT64.check(address, "ipv6")) return isPublicAddress(lastFour(address));
  return GLOBAL.check(address, "ipv6") && !PRIVATE.check(address, "ipv6");
}

/** The IPv4 address in one of 64:ff9b::/96 (RFC 6052). */
function lastFour(address: string): string {
  const canonical = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [low, high] = canonical.slice("64:ff9b::".length).split(":").reverse();
  const value = (Number.parseInt(high || "0", 16) * 0x1_0000 + Number.parseInt(low || "0", 16)) >>> 0;
  return [24, 16, 8, 0].map((shift) => (value >>> shift) & 255).join(".");
}

/** As `dns.lookup`, but an error if any of the name's addresses isn't public. */
export const publicLookup: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error !== null) return callback(error, "");
    const first = addresses[0];
    if (first === undefined || !addresses.every(({ address }) => isPublicAddress(address))) {
      const refused = Object.assign(new Error("The name leads to a private address."), { code: NOT_PUBLIC });
      return callback(refused, "");
    }
    if (options.all === true) callback(null, addresses);
    else callback(null, first.address, first.family);
  });
};
