/** The daemon's own screen of a terminal: what a viewer that comes later sees at once. It also answers what programs ask of a terminal. */
import * as serializeModule from "@xterm/addon-serialize";
import * as headlessModule from "@xterm/headless";
import { LIMITS } from "../../shared/limits.ts";

/** Both are CommonJS: Node gives their names on `default`, bundles and loaders directly. */
function named<Module extends object>(module: Module): Module {
  return "default" in module ? (module.default as Module) : module;
}

const { Terminal } = named(headlessModule);
const { SerializeAddon } = named(serializeModule);

export interface ScreenEvents {
  /** An answer to a question of the program, for its input. */
  answer(data: string): void;
  /** The program turned bracketed paste on or off: whether it reads pastes now. */
  reads(reads: boolean): void;
}

export class Screen {
  readonly #terminal: InstanceType<typeof Terminal>;
  readonly #serializer: InstanceType<typeof SerializeAddon>;
  readonly #events: ScreenEvents;
  #reads = false;

  constructor(columns: number, rows: number, events: ScreenEvents) {
    this.#events = events;
    this.#terminal = new Terminal({
      cols: columns,
      rows,
      scrollback: LIMITS.terminal.scrollbackLines,
      allowProposedApi: true,
    });
    this.#serializer = new SerializeAddon();
    this.#terminal.loadAddon(this.#serializer);
    this.#terminal.onData((data) => events.answer(data));
  }

  get columns(): number {
    return this.#terminal.cols;
  }

  get rows(): number {
    return this.#terminal.rows;
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

  /** Calls `drawn` when everything written so far is on the screen, and nothing that is written later. */
  settled(drawn: () => void): void {
    this.#terminal.write("", drawn);
  }

  resize(columns: number, rows: number): void {
    this.#terminal.resize(columns, rows);
  }

  /** Whether a line that can be seen now fits. */
  shows(pattern: RegExp): boolean {
    const { active } = this.#terminal.buffer;
    for (let row = 0; row < this.rows; row += 1) {
      if (pattern.test(active.getLine(active.baseY + row)?.translateToString(true) ?? "")) return true;
    }
    return false;
  }

  /** Text that draws the screen with its scrollback and modes on an empty terminal of the same size. */
  serialize(): string {
    return this.#serializer.serialize();
  }

  dispose(): void {
    this.#terminal.dispose();
  }
}
