/** What 64 open Direct channels cost an idle daemon. */
import { readFileSync } from "node:fs";
import { LIMITS } from "../../shared/limits.ts";
import { absolute, type Measurement } from "../figure.ts";
import { approve, listen, online, startInstance, stopAll } from "./direct.ts";

const NAME = "idle with 64 Direct channels";
const CLOCK_TICKS = 100;

const pause = (seconds: number) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

/** Seconds of processor time so far. */
function busy(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
  return (Number(fields[11]) + Number(fields[12])) / CLOCK_TICKS;
}

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
    for (const { daemon } of all) daemon.client.close();
    await pause(short ? 1 : 20);
    const seconds = short ? 3 : 90;
    const before = all.map(({ daemon }) => busy(daemon.pid));
    await pause(seconds);
    const percent = all.map(({ daemon }, at) => ((busy(daemon.pid) - before[at]!) / seconds) * 100);
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
