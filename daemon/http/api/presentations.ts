/** The content of the slots, for a browser: whatever it is, it reaches nothing else. */
import { queryFields, queryOf, wrongField } from "../../../platform/http/query.ts";
import { addressQuery, NOWHERE } from "../../../shared/address.ts";
import { Refusal } from "../../../shared/errors.ts";
import { LIMITS } from "../../../shared/limits.ts";
import { EventId } from "../../../shared/model.ts";
import type { ShownContent } from "../../messaging/presentations/presentations.ts";
import type { Exchange } from "../exchange/exchange.ts";
import { plainPage } from "../exchange/plain-page.ts";
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

/** The ways in which the Workbench shows content, as browsers name them (`Sec-Fetch-Dest`). */
const SHOWN_AS = {
  html: ["iframe"],
  pdf: ["iframe"],
  image: ["image", "document"],
  drawing: ["image"],
  text: [],
} as const satisfies Record<string, readonly string[]>;
/** Places in which a person sees an answer. */
const SEEN = new Set(["document", "iframe", "frame", "fencedframe", "embed", "object"]);

function formOf({ kind, mime_type: mimeType }: Pick<ShownContent, "kind" | "mime_type">) {
  if (kind === "image") return mimeType === "image/svg+xml" ? "drawing" : "image";
  return kind === "html" || kind === "pdf" ? kind : "text";
}

type Use = "shown" | "still" | "data" | "elsewhere";

/**
 * What the request is for: `shown` where the Workbench shows this form, `data` for what its script
 * reads, `elsewhere` for anything else, such as an address that was opened. `still`: browsers don't
 * say over plain HTTP, so nothing in it may move. Only the Workbench itself may frame it.
 */
function useOf({ site, request: { headers } }: Exchange, form: keyof typeof SHOWN_AS): Use {
  const destination = headers["sec-fetch-dest"];
  if (site === null || destination === "empty") return "data";
  if (destination === undefined) return form === "pdf" || form === "text" ? "data" : "still";
  const isShown = (SHOWN_AS[form] as readonly unknown[]).includes(destination);
  const isOwn = destination !== "iframe" || headers["sec-fetch-site"] === "same-origin";
  return isShown && isOwn ? "shown" : "elsewhere";
}

function policyOf(form: keyof typeof SHOWN_AS, use: Use): string {
  if (form === "html" && use !== "still") return HTML_POLICY;
  return form === "pdf" && use === "shown" ? PDF_POLICY : STILL_POLICY;
}

/** A page of svc where someone would see the content outside of its frame. */
function refuseElsewhere({ request, response }: Exchange, address: string): void {
  if (!SEEN.has(String(request.headers["sec-fetch-dest"])))
    throw new Refusal("permission_denied", {
      specifics: "The content of a presentation is only shown in the Workbench.",
    });
  response.statusCode = 403;
  response.setHeader("Content-Type", "text/html; charset=utf-8");
  response.setHeader("Cache-Control", "no-store");
  response.setHeader(
    "Content-Security-Policy",
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  );
  const sentence = "Someone else wrote it, so it has no page of its own at this address.";
  response.end(
    plainPage("This is shown in the Workbench", sentence, { href: address, text: "Open it there" }),
  );
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
  const content = source.openPresentation(groupId, slot, event);
  const { mime_type: mimeType, sha256, reading } = content;
  const form = formOf(content);
  const use = useOf(exchange, form);
  response.setHeader("Vary", "Sec-Fetch-Dest, Sec-Fetch-Site");
  if (use === "elsewhere") {
    refuseElsewhere(exchange, `/${addressQuery({ ...NOWHERE, groupId, slot, versionId: event })}`);
    return;
  }
  await reading.ready();
  response.setHeader("Cache-Control", "private, no-store");
  response.setHeader("Content-Type", mimeType.startsWith("text/") ? `${mimeType}; charset=utf-8` : mimeType);
  response.setHeader("Content-Disposition", use === "data" ? "attachment" : "inline");
  response.setHeader("Content-Security-Policy", policyOf(form, use));
  response.setHeader("X-Content-Type-Options", "nosniff");
  // A Workbench that another instance frames shows it too. Without the session, nobody gets it.
  response.removeHeader("X-Frame-Options");
  response.setHeader("Cross-Origin-Resource-Policy", "same-origin");
  response.setHeader("ETag", `"${sha256}"`);
  response.setHeader("Content-Length", reading.bytes);
  await sendWhole(exchange, reading);
}
