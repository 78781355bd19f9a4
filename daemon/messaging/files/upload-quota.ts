/**
 * How many bytes of uploads may wait for a message, in a Group and in the whole Home, so that no
 * caller can fill the disk unnoticed.
 */
import { Refusal } from "../../../shared/errors.ts";
import { LIMITS } from "../../../shared/limits.ts";

type Limits = Pick<typeof LIMITS.attachment, "waitingBytes" | "waitingBytesPerHome">;

/** Bytes of the quota that a running upload takes. */
export interface Reservation {
  /** It is this large by now. Throws limit_reached. */
  cover(bytes: number): void;
  /** The upload is over. If its file goes on waiting, that is counted separately. Idempotent. */
  release(): void;
}

const MiB = 1024 * 1024;
/** An empty file takes room as well. */
const SMALLEST = 4096;

export class UploadQuota {
  readonly #limits: { readonly [Name in keyof Limits]: number };
  #bytes = 0;

  constructor(limits: Partial<{ [Name in keyof Limits]: number }> = {}) {
    this.#limits = { ...LIMITS.attachment, ...limits };
  }

  /** The part of one Group. */
  group(): GroupQuota {
    return new GroupQuota(this.#limits.waitingBytes, (more, isBound) => {
      const limit = this.#limits.waitingBytesPerHome;
      if (isBound && more > 0 && this.#bytes + more > limit) throw full(limit);
      this.#bytes += more;
    });
  }
}

export class GroupQuota {
  readonly #limit: number;
  readonly #count: (more: number, isBound: boolean) => void;
  #bytes = 0;

  constructor(limit: number, count: (more: number, isBound: boolean) => void) {
    this.#limit = limit;
    this.#count = count;
  }

  /** Throws limit_reached when an upload of that size doesn't fit. */
  reserve(bytes: number): Reservation {
    let covered = 0;
    const cover = (size: number): void => {
      const wanted = Math.max(size, SMALLEST);
      if (wanted <= covered) return;
      this.#add(wanted - covered, true);
      covered = wanted;
    };
    cover(bytes);
    return {
      cover,
      release: () => {
        this.#add(-covered, false);
        covered = 0;
      },
    };
  }

  /** A file waits whatever the limit says, because it is already on disk. */
  waits(bytes: number): void {
    this.#add(Math.max(bytes, SMALLEST), false);
  }

  waitsNoMore(bytes: number): void {
    this.#add(-Math.max(bytes, SMALLEST), false);
  }

  #add(more: number, isBound: boolean): void {
    if (isBound && this.#bytes + more > this.#limit) throw full(this.#limit);
    this.#count(more, isBound);
    this.#bytes += more;
  }
}

function full(limit: number): Refusal {
  return new Refusal("limit_reached", {
    specifics: `Uploads waiting for a message may take ${Math.floor(limit / MiB)} MiB together, and this one would exceed that.`,
    remedy: `Send the message for the other uploads first. Uploads that no message uses are removed after ${LIMITS.attachment.orphanHours} hours.`,
    details: { limit_bytes: limit },
  });
}
