/**
 * Small messages between instances: one at a time, and as many as possible to four peers, compared
 * with the minimum work of a delivery.
 */
import { compare, type Figure, interleave, type Measurement, median } from "../figure.ts";
import { type Instance, Receipts, send, startStar, stopAll } from "./direct.ts";
import { drained, queued } from "./outage.ts";
import { Parts } from "./parts.ts";

const ONE = "connect_send accepted to sent, p50";
const MANY = "small deliveries to 4 peers";
const PEERS = 4;
const PER_PEER = 100;

/** Median milliseconds from acceptance to the receipt in the source ledger. */
export async function latency(
  center: Instance,
  peer: Instance,
  receipts: Receipts,
  count: number,
): Promise<number> {
  const times: number[] = [];
  for (let made = 0; made < count; made += 1) {
    const id = await send(center, peer);
    const accepted = performance.now();
    times.push((await receipts.seen(id)) - accepted);
  }
  return median(times);
}

export const messages: Measurement = {
  figures: [ONE, MANY],
  async run({ short, only }) {
    const { center, around, listener } = await startStar(PEERS);
    const receipts = await Receipts.of(center);
    const parts = await Promise.all(around.map(() => Parts.open()));
    const figures: Figure[] = [];
    if (ONE.includes(only)) {
      const count = short ? 20 : 200;
      const sides = {
        ours: () => latency(center, around[0]!, receipts, count),
        theirs: () => parts[0]!.sum(count),
      };
      await interleave(1, sides);
      const { ours, theirs } = await interleave(short ? 2 : 9, sides);
      figures.push(
        compare({
          name: ONE,
          unit: "ms",
          value: ours,
          against: "2 signatures, 2 verifications, 3 durable writes, 1 round trip",
          against_value: theirs,
          goal: 1.5,
          floor: 3,
          better: "lower",
        }),
      );
    }
    if (MANY.includes(only)) {
      const each = short ? 10 : PER_PEER;
      const sides = {
        ours: async () => {
          await queued(center, around, each);
          return (PEERS * each - 1) / (await drained(center, receipts, listener, PEERS * each));
        },
        theirs: async () => {
          const begin = performance.now();
          await Promise.all(parts.map((one) => one.run(each)));
          return ((PEERS * each) / (performance.now() - begin)) * 1000;
        },
      };
      await interleave(1, sides);
      const { ours, theirs } = await interleave(short ? 1 : 7, sides);
      figures.push(
        compare({
          name: MANY,
          unit: "deliveries/s",
          value: ours,
          against: "the same parts, four deliveries at a time",
          against_value: theirs,
          goal: 0.6,
          floor: 0.3,
          better: "higher",
        }),
      );
    }
    receipts.close();
    for (const one of parts) await one.close();
    await stopAll([center, ...around]);
    return figures;
  },
};
