/**
 * The Workbench inside a page of another instance (docs/protocol.md#workbench-frames): its
 * document, which alone may be framed and by one origin only, and what keeps the frame alive.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../../platform/clock.ts";
import { answer } from "../../../platform/http/answer.ts";
import { checkLength, readBytes, readJson } from "../../../platform/http/body.ts";
import { queryFields, queryOf } from "../../../platform/http/query.ts";
import { Refusal } from "../../../shared/errors.ts";
import type { FramePage } from "../../../shared/frame-protocol.ts";
import { LIMITS } from "../../../shared/limits.ts";
import { API_PREFIX, FRAME_META, FRAME_PATH } from "../../../shared/names.ts";
import { parseStrictJsonBytes } from "../../../shared/strict-json.ts";
import { fromBase64Url } from "../../../shared/wire/v1/base64.ts";
import type { ConnectFrameProof } from "../../../shared/wire/v1/proofs.ts";
import type { Frames } from "../../peers/https/frames.ts";
import { callerOfExchange, type Exchange } from "../exchange/exchange.ts";
import { isPageWanted, plainPage } from "../exchange/plain-page.ts";
import type { Route } from "../exchange/routes.ts";

export interface FrameRouteDependencies {
  clock: Clock;
  frames: Frames;
  /** Directory of the built Workbench. */
  workbench: string;
}

const PATH = `${API_PREFIX}/connect/frame`;
/** `proof=` and the proof as base64url, with what a form may add. */
const FORM_BYTES = LIMITS.connect.proofBytes + 64;
const FORM_TYPE = /^application\/x-www-form-urlencoded(?:\s*;|$)/i;

export function frameRoutes(deps: FrameRouteDependencies): Route[] {
  const page = (proofIn: (exchange: Exchange) => string | Promise<string>): Route["serve"] => {
    return async (exchange) => {
      try {
        await servePage(deps, exchange, proofIn);
      } catch (error) {
        if (!(error instanceof Refusal) || !isPageWanted(exchange.request)) throw error;
        const { response } = exchange;
        response.statusCode = error.status;
        response.setHeader("Content-Type", "text/html; charset=utf-8");
        response.setHeader("Cache-Control", "no-store");
        response.end(plainPage("This view can’t be opened", error.message, null));
      }
    };
  };
  return [
    { method: "POST", path: FRAME_PATH, open: true, serve: page((exchange) => formProof(deps, exchange)) },
    { method: "GET", path: FRAME_PATH, open: true, serve: page(queryProof) },
    { method: "POST", path: PATH, open: true, serve: (exchange) => renew(deps, exchange) },
    { method: "GET", path: PATH, serve: (exchange) => show(deps, exchange) },
  ];
}

/** A form in the parent's page, so that no address holds the proof. */
async function formProof({ clock }: FrameRouteDependencies, { request }: Exchange): Promise<string> {
  if (!FORM_TYPE.test(request.headers["content-type"] ?? "")) throw new Refusal("unsupported_media_type");
  const refusal = checkLength(request, FORM_BYTES);
  if (refusal !== null) throw refusal;
  return proofOf((await readBytes(request, clock, FORM_BYTES)).toString("latin1"));
}

function queryProof({ request }: Exchange): string {
  if (request.method !== "GET") throw new Refusal("method_not_allowed", { details: { allow: ["GET"] } });
  return proofOf(queryOf(request));
}

function proofOf(fields: string): string {
  return queryFields(fields, ["proof"]).get("proof") ?? "";
}

async function servePage(
  { frames, workbench }: FrameRouteDependencies,
  exchange: Exchange,
  proofIn: (exchange: Exchange) => string | Promise<string>,
): Promise<void> {
  const { request, response, site } = exchange;
  const destination = request.headers["sec-fetch-dest"];
  // Elsewhere it would be of no use, and the proof would be gone.
  if (destination !== undefined && destination !== "iframe") throw new Refusal("connect_frame_invalid");
  const html = await readFile(join(workbench, "index.html"), "utf8").catch(() => {
    throw new Refusal("program_gone");
  });
  const text = await proofIn(exchange);
  const proof = await frames.open(decoded(text), new URL(site!.origin).hostname);
  allowParent(exchange, proof.parent_origin);
  response.setHeader("Content-Type", "text/html; charset=utf-8");
  response.setHeader("Cache-Control", "no-store");
  response.end(html.replace("<head>", () => `<head>\n    ${meta(proof)}`));
}

/** Undefined for anything but JSON; the schema refuses that. */
function decoded(text: string): unknown {
  const bytes = text.length > LIMITS.connect.proofBytes ? null : fromBase64Url(text);
  try {
    return bytes === null ? undefined : parseStrictJsonBytes(bytes);
  } catch {
    return undefined;
  }
}

/** This document may be framed by this origin, which X-Frame-Options has no words for. */
function allowParent({ response }: Exchange, origin: string): void {
  const policy = String(response.getHeader("Content-Security-Policy"));
  response.setHeader(
    "Content-Security-Policy",
    policy.replace("frame-ancestors 'none'", () => `frame-ancestors ${origin}`),
  );
  response.removeHeader("X-Frame-Options");
}

function meta(proof: ConnectFrameProof): string {
  const page: FramePage = {
    frame_id: proof.frame_id,
    parent_origin: proof.parent_origin,
    instance_id: proof.target_instance_id,
    device_id: proof.target_device_id,
  };
  const escaped = JSON.stringify(page).replaceAll(/[&"<>]/g, (found) => `&#${found.charCodeAt(0)};`);
  return `<meta name="${FRAME_META}" content="${escaped}" />`;
}

async function renew({ clock, frames }: FrameRouteDependencies, exchange: Exchange): Promise<void> {
  const proof = frames.renew(await readJson(exchange.request, clock, LIMITS.connect.proofBytes));
  answer(exchange.response, { ok: true, result: { frame_id: proof.frame_id } }, exchange.id);
}

function show({ frames }: FrameRouteDependencies, exchange: Exchange): void {
  if (callerOfExchange(exchange).kind !== "user") throw new Refusal("permission_denied");
  const frameId = queryFields(queryOf(exchange.request), ["frame_id"]).get("frame_id") ?? "";
  const proof = frames.find(frameId);
  if (proof === null) throw new Refusal("connect_frame_expired");
  const frame = { frame_id: proof.frame_id, expires_at: proof.expires_at };
  answer(exchange.response, { ok: true, result: { frame } }, exchange.id);
}
