/** The installed program itself, for processes that this one starts. */
import { realpathSync } from "node:fs";
import { resolve, sep } from "node:path";

/**
 * Absolute path of the file that `node` was started with. If an installed command is a link, it
 * isn't followed: its target may be a clone, or be replaced by the next update. Only a temporary
 * link of npx is followed to the file.
 */
export function programFile(): string {
  const started = resolve(process.argv[1] ?? "");
  return started.split(sep).includes("_npx") ? realpathSync(started) : started;
}
