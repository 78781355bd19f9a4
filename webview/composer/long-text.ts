/** Text that doesn't fit into a message: it goes along as a file. */
import { LIMITS } from "../../shared/limits.ts";

/** Browsers take seconds to paste tens of thousands of lines into a text field. */
const MOST_LINES = 4000;
const encoder = new TextEncoder();

export function bytesOf(text: string): number {
  return encoder.encode(text).length;
}

/** How many bytes of the message's room are left; less than 0 when it is too long. */
export function roomLeft(text: string): number {
  return LIMITS.message.textBytes - bytesOf(text);
}

/** Whether a text can be added to one of so many bytes. */
export function fits(written: number, added: string): boolean {
  if (written + added.length > LIMITS.message.textBytes) return false;
  return roomLeft(added) >= written && added.split("\n", MOST_LINES + 1).length <= MOST_LINES;
}

/** The text as a file with a name that none of `names` is. */
export function textFile(text: string, names: readonly string[]): File {
  let name = "Pasted text.txt";
  for (let count = 2; names.includes(name); count += 1) name = `Pasted text ${count}.txt`;
  return new File([text], name, { type: "text/plain" });
}
