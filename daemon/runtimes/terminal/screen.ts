/**
 * The daemon's own screen of a terminal: what a later viewer sees at once. It also answers what
 * programs ask a terminal.
 */
import * as serializeModule from "@xterm/addon-serialize";
import * as headlessModule from "@xterm/headless";
import { LIMITS } from "../../../shared/limits.ts";
import type { Drawing, Drawn } from "./drawing.ts";
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
  /**
   * The emulator or what is called when something is drawn has thrown. Nothing is drawn any more,
   * and the screen reads as an empty one. Told once.
   */
  failed(error: unknown): void;
}

/** To draw, and whom to tell then. */
interface Job {
  text: string;
  /** Characters that are drawn. */
  at: number;
  drawn(): void;
}

/** Characters drawn at once. An escape sequence may take ten times as long as text. */
const PIECE = 16 * 1024;

/** DECTCEM; the emulator reports every mode but this one. */
const CURSOR_MODE = 25;

export class Screen implements ScreenView, Drawn {
  readonly #terminal: InstanceType<typeof Terminal>;
  readonly #serializer: InstanceType<typeof SerializeAddon>;
  readonly #events: ScreenEvents;
  readonly #drawing: Drawing;
  readonly #jobs: Job[] = [];
  #reads = false;
  #showsCursor = true;
  /** The emulator has a piece that it hasn't drawn. */
  #isBusy = false;
  #isOver = false;
  #hasFailed = false;

  constructor(columns: number, rows: number, events: ScreenEvents, drawing: Drawing) {
    this.#events = events;
    this.#drawing = drawing;
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
    this.#terminal.onData((data) => {
      if (data !== "") this.#guarded(() => events.answer(data));
    });
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
    return this.#read(0, () => this.#terminal.cols);
  }

  get rows(): number {
    return this.#read(0, () => this.#terminal.rows);
  }

  get cursor(): ScreenView["cursor"] {
    return this.#read({ row: 0, column: 0, isShown: false }, () => {
      const { cursorY: row, cursorX: column } = this.#terminal.buffer.active;
      return { row, column, isShown: this.#showsCursor };
    });
  }

  get isDrawing(): boolean {
    return this.#read(false, () => this.#terminal.modes.synchronizedOutputMode);
  }

  line(row: number): string {
    return this.#read("", () => this.#text(row)).trimEnd();
  }

  style(row: number, column: number): { isDim: boolean; isBold: boolean } {
    return this.#read({ isDim: false, isBold: false }, () => {
      const { active } = this.#terminal.buffer;
      const cell = active.getLine(active.baseY + row)?.getCell(column);
      return { isDim: (cell?.isDim() ?? 0) !== 0, isBold: (cell?.isBold() ?? 0) !== 0 };
    });
  }

  /** Draws output; `drawn` is called when it is on the screen. */
  write(data: string, drawn: () => void): void {
    if (this.#isOver) return;
    this.#jobs.push({ text: data, at: 0, drawn });
    if (!this.#isBusy) this.#drawing.add(this);
  }

  /**
   * Calls `drawn` when everything written so far is on the screen, and nothing that is written
   * later. At once when nothing will be drawn any more.
   */
  settled(drawn: () => void): void {
    if (this.#isOver) drawn();
    else this.write("", drawn);
  }

  drawSome(): boolean {
    const [job] = this.#jobs;
    if (job === undefined || this.#isBusy) return false;
    this.#isBusy = true;
    this.#guarded(() => {
      const piece = job.text.slice(job.at, job.at + PIECE);
      job.at += PIECE;
      // The emulator draws what follows a key at once. Otherwise it would do so in a timer of its
      // own, where nobody catches what it throws.
      this.#terminal.input("", true);
      this.#terminal.write(piece, () => this.#guarded(() => this.#drawn(job)));
    });
    return !this.#isBusy && this.#jobs.length > 0;
  }

  #drawn(job: Job): void {
    this.#isBusy = false;
    const reads = this.#terminal.modes.bracketedPasteMode;
    if (reads !== this.#reads) {
      this.#reads = reads;
      this.#events.reads(reads);
    }
    if (job.at >= job.text.length) {
      this.#jobs.shift();
      job.drawn();
    }
    if (this.#jobs.length > 0) this.#drawing.add(this);
  }

  #guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#failed(error);
    }
  }

  #read<Value>(ofNothing: Value, read: () => Value): Value {
    if (this.#hasFailed) return ofNothing;
    try {
      return read();
    } catch (error) {
      this.#failed(error);
      return ofNothing;
    }
  }

  #failed(error: unknown): void {
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    // Who is told that something is drawn may read the screen, and must know by then.
    this.#events.failed(error);
    this.#end();
  }

  /** Nobody waits for what isn't drawn any more. */
  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#drawing.remove(this);
    for (const job of this.#jobs.splice(0)) if (job.text === "") job.drawn();
  }

  resize(columns: number, rows: number): void {
    this.#guarded(() => this.#terminal.resize(columns, rows));
  }

  /** Whether a line that can be seen now fits. */
  shows(pattern: RegExp): boolean {
    for (let row = 0; row < this.rows; row += 1) if (pattern.test(this.line(row))) return true;
    return false;
  }

  /** The lines that can be seen now. */
  lines(): string[] {
    return this.#read([], () => Array.from({ length: this.rows }, (_, row) => this.#text(row)));
  }

  #text(row: number): string {
    const { active } = this.#terminal.buffer;
    return active.getLine(active.baseY + row)?.translateToString(true) ?? "";
  }

  /**
   * Text that draws the screen with its scrollback and modes on an empty terminal of the same size.
   */
  serialize(): string {
    return this.#read("", () => this.#serializer.serialize());
  }

  dispose(): void {
    this.#end();
    this.#guarded(() => this.#terminal.dispose());
  }
}
