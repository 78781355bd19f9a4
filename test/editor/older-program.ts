/** An earlier version of the program, as a person may have it running. */
import assert from "node:assert/strict";
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PRODUCT_VERSION } from "../../shared/version.ts";
import { DIST } from "../support/daemon-process.ts";

export const OLDER_VERSION = "0.4.9";

/** The built program with that version, in a folder of its own. Gives what Node runs. */
export function olderProgram(folder: string): string {
  const dist = join(folder, "dist");
  mkdirSync(dist, { recursive: true });
  let places = 0;
  for (const name of readdirSync(DIST).filter((file) => /\.[cm]js$/.test(file))) {
    const [before, ...after] = readFileSync(join(DIST, name), "utf8").split(
      `PRODUCT_VERSION="${PRODUCT_VERSION}"`,
    );
    places += after.length;
    writeFileSync(join(dist, name), [before, ...after].join(`PRODUCT_VERSION="${OLDER_VERSION}"`));
  }
  assert.ok(places > 1, "the built program doesn't say its version");
  cpSync(join(DIST, "webview"), join(dist, "webview"), { recursive: true });
  symlinkSync(join(DIST, "../node_modules"), join(folder, "node_modules"));
  return join(dist, "svc.cjs");
}
