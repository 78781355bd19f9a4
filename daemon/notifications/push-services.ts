/** The push services of browsers, and which endpoints are theirs. */

/** Hosts; `*.` stands for any name below. */
export const KNOWN_PUSH_SERVICES: readonly string[] = [
  // Chrome, Edge on Android, Brave, Opera, Samsung Internet
  "fcm.googleapis.com",
  // Firefox
  "updates.push.services.mozilla.com",
  "*.push.services.mozilla.com",
  // Safari
  "*.push.apple.com",
  // Edge on Windows
  "*.notify.windows.com",
];

/**
 * The endpoint's address if it is a plain HTTPS one of these services, else null. A host may be
 * given with a port; without one, the endpoint has none either.
 */
export function pushEndpoint(text: string, services: readonly string[]): URL | null {
  if (!URL.canParse(text)) return null;
  const url = new URL(text);
  if (url.protocol !== "https:" || url.username !== "" || url.password !== "" || url.hash !== "") return null;
  const isKnown = services.some((service) =>
    service.startsWith("*.") ? url.host.endsWith(service.slice(1)) : url.host === service,
  );
  return isKnown ? url : null;
}
