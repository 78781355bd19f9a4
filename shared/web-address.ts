/** Addresses on the Web that a person may be led to. */

/** http or https, with a host, and without a user name or password that could pose as one. */
export function isWebAddress(written: string): boolean {
  const url = URL.canParse(written) ? new URL(written) : null;
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:")) return false;
  return url.username === "" && url.password === "";
}
