/**
 * Request ids: one random prefix per start of the process and a counter. They are in every answer
 * and log line.
 */
import type { Random } from "../random.ts";

export class RequestIds {
  readonly #prefix: string;
  #count = 0;

  constructor(random: Random) {
    this.#prefix = Buffer.from(random.bytes(6)).toString("hex");
  }

  next(): string {
    this.#count += 1;
    return `${this.#prefix}-${this.#count.toString(36)}`;
  }
}
