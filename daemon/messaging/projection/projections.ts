/**
 * The projections of Groups that are being opened, until messaging takes them up: a Group's ledger
 * is read into them.
 */

import type { Projection } from "../../ledger/types.ts";
import { keyOf } from "../messages/message-keys.ts";
import { MessageProjection } from "./projection.ts";

export class MessageProjections {
  /** For `RegistryDependencies`: the idempotency key of an event. */
  readonly keyOf = keyOf;
  readonly #opened = new Map<string, MessageProjection>();

  /** For `RegistryDependencies`: what follows a Group's ledger. Called once per opening. */
  projectionsFor(groupId: string): Projection[] {
    const projection = new MessageProjection();
    this.#opened.set(groupId, projection);
    return [projection];
  }

  /** The projection of a Group that was just opened. */
  take(groupId: string): MessageProjection {
    const projection = this.#opened.get(groupId);
    if (projection === undefined) throw new Error(`${groupId} was opened without its projection`);
    this.#opened.delete(groupId);
    return projection;
  }
}
