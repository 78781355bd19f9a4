/** A command line as a person types it into a field: words apart by spaces, quotes keep them together. No shell ever sees it. */

const WORD = /(?:[^\s"']|"[^"]*"|'[^']*')+/g;

export function splitCommand(text: string): string[] {
  return (text.match(WORD) ?? []).map((word) =>
    word.replace(/"([^"]*)"|'([^']*)'/g, (_all, double?: string, single?: string) => double ?? single ?? ""),
  );
}
