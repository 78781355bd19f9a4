/** Text from standard input. */
import { LIMITS } from "../shared/limits.ts";
import { UsageError } from "./usage-error.ts";

/** All of it as UTF-8, up to what an operation accepts. Throws UsageError. */
export async function readInput(): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of process.stdin) {
    chunks.push(chunk as Buffer);
    length += (chunk as Buffer).length;
    if (length > LIMITS.body.jsonBytes)
      throw new UsageError(`Standard input is longer than ${LIMITS.body.jsonBytes} bytes.`);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks));
  } catch {
    throw new UsageError("Standard input isn't UTF-8 text.");
  }
}
