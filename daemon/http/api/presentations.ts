/** The content of the slots, for a browser: whatever it is, it reaches nothing else. */
import { queryFields, queryOf, wrongField } from "../../../platform/http/query.ts";
import { Refusal } from "../../../shared/errors.ts";
import { LIMITS } from "../../../shared/limits.ts";
import { EventId } from "../../../shared/model.ts";
import type { PresentationKind } from "../../../shared/presentation-kind.ts";
import type { ShownContent } from "../../messaging/presentations/presentations.ts";
import type { Exchange } from "./exchange.ts";
import { groupOf, sendWhole } from "./files.ts";

/** What this needs of messaging. */
export interface PresentationSource {
  openPresentation(groupId: string, slot: number, eventId: string | null): ShownContent;
}

/**
 * A page may run its own scripts and show what it has inside itself. In a frame without
 * `allow-same-origin` its origin is opaque: it reaches neither network, storage nor its parent.
 */
const HTML_POLICY =
  "sandbox allow-scripts; default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:; font-src data:";
/** The browser's own viewer is a plug-in, which a sandbox doesn't have. */
const PDF_POLICY = "default-src 'none'; object-src 'self'; style-src 'unsafe-inline'";
/** The styles are those in an SVG. */
const STILL_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'";

function policyOf(kind: PresentationKind): string {
  if (kind === "html") return HTML_POLICY;
  return kind === "pdf" ? PDF_POLICY : STILL_POLICY;
}

/**
 * `GET G/presentations/{slot}/content?event=`: what the slot shows, or the version of that event.
 * On the Web listener only for a signed-in browser: nobody needs to put a token in an address.
 */
export async function servePresentation(source: PresentationSource, exchange: Exchange): Promise<void> {
  const groupId = groupOf(exchange);
  const { request, response, site, sessionSecret } = exchange;
  if (site !== null && sessionSecret === null) {
    throw new Refusal("permission_denied", {
      specifics: "Only a signed-in browser gets the content of a presentation.",
    });
  }
  const slot = Number(exchange.params["slot"]);
  if (!/^\d$/.test(exchange.params["slot"] ?? "") || slot < 1 || slot > LIMITS.presentation.slots)
    throw wrongField("slot", `isn't a number from 1 to ${LIMITS.presentation.slots}`);
  const event = queryFields(queryOf(request), ["event"]).get("event") ?? null;
  if (event !== null && !EventId.safeParse(event).success)
    throw wrongField("event", "isn't an event id (32 hex digits)");
  const { kind, mime_type: mimeType, sha256, reading } = source.openPresentation(groupId, slot, event);
  response.setHeader("Cache-Control", "private, no-store");
  response.setHeader("Content-Type", mimeType.startsWith("text/") ? `${mimeType}; charset=utf-8` : mimeType);
  response.setHeader("Content-Disposition", "inline");
  response.setHeader("Content-Security-Policy", policyOf(kind));
  response.setHeader("X-Content-Type-Options", "nosniff");
  // A Workbench that another instance frames shows it too. Without the session, nobody gets it.
  response.removeHeader("X-Frame-Options");
  response.setHeader("Cross-Origin-Resource-Policy", "same-origin");
  response.setHeader("ETag", `"${sha256}"`);
  response.setHeader("Content-Length", reading.bytes);
  await sendWhole(exchange, reading);
}
