/**
 * `POST /hook`: what a runtime sends that posts its hooks by itself (Claude's `http` hook type), with the launch token as bearer. Whatever
 * becomes of the event, the answer is empty, so that nothing of it can alter the runtime (HOOK-009).
 */
import { Refusal } from "../../shared/errors.ts";
import type { Dispatcher } from "../operations/dispatcher.ts";
import type { Clock } from "../platform/clock.ts";
import { readJson } from "./body.ts";
import type { Exchange } from "./exchange.ts";
import type { LocalCallers } from "./local-caller.ts";

const BEARER = /^Bearer ([\x21-\x7e]{16,512})$/;

export interface HookServiceDependencies {
  dispatcher: Dispatcher;
  callers: LocalCallers;
  clock: Clock;
}

/** Throws `unauthenticated` or `invalid_launch_token`, and what reading the body throws. */
export async function serveHook(deps: HookServiceDependencies, exchange: Exchange): Promise<void> {
  const { request, response, id: requestId } = exchange;
  const token = BEARER.exec(request.headers.authorization ?? "")?.[1];
  if (token === undefined) throw new Refusal("unauthenticated");
  const caller = deps.callers.actor(token, null);
  if (caller instanceof Refusal) throw caller;
  const payload = await readJson(request, deps.clock);
  const call = {
    caller,
    requestId,
    get signal() {
      return exchange.signal;
    },
  };
  await deps.dispatcher.call("hook_submit", payload, call);
  response.writeHead(204, { "Cache-Control": "no-store" }).end();
}
