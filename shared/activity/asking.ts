/** What an Actor does while a tool of its waits for a person, in words. */

/** The tools with which Claude speaks to its person. */
const SPEAKS: Readonly<Record<string, string>> = {
  AskUserQuestion: "asks you a question",
  ExitPlanMode: "asks you to approve its plan",
};

/** Words for a tool with which an agent asks its person; null for one that needs a permission. */
export function askingWords(toolName: string): string | null {
  return Object.hasOwn(SPEAKS, toolName) ? SPEAKS[toolName]! : null;
}
