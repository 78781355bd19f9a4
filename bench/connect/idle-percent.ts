/** What daemons cost that have nothing to do. */
import { processorSeconds } from "../processes.ts";
import type { Instance } from "./direct.ts";

/** Until what the setting began has ended, and then what is measured. */
const SETTLING_SECONDS = 20;
const MEASURED_SECONDS = 90;

const pause = (seconds: number) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

/** Percent of a core that each takes while nobody asks it for anything. */
export async function idlePercent(instances: readonly Instance[], short: boolean): Promise<number[]> {
  for (const { daemon } of instances) daemon.client.close();
  await pause(short ? 1 : SETTLING_SECONDS);
  const seconds = short ? 3 : MEASURED_SECONDS;
  const before = instances.map(({ daemon }) => processorSeconds(daemon.pid));
  await pause(seconds);
  return instances.map(({ daemon }, at) => ((processorSeconds(daemon.pid) - before[at]!) / seconds) * 100);
}
