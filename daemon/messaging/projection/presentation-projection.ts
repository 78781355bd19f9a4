/**
 * What the slots of a Group show, and the versions that can be stepped back through: ordinals of
 * `presentation.publish` events. It is bounded by the slots and their versions, not by history.
 * What an import brought is shown as well, because nothing follows from it.
 */
import * as z from "zod";
import { LIMITS } from "../../../shared/limits.ts";
import type { EventHead, Projection } from "../../ledger/types.ts";

const { slots: SLOTS, versions: VERSIONS } = LIMITS.presentation;

const Saved = z
  .array(
    z.strictObject({
      current: z.int().min(0).nullable(),
      versions: z.array(z.int().min(0)).max(VERSIONS),
    }),
  )
  .length(SLOTS);

interface Slot {
  /** Null while it is empty. */
  current: number | null;
  /** Oldest first. */
  versions: number[];
}

export class PresentationProjection implements Projection {
  readonly name = "presentations";
  readonly version = 1;
  #slots: Slot[] = empty();

  /** `slot` counts from 1. */
  slot(slot: number): { readonly current: number | null; readonly versions: readonly number[] } {
    return this.#slots[slot - 1]!;
  }

  wants(kind: string): boolean {
    return kind === "presentation.publish" || kind === "presentation.clear";
  }

  apply({ kind, data }: EventHead, ordinal: number): void {
    if (!this.wants(kind)) return;
    const slot = this.#slots[Number(data.slot) - 1];
    if (slot === undefined) return;
    slot.current = kind === "presentation.publish" ? ordinal : null;
    if (slot.current === null) return;
    slot.versions.push(ordinal);
    if (slot.versions.length > VERSIONS) slot.versions.shift();
  }

  reset(): void {
    this.#slots = empty();
  }

  checkpoint(): Uint8Array {
    return Buffer.from(JSON.stringify(this.#slots));
  }

  restore(bytes: Uint8Array): void {
    this.#slots = Saved.parse(JSON.parse(Buffer.from(bytes).toString()));
  }

  fresh(): PresentationProjection {
    return new PresentationProjection();
  }
}

function empty(): Slot[] {
  return Array.from({ length: SLOTS }, () => ({ current: null, versions: [] }));
}
