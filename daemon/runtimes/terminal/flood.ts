/**
 * Output on its way to a screen and its viewers. A little of it is passed on at once. A flood is
 * collected for a moment too short to notice, and what could never be seen of it is left out
 * (thinning.ts). The more comes together, the less must be drawn.
 */
import type { Clock, Timer } from "../../../platform/clock.ts";
import { Thinning } from "./thinning.ts";

const MOMENT_MS = 100;
/** More within a moment is a flood. */
const FLOOD_BYTES = 128 * 1024;
/** A flood is passed on when this much of it has come. */
const GATHERED_BYTES = 8 * 1024 * 1024;

export class Flood {
  readonly #clock: Pick<Clock, "monotonic" | "after">;
  readonly #lines: () => number;
  readonly #pass: (bytes: Buffer) => void;
  readonly #thinning = new Thinning();
  #momentBegan = Number.NEGATIVE_INFINITY;
  #passed = 0;
  #pieces: Uint8Array[] = [];
  #gathered = 0;
  /** Set while a flood is gathered. */
  #timer: Timer | null = null;

  /**
   * `lines` says how many must not be left out (see thinning.ts). `pass` gets the output in order.
   */
  constructor(clock: Pick<Clock, "monotonic" | "after">, lines: () => number, pass: (bytes: Buffer) => void) {
    this.#clock = clock;
    this.#lines = lines;
    this.#pass = pass;
  }

  push(bytes: Uint8Array): void {
    this.#thinning.see(bytes);
    this.#pieces.push(bytes);
    this.#gathered += bytes.length;
    if (this.#timer !== null) {
      if (this.#gathered >= GATHERED_BYTES) this.flush();
      return;
    }
    const now = this.#clock.monotonic();
    if (now - this.#momentBegan > MOMENT_MS) {
      this.#momentBegan = now;
      this.#passed = 0;
    }
    this.#passed += bytes.length;
    this.flush();
    if (this.#passed > FLOOD_BYTES) this.#gather();
  }

  /** Passes on what was gathered. */
  flush(): void {
    if (this.#gathered === 0) return;
    const output = Buffer.concat(this.#pieces, this.#gathered);
    this.#pieces = [];
    this.#gathered = 0;
    this.#pass(output.length > FLOOD_BYTES ? this.#thinning.thinned(output, this.#lines()) : output);
  }

  /** Nothing is passed on from now on. */
  stop(): void {
    this.#timer?.cancel();
    this.#pieces = [];
    this.#gathered = 0;
  }

  #gather(): void {
    this.#timer = this.#clock.after(
      MOMENT_MS,
      () => {
        this.#timer = null;
        const isOver = this.#gathered < FLOOD_BYTES;
        this.flush();
        if (!isOver) this.#gather();
      },
      { background: true },
    );
  }
}
