/** What daemons cost that have nothing to do. */
import { readFileSync } from "node:fs";
import type { Instance } from "./direct.ts";

const CLOCK_TICKS = 100;
/** Until what the setting began has ended, and then what is measured. */
const SETTLING_SECONDS = 20;
const MEASURED_SECONDS = 90;

const pause = (seconds: number) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

/** Seconds of processor time so far. */
function busy(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
  return (Number(fields[11]) + Number(fields[12])) / CLOCK_TICKS;
}

/** Percent of a core that each takes while nobody asks it for anything. */
export async function idlePercent(instances: readonly Instance[], short: boolean): Promise<number[]> {
  for (const { daemon } of instances) daemon.client.close();
  await pause(short ? 1 : SETTLING_SECONDS);
  const seconds = short ? 3 : MEASURED_SECONDS;
  const before = instances.map(({ daemon }) => busy(daemon.pid));
  await pause(seconds);
  return instances.map(({ daemon }, at) => ((busy(daemon.pid) - before[at]!) / seconds) * 100);
}
