/** What the middleware knows about a request when a route serves it. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock } from "../../../platform/clock.ts";
import { readJson } from "../../../platform/http/body.ts";
import type { Site } from "../../../platform/http/site.ts";
import { Refusal } from "../../../shared/errors.ts";
import type { Caller } from "../../../shared/operations/caller.ts";

export interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
  /** Request id. */
  id: string;
  /** Null over the local socket. */
  site: Site | null;
  /** Null until the caller is authenticated. */
  caller: Caller | null;
  /** Why the caller's credential is no longer valid; null if it is. */
  lapsed: () => Refusal | null;
  sessionSecret: string | null;
  /** Ends when the client goes away. */
  readonly signal: AbortSignal;
  /** Values of the path's variables. */
  params: Readonly<Record<string, string>>;
}

export function newExchange(request: IncomingMessage, response: ServerResponse, id: string): Exchange {
  let controller: AbortController | undefined;
  return {
    request,
    response,
    id,
    site: null,
    caller: null,
    lapsed: () => null,
    sessionSecret: null,
    params: {},
    get signal() {
      if (controller === undefined) {
        const made = new AbortController();
        controller = made;
        if (response.destroyed) made.abort();
        else response.once("close", () => made.abort());
      }
      return controller.signal;
    },
  };
}

/**
 * The calling person or exhibit. An Actor knows only what it sent or received
 * (docs/core-model.md#inbox-and-obligations), so anything that carries everything of a Group isn't
 * for it. Throws `unauthenticated` or `permission_denied`.
 */
export function readerOfExchange(exchange: Exchange): Caller {
  const caller = callerOfExchange(exchange);
  if (caller.kind === "actor") throw notForActors();
  return caller;
}

export function notForActors(): Refusal {
  const specifics = "An Actor reads messages from its Inbox and its own history.";
  return new Refusal("permission_denied", { specifics });
}

/**
 * Called after every wait for a client, because the credential may have ended by then. Throws
 * `unauthenticated` or `invalid_launch_token`.
 */
export function checkStillCaller(exchange: Exchange): void {
  const refusal = exchange.lapsed();
  if (refusal !== null) throw refusal;
}

/**
 * The JSON body of a caller who may still call once it has arrived. Throws as `readJson` and
 * `checkStillCaller`.
 */
export async function readInput(exchange: Exchange, clock: Clock): Promise<unknown> {
  const body = await readJson(exchange.request, clock);
  checkStillCaller(exchange);
  return body;
}

/** The caller; throws `unauthenticated` without one. */
export function callerOfExchange(exchange: Exchange): Caller {
  if (exchange.caller === null) throw new Refusal("unauthenticated");
  return exchange.caller;
}
