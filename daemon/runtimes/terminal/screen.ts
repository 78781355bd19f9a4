/**
 * The daemon's own screen of a terminal: what a later viewer sees at once. It also answers what
 * programs ask a terminal.
 */
import * as serializeModule from "@xterm/addon-serialize";
import * as headlessModule from "@xterm/headless";
import { LIMITS } from "../../../shared/limits.ts";
import type { ScreenView } from "./screen-view.ts";

/** Both are CommonJS: Node gives their names on `default`, bundles and loaders directly. */
function named<Module extends object>(module: Module): Module {
  return "default" in module ? (module.default as Module) : module;
}

const { Terminal } = named(headlessModule);
const { SerializeAddon } = named(serializeModule);

export interface ScreenEvents {
  /** An answer to a question of the program, for its input. */
  answer(data: string): void;
  /** The program turned bracketed paste on or off, and so reads pastes now or doesn't. */
  reads(reads: boolean): void;
}

/** DECTCEM; the emulator reports every mode but this one. */
const CURSOR_MODE = 25;

export class Screen implements ScreenView {
  readonly #terminal: InstanceType<typeof Terminal>;
  readonly #serializer: InstanceType<typeof SerializeAddon>;
  readonly #events: ScreenEvents;
  #reads = false;
  #showsCursor = true;

  constructor(columns: number, rows: number, events: ScreenEvents) {
    this.#events = events;
    this.#terminal = new Terminal({
      cols: columns,
      rows,
      scrollback: LIMITS.terminal.scrollbackLines,
      allowProposedApi: true,
      // A program may write what isn't a sequence as often as it likes: nobody reads of it.
      logLevel: "off",
    });
    this.#serializer = new SerializeAddon();
    this.#terminal.loadAddon(this.#serializer);
    this.#terminal.onData((data) => events.answer(data));
    for (const [final, shows] of [
      ["h", true],
      ["l", false],
    ] as const) {
      this.#terminal.parser.registerCsiHandler({ prefix: "?", final }, (modes) => {
        if (modes.includes(CURSOR_MODE)) this.#showsCursor = shows;
        return false;
      });
    }
    this.#terminal.parser.registerEscHandler({ final: "c" }, () => {
      this.#showsCursor = true;
      return false;
    });
  }

  get columns(): number {
    return this.#terminal.cols;
  }

  get rows(): number {
    return this.#terminal.rows;
  }

  get cursor(): ScreenView["cursor"] {
    const { cursorY: row, cursorX: column } = this.#terminal.buffer.active;
    return { row, column, isShown: this.#showsCursor };
  }

  get isDrawing(): boolean {
    return this.#terminal.modes.synchronizedOutputMode;
  }

  line(row: number): string {
    const { active } = this.#terminal.buffer;
    return (active.getLine(active.baseY + row)?.translateToString(true) ?? "").trimEnd();
  }

  style(row: number, column: number): { isDim: boolean; isBold: boolean } {
    const { active } = this.#terminal.buffer;
    const cell = active.getLine(active.baseY + row)?.getCell(column);
    return { isDim: (cell?.isDim() ?? 0) !== 0, isBold: (cell?.isBold() ?? 0) !== 0 };
  }

  /** Draws output; `drawn` is called when it is on the screen. */
  write(data: string, drawn: () => void): void {
    this.#terminal.write(data, () => {
      const reads = this.#terminal.modes.bracketedPasteMode;
      if (reads !== this.#reads) {
        this.#reads = reads;
        this.#events.reads(reads);
      }
      drawn();
    });
  }

  /**
   * Calls `drawn` when everything written so far is on the screen, and nothing that is written
   * later.
   */
  settled(drawn: () => void): void {
    this.#terminal.write("", drawn);
  }

  resize(columns: number, rows: number): void {
    this.#terminal.resize(columns, rows);
  }

  /** Whether a line that can be seen now fits. */
  shows(pattern: RegExp): boolean {
    for (let row = 0; row < this.rows; row += 1) if (pattern.test(this.line(row))) return true;
    return false;
  }

  /** The lines that can be seen now. */
  lines(): string[] {
    const { active } = this.#terminal.buffer;
    return Array.from(
      { length: this.rows },
      (_, row) => active.getLine(active.baseY + row)?.translateToString(true) ?? "",
    );
  }

  /**
   * Text that draws the screen with its scrollback and modes on an empty terminal of the same size.
   */
  serialize(): string {
    return this.#serializer.serialize();
  }

  dispose(): void {
    this.#terminal.dispose();
  }
}
