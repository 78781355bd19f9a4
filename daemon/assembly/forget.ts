/** A needed file of a Home is no longer expected (docs/core-model.md#home). */
import { chmodSync } from "node:fs";
import { currentHost } from "../../client/endpoint.ts";
import { RealClock } from "../../platform/real-clock.ts";
import { RealFiles } from "../../platform/real-files.ts";
import { RealRandom } from "../../platform/real-random.ts";
import { forgetFile } from "../home/home.ts";

/** `forgetFile` on this machine. */
export function forgetHomeFile(home: string, path: string): Promise<string | null> {
  const platform = { files: new RealFiles(), clock: new RealClock(), random: new RealRandom() };
  return forgetFile({ ...platform, host: currentHost(), chmod: chmodSync }, home, path);
}
