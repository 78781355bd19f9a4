/** What agents ask, in the words of a browser and of an editor. */
import { shownCode, shownName } from "./foreign-text.ts";
import type { Question } from "./operations/questions.ts";

/** What members of a tool's input are called, where their own name isn't the best word. */
const NAMES: Readonly<Record<string, string>> = {
  command: "Command",
  file_path: "File",
  old_string: "Removes",
  new_string: "Adds",
  content: "Content",
  description: "The agent says",
};

/** What a part of the tool's input is called. */
export function detailName(name: string): string {
  return Object.hasOwn(NAMES, name) ? NAMES[name]! : shownName(name);
}

/** Its text, with all that can't be seen made visible. */
export function detailText(text: string): string {
  return shownCode(text).replaceAll("\r", "\u240d");
}

/** What an agent asks, after its name: "asks to use Bash once". */
export function questionWords({ kind, tool_name: tool }: Pick<Question, "kind" | "tool_name">): string {
  return kind === "permission" ? `asks to use ${shownName(tool)} once` : "asks you";
}
