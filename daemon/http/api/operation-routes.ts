/** The HTTP routes of operations, from their table (docs/architecture.md#rules). */

import type { Clock } from "../../../platform/clock.ts";
import { answer } from "../../../platform/http/answer.ts";
import { fieldKinds, queryArguments, queryOf } from "../../../platform/http/query.ts";
import { fieldSentence, Refusal } from "../../../shared/errors.ts";
import { API_PREFIX } from "../../../shared/names.ts";
import { HTTP_ROUTES, type HttpMethod, type HttpRoute } from "../../../shared/operations/http-routes.ts";
import { OPERATIONS } from "../../../shared/operations/registry.ts";
import type { Dispatcher } from "../../operations/dispatcher.ts";
import { callerOfExchange, type Exchange, readInput } from "../exchange/exchange.ts";
import type { Route } from "../exchange/routes.ts";

export function operationRoutes(dispatcher: Dispatcher, clock: Clock): Route[] {
  const routes: Route[] = [];
  const shared = new Map<string, Map<unknown, string>>();
  for (const [name, route] of HTTP_ROUTES) {
    const { method, path, action } = route;
    if (action === undefined) routes.push(operationRoute(name, route, dispatcher, clock));
    else {
      let operations = shared.get(path);
      if (operations === undefined) {
        operations = new Map();
        shared.set(path, operations);
        routes.push(actionRoute(method, path, operations, dispatcher, clock));
      }
      operations.set(action, name);
    }
  }
  return routes;
}

function operationRoute(name: string, route: HttpRoute, dispatcher: Dispatcher, clock: Clock): Route {
  const { method, path, ignores = [] } = route;
  const { input: schema, callers } = OPERATIONS.get(name)!;
  const kinds = fieldKinds(schema);
  const takesQuery = method === "GET" || method === "DELETE";
  return {
    method,
    path: API_PREFIX + path,
    exhibited: callers.includes("exhibit"),
    async serve(exchange) {
      const caller = callerOfExchange(exchange);
      let input: Record<string, unknown>;
      if (takesQuery) {
        input = queryArguments(queryOf(exchange.request), kinds);
        for (const field of ignores) delete input[field];
      } else input = await bodyOf(exchange, clock);
      for (const [field, value] of Object.entries(exchange.params)) {
        if (field in input) throw inPath(field);
        input[field] = value;
      }
      const { id: requestId } = exchange;
      const call = {
        caller,
        requestId,
        get signal() {
          return exchange.signal;
        },
      };
      answer(exchange.response, await dispatcher.call(name, input, call), requestId);
    },
  };
}

/** One address of several operations: the member `action` of the body says which. */
function actionRoute(
  method: HttpMethod,
  path: string,
  operations: ReadonlyMap<unknown, string>,
  dispatcher: Dispatcher,
  clock: Clock,
): Route {
  return {
    method,
    path: API_PREFIX + path,
    async serve(exchange) {
      const caller = callerOfExchange(exchange);
      const { action, ...input } = await bodyOf(exchange, clock);
      const operation = operations.get(action);
      if (operation === undefined) {
        const specifics = fieldSentence("action", `must be one of ${[...operations.keys()].join(", ")}`);
        throw new Refusal("invalid_args", { specifics, details: { field: "action" } });
      }
      const { id: requestId, signal } = exchange;
      answer(
        exchange.response,
        await dispatcher.call(operation, input, { caller, requestId, signal }),
        requestId,
      );
    },
  };
}

/** A shallow copy, so that the path's values can join. */
async function bodyOf(exchange: Exchange, clock: Clock): Promise<Record<string, unknown>> {
  if (queryOf(exchange.request) !== "") {
    throw new Refusal("invalid_request", { specifics: "This address accepts no query." });
  }
  const body = await readInput(exchange, clock);
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    throw new Refusal("invalid_request", { specifics: "The body isn't a JSON object." });
  }
  return { ...body };
}

function inPath(name: string): Refusal {
  const specifics = `'${name}' is already in the path.`;
  return new Refusal("invalid_args", { specifics, details: { field: name } });
}
