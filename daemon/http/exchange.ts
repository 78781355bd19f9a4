/** What the middleware has found out about a request by the time a route serves it. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { Refusal } from "../../shared/errors.ts";
import type { Caller } from "../../shared/operations/caller.ts";
import type { Site } from "./site.ts";

export interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
  /** Request id. */
  id: string;
  /** Null over the local socket. */
  site: Site | null;
  /** Null while nobody has authenticated. */
  caller: Caller | null;
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
 * The person or exhibit that calls. An Actor knows only what it sent or was sent (core-model.md, "Inbox and obligations"), so whatever
 * carries everything of a Group isn't for it. Throws `unauthenticated` or `permission_denied`.
 */
export function readerOfExchange(exchange: Exchange): Caller {
  const caller = callerOfExchange(exchange);
  if (caller.kind === "actor") throw notForActors();
  return caller;
}

export function notForActors(): Refusal {
  const specifics = "An Actor reads its Inbox and its own history.";
  return new Refusal("permission_denied", { specifics });
}

/** The caller; throws `unauthenticated` without one. */
export function callerOfExchange(exchange: Exchange): Caller {
  if (exchange.caller === null) throw new Refusal("unauthenticated");
  return exchange.caller;
}
