/** What a file shows in a slot, by the end of its name. */
import type { PresentationKind } from "./presentation-kind.ts";

const KINDS: ReadonlyMap<string, PresentationKind> = new Map([
  ["md", "markdown"],
  ["markdown", "markdown"],
  ["html", "html"],
  ["htm", "html"],
  ["csv", "csv"],
  ["pdf", "pdf"],
  ["png", "image"],
  ["jpg", "image"],
  ["jpeg", "image"],
  ["gif", "image"],
  ["webp", "image"],
  ["avif", "image"],
  ["svg", "image"],
]);

/** The ends of names that say what a file is, such as `.md`. */
export const PRESENTATION_FILE_ENDS: readonly string[] = [...KINDS.keys()].map((end) => `.${end}`);

/** Undefined when the name doesn't say what it is. */
export function kindOfFile(name: string): PresentationKind | undefined {
  return KINDS.get(/\.([^./\\]+)$/.exec(name)?.[1]?.toLowerCase() ?? "");
}
