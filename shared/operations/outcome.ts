/** How a call ended (docs/protocol.md#envelopes-and-errors). Every port renders this. */
import type { ErrorBody, Refusal } from "../errors.ts";

/** The refusal's `status` is for HTTP ports. */
export type Outcome =
  | { readonly ok: true; readonly result: unknown }
  | { readonly ok: false; readonly error: ErrorBody; readonly refusal: Refusal };

export function failure(refusal: Refusal): Outcome {
  return { ok: false, error: refusal.body(), refusal };
}
