/** The HTTP routes of operations, generated from the registry (docs/architecture.md#rules). */

import type { Clock } from "../../../platform/clock.ts";
import { answer } from "../../../platform/http/answer.ts";
import { fieldKinds, queryArguments, queryOf } from "../../../platform/http/query.ts";
import { Refusal } from "../../../shared/errors.ts";
import { API_PREFIX } from "../../../shared/names.ts";
import type { OperationContract } from "../../../shared/operations/contract.ts";
import { OPERATIONS } from "../../../shared/operations/registry.ts";
import type { Dispatcher } from "../../operations/dispatcher.ts";
import { callerOfExchange, readInput } from "./exchange.ts";
import type { Route } from "./routes.ts";

export function operationRoutes(dispatcher: Dispatcher, clock: Clock): Route[] {
  const routes: Route[] = [];
  for (const contract of OPERATIONS.values()) {
    if (contract.http !== undefined) routes.push(operationRoute(contract, dispatcher, clock));
  }
  return routes;
}

function operationRoute(contract: OperationContract, dispatcher: Dispatcher, clock: Clock): Route {
  const { method, path, ignores = [] } = contract.http!;
  const kinds = fieldKinds(contract.input);
  const takesQuery = method === "GET" || method === "DELETE";
  return {
    method,
    path: API_PREFIX + path,
    operation: contract.name,
    async serve(exchange) {
      const caller = callerOfExchange(exchange);
      const query = queryOf(exchange.request);
      let input: Record<string, unknown>;
      if (takesQuery) {
        input = queryArguments(query, kinds);
        for (const name of ignores) delete input[name];
      } else {
        if (query !== "")
          throw new Refusal("invalid_request", { specifics: "This address accepts no query." });
        input = objectOf(await readInput(exchange, clock));
      }
      for (const [name, value] of Object.entries(exchange.params)) {
        if (name in input) throw inPath(name);
        input[name] = value;
      }
      const { id: requestId } = exchange;
      const call = {
        caller,
        requestId,
        get signal() {
          return exchange.signal;
        },
      };
      answer(exchange.response, await dispatcher.call(contract.name, input, call), requestId);
    },
  };
}

/** A shallow copy, so that the path's values can join. */
export function objectOf(body: unknown): Record<string, unknown> {
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    throw new Refusal("invalid_request", { specifics: "The body isn't a JSON object." });
  }
  return { ...body };
}

function inPath(name: string): Refusal {
  const specifics = `'${name}' is already in the path.`;
  return new Refusal("invalid_args", { specifics, details: { field: name } });
}
