/**
 * The output for people and scripts. Text from messages is shown without control characters that
 * steer a terminal and without what hides or turns text.
 */
import { escapedText, shownName, shownText } from "../shared/foreign-text.ts";

/** Foreign text made safe to show: what steers, hides or turns text becomes visible signs. */
export function plain(text: string): string {
  return shownText(text.replaceAll(/\r\n?|[\u0085\u2028\u2029]/g, "\n"));
}

/** The same on one line. */
export function oneLine(text: string): string {
  return shownName(text).trim();
}

const STYLES = { bold: "1", dim: "2", red: "31", green: "32", yellow: "33" } as const;
export type Style = keyof typeof STYLES;

export class Output {
  readonly json: boolean;
  readonly #colour: boolean;

  constructor(json: boolean, environment: Readonly<Record<string, string | undefined>> = process.env) {
    this.json = json;
    const refused = environment["NO_COLOR"] !== undefined && environment["NO_COLOR"] !== "";
    this.#colour = !json && !refused && process.stdout.isTTY && environment["TERM"] !== "dumb";
  }

  get isTerminal(): boolean {
    return process.stdout.isTTY;
  }

  /** One line for people, or for a script that reads text. */
  line(text = ""): void {
    process.stdout.write(`${text}\n`);
  }

  /** One JSON document on one line. */
  document(value: unknown): void {
    process.stdout.write(`${escapedText(JSON.stringify(value))}\n`);
  }

  /** To standard error: progress, warnings, errors. */
  note(text: string): void {
    process.stderr.write(`${text}\n`);
  }

  style(style: Style, text: string): string {
    return this.#colour ? `\u001b[${STYLES[style]}m${text}\u001b[0m` : text;
  }

  /** Aligned columns under a dim heading. The last column isn't padded. */
  table(heading: readonly string[], rows: readonly (readonly string[])[]): void {
    const widths = heading.map((title, column) =>
      Math.max(width(title), ...rows.map((row) => width(row[column] ?? ""))),
    );
    const render = (row: readonly string[]) =>
      row
        .map((cell, column) =>
          column === row.length - 1 ? cell : cell + " ".repeat((widths[column] ?? 0) - width(cell)),
        )
        .join("  ")
        .trimEnd();
    this.line(this.style("dim", render(heading)));
    for (const row of rows) this.line(render(row));
  }

  /** `name  value` lines, aligned. */
  fields(entries: readonly (readonly [string, string])[]): void {
    const longest = Math.max(...entries.map(([name]) => name.length));
    for (const [name, value] of entries) this.line(`${this.style("dim", name.padEnd(longest))}  ${value}`);
  }
}

/**
 * The number of terminal columns that a text takes. Wide characters count twice, combining ones not
 * at all.
 */
function width(text: string): number {
  let columns = 0;
  for (const character of text) {
    if (/\p{Mark}/u.test(character)) continue;
    columns +=
      /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}]/u.test(
        character,
      )
        ? 2
        : 1;
  }
  return columns;
}
