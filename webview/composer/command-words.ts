/**
 * A command line as a person types it into a field: spaces separate words, and quotes keep them
 * together. No shell ever sees it.
 */

const WORD = /(?:[^\s"']|"[^"]*"|'[^']*')+/g;

/** The command as such a line: `splitCommand` makes the same words of it. */
export function joinCommand(words: readonly string[]): string {
  const quoted = (word: string) =>
    word !== "" && !/[\s"']/.test(word)
      ? word
      : (word.match(/[^"]+|"+/g) ?? [""])
          .map((part) => (part.startsWith('"') ? `'${part}'` : `"${part}"`))
          .join("");
  return words.map(quoted).join(" ");
}

export function splitCommand(text: string): string[] {
  return (text.match(WORD) ?? []).map((word) =>
    word.replace(/"([^"]*)"|'([^']*)'/g, (_all, double?: string, single?: string) => double ?? single ?? ""),
  );
}
