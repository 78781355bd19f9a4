/**
 * The names under which a listener may be addressed, and what follows from them: Host check, Origin
 * check, cookie names.
 */
import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";

/** The origin that the browser uses for a request. */
export interface Site {
  /** `scheme://host[:port]` in canonical form, as a browser writes it in `Origin`. */
  origin: string;
  secure: boolean;
  /** Effective port: the scheme's default if none is given. */
  port: number;
}

export interface ListenerNames {
  secure: boolean;
  /** As bound. */
  host: string;
  port: number;
  /** The enabled canonical manual origin of Remote Access, read on each request. */
  manualOrigin(): string | null;
}

const LOOPBACK_NAMES: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"]);

/**
 * The site that a request addresses, or null if its Host isn't this listener. Valid are loopback
 * names and the bound host with the bound port, the address that the connection came in on, and the
 * manual origin, which a TLS proxy serves.
 */
export function siteOf(request: IncomingMessage, names: ListenerNames): Site | null {
  // An absolute request target names its own host, which would override the header.
  if (request.url?.startsWith("/") !== true) return null;
  const host = request.headers.host?.toLowerCase();
  if (
    host === undefined ||
    request.rawHeaders.filter((name, i) => i % 2 === 0 && /^host$/i.test(name)).length !== 1
  ) {
    return null;
  }
  const manual = names.manualOrigin();
  if (manual !== null && manual === `https://${withoutDefaultPort(host, 443)}`) {
    return { origin: manual, secure: true, port: Number(new URL(manual).port || 443) };
  }
  const defaultPort = names.secure ? 443 : 80;
  const match = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::([1-9][0-9]{0,4}))?$/.exec(host);
  if (match === null) return null;
  const name = match[1]!;
  const port = Number(match[2] ?? defaultPort);
  if (port !== names.port) return null;
  const bound = bracketed(names.host);
  const local = bracketed(request.socket.localAddress ?? "");
  if (!LOOPBACK_NAMES.has(name) && name !== bound && name !== local) return null;
  const scheme = names.secure ? "https" : "http";
  return {
    origin: `${scheme}://${withoutDefaultPort(host, defaultPort)}`,
    secure: names.secure,
    port,
  };
}

/** Whether a site may hold a cookie session: HTTPS, or HTTP on loopback. */
export function keepsSessions(site: Site): boolean {
  return site.secure || LOOPBACK_NAMES.has(new URL(site.origin).hostname);
}

/**
 * The canonical HTTPS origin of a text, or null. It has no path, no credentials, no loopback host,
 * and no default port.
 */
export function canonicalHttpsOrigin(text: string): string | null {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return null;
  }
  if (url.protocol !== "https:" || url.username !== "" || url.password !== "") return null;
  if (url.pathname !== "/" || url.search !== "" || url.hash !== "") return null;
  const loopback =
    LOOPBACK_NAMES.has(url.hostname) || url.hostname.startsWith("127.") || isLocalName(url.hostname);
  return loopback || url.hostname === "" ? null : url.origin;
}

/**
 * The canonical origin of this machine itself, plain HTTP on loopback or HTTPS on a name below
 * localhost; null for anything else.
 */
export function canonicalLoopbackOrigin(text: string): string | null {
  if (!URL.canParse(text)) return null;
  const { protocol, hostname, origin } = new URL(text);
  const isLoopback = LOOPBACK_NAMES.has(hostname) || /^127(?:\.\d{1,3}){3}$/.test(hostname);
  const isHere = protocol === "http:" ? isLoopback : protocol === "https:" && isLocalName(hostname);
  return isHere && origin === text ? text : null;
}

/** A name below localhost, which is this machine wherever it is asked for (RFC 6761). */
export function isLocalName(hostname: string): boolean {
  return hostname.endsWith(".localhost");
}

/** Whether an origin means another machine, or none, to everyone who isn't on this one. */
export function isOfThisMachine(origin: string): boolean {
  return origin.startsWith("http:") || isLocalName(new URL(origin).hostname);
}

function withoutDefaultPort(host: string, port: number): string {
  return host.endsWith(`:${port}`) ? host.slice(0, -`:${port}`.length) : host;
}

function bracketed(address: string): string {
  const plain =
    address.startsWith("::ffff:") && isIP(address.slice(7)) === 4 ? address.slice(7) : address.toLowerCase();
  return isIP(plain) === 6 ? `[${plain}]` : plain;
}
