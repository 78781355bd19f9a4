/** This program's own files: next to the bundle, or in `dist` when it runs from the sources. */
import { existsSync, realpathSync } from "node:fs";
import { resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * How another program starts svc: with full paths, because editors and agents often have another
 * PATH. A desktop editor's runtime is Node only with `ELECTRON_RUN_AS_NODE`, which some agents
 * don't hand to the servers that they start.
 */
export function commandLine(): readonly [command: string, ...args: string[]] {
  const launcher = places("svc.cjs").find((place) => existsSync(place));
  if (launcher === undefined) return ["svc"];
  const words = [process.execPath, asStarted(launcher)] as const;
  const isEditors = process.env["ELECTRON_RUN_AS_NODE"] !== undefined && process.platform !== "win32";
  return isEditors ? ["/usr/bin/env", "ELECTRON_RUN_AS_NODE=1", ...words] : words;
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
