/** Asks the person before something that can't be undone. */
import { createInterface } from "node:readline/promises";
import type { CommandContext } from "./context.ts";

/** Asks at a terminal. Elsewhere, and with --yes, the command itself is the answer. */
export async function agreed(context: CommandContext, question: string): Promise<boolean> {
  if (context.has("yes") || !process.stdin.isTTY || !process.stderr.isTTY) return true;
  const asked = createInterface({ input: process.stdin, output: process.stderr });
  // Ctrl+C and Ctrl+D are not consent.
  const answer = await asked.question(`${question} [y/N] `).catch(() => {
    context.out.note("");
    return "";
  });
  asked.close();
  return /^y(es)?$/i.test(answer.trim());
}
