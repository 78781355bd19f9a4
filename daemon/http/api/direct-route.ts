/** `POST /api/v1/connect/direct`: one address for every change of Direct connections, by `action` (docs/protocol.md#direct). */

import type { Clock } from "../../../platform/clock.ts";
import { answer } from "../../../platform/http/answer.ts";
import { queryOf } from "../../../platform/http/query.ts";
import { fieldSentence, Refusal } from "../../../shared/errors.ts";
import { API_PREFIX } from "../../../shared/names.ts";
import type { OperationName } from "../../../shared/operations/registry.ts";
import type { Dispatcher } from "../../operations/dispatcher.ts";
import { callerOfExchange, readInput } from "./exchange.ts";
import { objectOf } from "./operation-routes.ts";
import type { Route } from "./routes.ts";

const ACTIONS: ReadonlyMap<unknown, OperationName> = new Map([
  ["configure", "connect_direct_configure"],
  ["invite", "connect_direct_invite"],
  ["join", "connect_direct_join"],
  ["approve", "connect_direct_approve"],
  ["revoke", "connect_direct_revoke"],
  ["remove", "connect_direct_remove"],
]);

export function directRoute(dispatcher: Dispatcher, clock: Clock): Route {
  return {
    method: "POST",
    path: `${API_PREFIX}/connect/direct`,
    async serve(exchange) {
      const caller = callerOfExchange(exchange);
      if (queryOf(exchange.request) !== "") {
        throw new Refusal("invalid_request", { specifics: "This address accepts no query." });
      }
      const { action, ...input } = objectOf(await readInput(exchange, clock));
      const operation = ACTIONS.get(action);
      if (operation === undefined) {
        const problem = `must be one of ${[...ACTIONS.keys()].join(", ")}`;
        const specifics = fieldSentence("action", problem);
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
