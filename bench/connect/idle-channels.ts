/** What 64 open Direct channels cost an idle daemon. */
import { LIMITS } from "../../shared/limits.ts";
import { absolute, type Measurement } from "../figure.ts";
import { approve, listen, online, startInstance, stopAll } from "./direct.ts";
import { idlePercent } from "./idle-percent.ts";

const NAME = "idle with 64 Direct channels";

export const idleChannels: Measurement = {
  figures: [NAME],
  async run({ short }) {
    const [host, joiner, alone] = [await startInstance(), await startInstance(), await startInstance()];
    const channels = short ? 4 : LIMITS.direct.channels;
    await listen(host);
    for (let made = 0; made < channels; made += 1) {
      const [here, there] = await Promise.all(
        [host, joiner].map(({ daemon }) => daemon.client.result("group_create", { title: `Pair ${made}` })),
      );
      await approve(host, joiner, { host: here!.group_id, joiner: there!.group_id });
    }
    await online(host, channels);
    const all = [host, joiner, alone];
    const percent = await idlePercent(all, short);
    await stopAll(all);
    const [listens, dials, without] = percent as [number, number, number];
    return [
      absolute({
        name: NAME,
        unit: "% of a core",
        value: Math.max(listens, dials) - without,
        against: `% more than without (the listening side ${listens.toFixed(2)}, the other ${dials.toFixed(2)}, without ${without.toFixed(2)})`,
        goal: 2,
        floor: 5,
        better: "lower",
      }),
    ];
  },
};
