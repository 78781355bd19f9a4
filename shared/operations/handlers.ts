/**
 * How a service answers operations: a table from name to handler, checked against the contracts.
 */
import type { CallContext } from "./caller.ts";
import type { OperationContract } from "./contract.ts";
import type { InputOf, OperationName, ResultOf } from "./registry.ts";

export type Handler<Name extends OperationName> = (
  input: InputOf<Name>,
  context: CallContext,
) => Promise<ResultOf<Name>> | ResultOf<Name>;

/** The handlers of some operations. `HandlersOf<OperationName>` is all of them. */
export type HandlersOf<Names extends OperationName> = { readonly [Name in Names]: Handler<Name> };

/** The handlers of a table of contracts: `HandlersFor<typeof actorOperations>`. */
export type HandlersFor<Contracts extends readonly OperationContract[]> = HandlersOf<
  Extract<Contracts[number]["name"], OperationName>
>;
