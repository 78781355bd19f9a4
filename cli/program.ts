/** The installed program itself, for processes that this one starts. */
import { realpathSync } from "node:fs";
import { resolve, sep } from "node:path";

/**
 * Absolute path of the file that `node` was started with. An installed command stays the link that it is: what the link leads to may be a
 * clone, or go with the next update. What npx keeps for a while is followed to the file.
 */
export function programFile(): string {
  const started = resolve(process.argv[1] ?? "");
  return started.split(sep).includes("_npx") ? realpathSync(started) : started;
}
