/** A full outbox after an outage, compared with as many messages that never had to wait. */
import { LIMITS } from "../../shared/limits.ts";
import { compare, interleave, type Measurement } from "../figure.ts";
import { Receipts, startStar, stopAll } from "./direct.ts";
import { drained, queued, sendEach } from "./outage.ts";

const NAME = "1,024 queued records drained";
const { records, recordsPerPeer } = LIMITS.outbox;
/** One peer may use only its share. */
const PEERS = records / recordsPerPeer;

export const backlog: Measurement = {
  figures: [NAME],
  async run({ short }) {
    const { center, around, listener } = await startStar(PEERS);
    const receipts = await Receipts.of(center);
    const each = short ? 8 : recordsPerPeer;
    const sides = {
      ours: async () => {
        await queued(center, around, each);
        return drained(center, receipts, listener, PEERS * each);
      },
      theirs: async () => {
        const last = receipts.more(PEERS * each);
        const begin = performance.now();
        await sendEach(center, around, each);
        await last;
        return (performance.now() - begin) / 1000;
      },
    };
    const times = await interleave(short ? 1 : 3, sides);
    receipts.close();
    await stopAll([center, ...around]);
    return [
      compare({
        name: NAME,
        unit: "s",
        value: times.ours,
        against: "the same count to the same peers, sent without an outage",
        against_value: times.theirs,
        goal: 1.2,
        floor: 2,
        better: "lower",
      }),
    ];
  },
};
