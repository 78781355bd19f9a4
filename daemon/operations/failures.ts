/**
 * Turns anything a handler throws into the failing half of an envelope
 * (docs/protocol.md#envelopes-and-errors).
 */
import * as z from "zod";
import { isStorageError, storageRefusal } from "../../platform/durable.ts";
import { errorFields, type Log } from "../../platform/log.ts";
import { type ErrorCode, fieldSentence, Refusal } from "../../shared/errors.ts";
import { shownName } from "../../shared/foreign-text.ts";
import { problemOf } from "./problems.ts";

// For the whole process: every port describes wrong values in the same words.
z.config({ customError: problemOf });

const PROBLEMS_SHOWN = 8;
const NAME_SHOWN = 128;
/** Parts of a message whose refusals have codes of their own (docs/core-model.md#messages). */
const CODES: ReadonlyMap<string, ErrorCode> = new Map([
  ["message_mode", "invalid_message_mode"],
  ["insight", "invalid_insight"],
  ["attachments", "invalid_attachments"],
]);

/**
 * A Refusal unchanged, a storage error as a Refusal, anything else as `internal_error` whose
 * details have only the request id.
 */
export function refusalOf(error: unknown, log: Log, request: { operation: string; id: string }): Refusal {
  if (error instanceof Refusal) return error;
  if (isStorageError(error)) {
    log.error("storage", { operation: request.operation, request: request.id, ...errorFields(error) });
    return storageRefusal(error);
  }
  log.error("unexpected", { operation: request.operation, request: request.id, ...errorFields(error) });
  return new Refusal("internal_error", { details: { request_id: request.id }, cause: error });
}

/**
 * `invalid_args`, or the code for that part of a message. The details name the first wrong field
 * and up to eight problems. Values are never quoted.
 */
export function invalidArguments(error: z.ZodError): Refusal {
  const problems = error.issues
    .flatMap((issue) =>
      issue.code === "unrecognized_keys"
        ? issue.keys.map((key) => ({
            field: fieldName([...issue.path, key]),
            problem: "isn't a field of this operation",
          }))
        : [{ field: fieldName(issue.path), problem: issue.message }],
    )
    .slice(0, PROBLEMS_SHOWN);
  const first = problems[0] ?? { field: "", problem: "is wrong" };
  return new Refusal(CODES.get(/^[^.[]*/.exec(first.field)![0]) ?? "invalid_args", {
    specifics: fieldSentence(first.field, first.problem),
    ...(first.field === "" ? {} : { remedy: `Check '${first.field}'.` }),
    details: { field: first.field, problems },
  });
}

/**
 * `to[0].name` for `["to", 0, "name"]`. The caller chooses the names of members: invisible
 * characters in them are made visible.
 */
function fieldName(path: readonly PropertyKey[]): string {
  let name = "";
  for (const part of path) {
    if (typeof part === "number") name += `[${part}]`;
    else name += name === "" ? String(part) : `.${String(part)}`;
  }
  const shown = name.length > NAME_SHOWN ? `${name.slice(0, NAME_SHOWN)}…`.toWellFormed() : name;
  return shownName(shown);
}
