/** The installed program itself, for processes that this one starts. */
import { realpathSync } from "node:fs";

/** Absolute path of the file that `node` was started with. */
export function programFile(): string {
  return realpathSync(process.argv[1] ?? "");
}
