/** The operating system's randomness as `Random`. */
import { randomBytes, randomUUID } from "node:crypto";
import type { Random } from "./random.ts";

export class RealRandom implements Random {
  bytes(count: number): Uint8Array {
    return randomBytes(count);
  }

  uuid(): string {
    return randomUUID();
  }
}
