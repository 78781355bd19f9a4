/** What queued work takes of the outbox's limits, in all and for each peer (LIM-035 to LIM-038). */
import { Refusal } from "../../shared/errors.ts";
import { LIMITS } from "../../shared/limits.ts";

interface Usage {
  records: number;
  blobBytes: number;
}

const NOTHING: Usage = { records: 0, blobBytes: 0 };

export class OutboxUsage {
  readonly #byPeer = new Map<string, Usage>();
  #total = NOTHING;

  /** Exhaustion refuses new work with `outbox_full` and says which limit it was. */
  check(peer: string, blobBytes: number): void {
    const { outbox } = LIMITS;
    const total = this.#total;
    const mine = this.#byPeer.get(peer) ?? NOTHING;
    const limits: [taken: number, limit: number, what: string][] = [
      [total.records + 1, outbox.records, "messages wait for other instances"],
      [mine.records + 1, outbox.recordsPerPeer, "messages wait for this instance"],
      [total.blobBytes + blobBytes, outbox.blobBytes, "bytes of files wait for other instances"],
      [mine.blobBytes + blobBytes, outbox.blobBytesPerPeer, "bytes of files wait for this instance"],
    ];
    for (const [taken, limit, what] of limits) {
      if (taken <= limit) continue;
      const specifics = `No more than ${limit} ${what}.`;
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
