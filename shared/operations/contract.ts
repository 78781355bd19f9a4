/**
 * What an operation is (docs/architecture.md#rules): every change and every read is one. Ports
 * authenticate, call it by name and render the envelope; the input and output schemas here serve
 * the local socket, HTTP, MCP and the command line alike. Which HTTP route, tool or command reaches
 * an operation is in the tables of those ports (http-routes.ts, mcp-server/tools.ts, cli/tables).
 */
import type * as z from "zod";

/**
 * Who may call (docs/core-model.md#identity-of-a-caller):
 * - `user`: the owner of the local socket, or an administrator access token.
 * - `member`: an access token restricted to named Groups; only operations with a `group_id` among
 *   them, or lists filtered to them.
 * - `actor`: an Actor by its launch token, inside its own Group; the handler has finer rules
 *   (foreman, itself).
 * - `exhibit`: the read-only exhibit listener's token, for its named Groups.
 */
export type CallerKind = "user" | "member" | "actor" | "exhibit";

/**
 * The permit that the dispatcher takes around the handler. `group_*` needs a `group_id` in the
 * input.
 */
export type LockKind = "none" | "group_read" | "group_write" | "home_write";

export interface OperationContract<
  Input extends z.ZodType = z.ZodType,
  Output extends z.ZodType = z.ZodType,
> {
  /** snake_case; `POST /op/<name>` on the local socket. */
  name: string;
  title: string;
  /** One or two sentences for help texts and docs. */
  summary: string;
  input: Input;
  output: Output;
  callers: readonly CallerKind[];
  lock: LockKind;
  /** `read` changes nothing; `destroy` loses data. */
  effect: "read" | "write" | "destroy";
  /**
   * It grants or ends rights: on permissions, tokens, connections, commands, environments and
   * folders, or it deletes what can't be brought back. Over the local socket, a process must be
   * known as a person's to call it as the user (docs/security.md#who-is-at-the-socket).
   */
  decision: boolean;
  /** The same call again, also without a `client_id`, changes nothing further. */
  idempotent: boolean;
}

/** Keeps the name as a literal type: the registry finds each contract's input and output by it. */
export function operation<const Name extends string, Input extends z.ZodType, Output extends z.ZodType>(
  contract: OperationContract<Input, Output> & { name: Name },
): OperationContract<Input, Output> & { name: Name } {
  return contract;
}
