/** The same message over HTTPS within an account and over Direct, between instances on loopback. */
import { compare, interleave, type Measurement } from "../figure.ts";
import { Account } from "./account.ts";
import { discovered, Receipts, startStar, stopAll } from "./direct.ts";
import { latency } from "./messages.ts";

const NAME = "connect_send over HTTPS accepted to sent, p50";

export const https: Measurement = {
  figures: [NAME],
  async run({ short }) {
    const account = await Account.open();
    const [from, to] = [await account.instance(), await account.instance()];
    await account.refresh(from, "The sender");
    await discovered(from, to);
    const direct = await startStar(1);
    const receipts = { https: await Receipts.of(from), direct: await Receipts.of(direct.center) };
    const count = short ? 20 : 100;
    const sides = {
      ours: () => latency(from, to, receipts.https, count),
      theirs: () => latency(direct.center, direct.around[0]!, receipts.direct, count),
    };
    await interleave(1, sides);
    const { ours, theirs } = await interleave(short ? 2 : 9, sides);
    for (const one of Object.values(receipts)) one.close();
    await stopAll([direct.center, ...direct.around]);
    await account.close();
    return [
      compare({
        name: NAME,
        unit: "ms",
        value: ours,
        against: "the same over Direct",
        against_value: theirs,
        goal: 1.2,
        floor: 2,
        better: "lower",
      }),
    ];
  },
};
