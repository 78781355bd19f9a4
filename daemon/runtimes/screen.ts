/** The daemon's own screen of a terminal: what a viewer that comes later sees at once. It also answers what programs ask of a terminal. */
import * as serializeModule from "@xterm/addon-serialize";
import * as headlessModule from "@xterm/headless";
import { LIMITS } from "../../shared/limits.ts";
import { thinned } from "./thinning.ts";

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
  /** Output that wasn't handed to the terminal yet, and who waits for it. */
  #waiting = "";
  #drawn: (() => void)[] = [];
  /** Writes that the terminal hasn't drawn yet. */
  #drawing = 0;

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
    this.#waiting += data;
    this.#drawn.push(drawn);
    if (this.#drawing === 0) this.#draw();
  }

  /** Calls `drawn` when everything written so far is on the screen, and nothing that is written later. */
  settled(drawn: () => void): void {
    if (this.#waiting !== "") this.#draw();
    this.#terminal.write("", drawn);
  }

  /** Hands everything that waits to the terminal. What is written while it draws goes together, so that a flood can be thinned. */
  #draw(): void {
    const output = thinned(this.#waiting, LIMITS.terminal.scrollbackLines + 2 * this.rows);
    const drawn = this.#drawn;
    this.#waiting = "";
    this.#drawn = [];
    this.#drawing += 1;
    this.#terminal.write(output, () => {
      this.#drawing -= 1;
      const reads = this.#terminal.modes.bracketedPasteMode;
      if (reads !== this.#reads) {
        this.#reads = reads;
        this.#events.reads(reads);
      }
      for (const done of drawn) done();
      if (this.#drawing === 0 && this.#waiting !== "") this.#draw();
    });
  }

  resize(columns: number, rows: number): void {
    this.#terminal.resize(columns, rows);
  }

  /** Text that draws the screen with its scrollback and modes on an empty terminal of the same size. */
  serialize(): string {
    return this.#serializer.serialize();
  }

  dispose(): void {
    this.#terminal.dispose();
  }
}
