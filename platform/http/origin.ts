/**
 * The Origin check: no request that changes anything, and no WebSocket, may come from a page of
 * another origin.
 */
import type { IncomingMessage } from "node:http";
import { Refusal } from "../../shared/errors.ts";
import type { Site } from "./site.ts";

const SAFE_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD"]);

/**
 * - An `Origin` that is present must be the site's own.
 * - Without one, a browser's cookie counts only for plain GETs, because pages send `Origin` with
 *   everything else.
 * - A fetch that the browser itself calls cross-site is refused, except when it follows a link to a
 *   page.
 */
export function checkOrigin(request: IncomingMessage, site: Site): Refusal | null {
  const { origin, cookie, authorization } = request.headers;
  if (origin !== undefined) return origin === site.origin ? null : new Refusal("origin_denied");
  const plain = SAFE_METHODS.has(request.method ?? "") && request.headers.upgrade === undefined;
  if (!plain && cookie !== undefined && authorization === undefined) return new Refusal("origin_denied");
  const from = request.headers["sec-fetch-site"];
  if (from === undefined || from === "same-origin" || from === "none") return null;
  const follows = plain && request.headers["sec-fetch-mode"] === "navigate" && !isApi(request.url ?? "");
  return follows && request.headers["sec-fetch-dest"] === "document" ? null : new Refusal("origin_denied");
}

function isApi(url: string): boolean {
  return url.startsWith("/api/") || url.startsWith("/mcp");
}
