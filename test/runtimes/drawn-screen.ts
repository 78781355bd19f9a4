/** A screen in memory that shows Claude's input line, for tests that need no terminal. */
import type { ScreenView } from "../../daemon/runtimes/terminal/screen-view.ts";

const COLUMNS = 40;

export class DrawnScreen implements ScreenView {
  readonly columns = COLUMNS;
  isDrawing = false;
  cursor = { row: 0, column: 0, isShown: false };
  /** The line below an input line, from its next drawing on. */
  footer = "  ? for shortcuts";
  #lines: string[] = [];

  get rows(): number {
    return this.#lines.length;
  }

  line(row: number): string {
    return this.#lines[row] ?? "";
  }

  style(): { isDim: boolean; isBold: boolean } {
    return { isDim: false, isBold: false };
  }

  /** An input line with this text, whose lines are parted by line feeds. */
  composer(text = "", mark = "❯"): this {
    const rule = "─".repeat(COLUMNS);
    const [first = "", ...more] = text.split("\n");
    this.cursor = { row: 2 + more.length, column: 2 + (more.at(-1) ?? first).length, isShown: false };
    const lines = [`${mark}\u00a0${first}`, ...more.map((line) => `  ${line}`)];
    this.#lines = ["some output", rule, ...lines, rule, this.footer];
    return this;
  }

  /** Something else. */
  shows(...lines: string[]): this {
    this.#lines = lines;
    this.cursor = { row: lines.length - 1, column: 2, isShown: false };
    return this;
  }
}
