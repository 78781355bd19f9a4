/**
 * What other instances ask over HTTPS: who this is, and their requests. And what a page here asks
 * of another instance: to be shown in a frame.
 */

import type { Clock } from "../../../platform/clock.ts";
import { answer } from "../../../platform/http/answer.ts";
import { queryFields, queryOf } from "../../../platform/http/query.ts";
import { Refusal } from "../../../shared/errors.ts";
import type { Account } from "../../peers/account/account.ts";
import type { PeerEndpoint } from "../../peers/https/peer-endpoint.ts";
import { callerOfExchange, checkStillCaller, type Exchange, readInput } from "../exchange/exchange.ts";

export type PeerPort = Pick<PeerEndpoint, "identity" | "receive" | "groupCheck">;
export type FramingPort = Pick<Account["opening"], "open" | "origins">;

/** Answers the bare proof (docs/protocol.md#peer-operations). */
export function serveIdentity(endpoint: Pick<PeerPort, "identity">, { request, response }: Exchange): void {
  const nonce = queryFields(queryOf(request), ["nonce"]).get("nonce");
  answerBare(endpoint.identity(nonce), request, response);
}

/** The same for a selected Group. */
export async function serveGroupCheck(
  endpoint: Pick<PeerPort, "groupCheck">,
  { request, response }: Exchange,
): Promise<void> {
  answerBare(await endpoint.groupCheck(request), request, response);
}

function answerBare(proof: object, request: Exchange["request"], response: Exchange["response"]): void {
  const body = Buffer.from(JSON.stringify(proof));
  response.setHeader("Content-Type", "application/json; charset=utf-8");
  response.setHeader("Cache-Control", "no-store");
  response.setHeader("Content-Length", body.length);
  response.end(request.method === "HEAD" ? undefined : body);
}

export async function servePeer(endpoint: Pick<PeerPort, "receive">, exchange: Exchange): Promise<void> {
  const response = await endpoint.receive(exchange.request);
  answer(exchange.response, { ok: true, result: { response } }, exchange.id);
}

/** Lets an administrator's page frame another instance. */
export async function serveFrameOpening(
  frames: Pick<FramingPort, "open">,
  clock: Clock,
  exchange: Exchange,
): Promise<void> {
  if (callerOfExchange(exchange).kind !== "user") throw new Refusal("permission_denied");
  const { site, signal } = exchange;
  if (site === null) {
    throw new Refusal("invalid_request", { specifics: "Only a page of the Web listener can have a frame." });
  }
  const body = await readInput(exchange, clock);
  const page = { origin: site.origin, check: () => checkStillCaller(exchange), signal };
  answer(exchange.response, { ok: true, result: await frames.open(body, page) }, exchange.id);
}
