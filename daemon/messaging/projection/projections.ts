/**
 * The projections of Groups that are being opened, until messaging takes them up: a Group's ledger
 * is read into them.
 */

import type { Projection } from "../../ledger/types.ts";
import { keyOf } from "./message-keys.ts";
import { PresentationProjection } from "./presentation-projection.ts";
import { MessageProjection } from "./projection.ts";

/** What is read from one Group's ledger. */
export interface GroupProjections {
  messages: MessageProjection;
  presentations: PresentationProjection;
}

export class MessageProjections {
  /** For `RegistryDependencies`: the idempotency key of an event. */
  readonly keyOf = keyOf;
  readonly #opened = new Map<string, GroupProjections>();

  /** For `RegistryDependencies`: what follows a Group's ledger. Called once per opening. */
  projectionsFor(groupId: string): Projection[] {
    const messages = new MessageProjection();
    const presentations = new PresentationProjection();
    this.#opened.set(groupId, { messages, presentations });
    return [messages, presentations];
  }

  /** The projections of a Group that was just opened. */
  take(groupId: string): GroupProjections {
    const projections = this.#opened.get(groupId);
    if (projections === undefined) throw new Error(`${groupId} was opened without its projections`);
    this.#opened.delete(groupId);
    return projections;
  }
}
