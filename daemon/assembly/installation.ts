/** This program's own files: next to the bundle, or in `dist` when it runs from the sources. */
import { existsSync, realpathSync } from "node:fs";
import { resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * How another program starts svc: with full paths, because editors and agents often have another
 * PATH.
 */
export function commandLine(): readonly [command: string, ...args: string[]] {
  const launcher = places("svc.cjs").find((place) => existsSync(place));
  return launcher === undefined ? ["svc"] : [process.execPath, asStarted(launcher)];
}

/**
 * The launcher by the name that this process was started with. An installed command stays in place,
 * but its link's target may disappear.
 */
function asStarted(launcher: string): string {
  const started = process.argv[1];
  // npx creates temporary links.
  if (started === undefined || started.split(sep).includes("_npx")) return launcher;
  return existsSync(started) && realpathSync(started) === realpathSync(launcher)
    ? resolve(started)
    : launcher;
}

/** Directory of the built Workbench; null where there is none. */
export function workbenchDirectory(): string | null {
  return places("webview/").find((place) => existsSync(`${place}index.html`)) ?? null;
}

function places(name: string): string[] {
  return ["./", "../../dist/"].map((folder) => fileURLToPath(new URL(`${folder}${name}`, import.meta.url)));
}
