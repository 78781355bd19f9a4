/**
 * How much of the outbox's limits queued work uses, in total and for each peer (LIM-035 to
 * LIM-038).
 */
import { Refusal } from "../../../shared/errors.ts";
import { LIMITS } from "../../../shared/limits.ts";
import { sizeWords } from "../../../shared/size-words.ts";

interface Usage {
  records: number;
  blobBytes: number;
}

const NOTHING: Usage = { records: 0, blobBytes: 0 };

export class OutboxUsage {
  readonly #byPeer = new Map<string, Usage>();
  #total = NOTHING;

  /** When a limit is reached, new work is refused with `outbox_full`, which names the limit. */
  check(peer: string, blobBytes: number): void {
    const { outbox } = LIMITS;
    const total = this.#total;
    const mine = this.#byPeer.get(peer) ?? NOTHING;
    const here = "can wait for this instance";
    const all = "can wait for other instances";
    const limits: [taken: number, limit: number, what: string][] = [
      [total.records + 1, outbox.records, `${outbox.records} messages ${all}`],
      [mine.records + 1, outbox.recordsPerPeer, `${outbox.recordsPerPeer} messages ${here}`],
      [total.blobBytes + blobBytes, outbox.blobBytes, `${sizeWords(outbox.blobBytes)} of files ${all}`],
      [
        mine.blobBytes + blobBytes,
        outbox.blobBytesPerPeer,
        `${sizeWords(outbox.blobBytesPerPeer)} of files ${here}`,
      ],
    ];
    for (const [taken, limit, what] of limits) {
      if (taken <= limit) continue;
      const specifics = `At most ${what}.`;
      throw new Refusal("outbox_full", { specifics, details: { limit, instance_id: peer } });
    }
  }

  charge(peer: string, records: number, blobBytes: number): void {
    const add = (to: Usage): Usage => ({
      records: to.records + records,
      blobBytes: to.blobBytes + blobBytes,
    });
    const mine = add(this.#byPeer.get(peer) ?? NOTHING);
    if (mine.records > 0) this.#byPeer.set(peer, mine);
    else this.#byPeer.delete(peer);
    this.#total = add(this.#total);
  }
}
