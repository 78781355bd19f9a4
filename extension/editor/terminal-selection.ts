/**
 * What is selected in a terminal. The editor gives it to extensions through the clipboard only,
 * whose text is put back afterwards.
 */
import { randomUUID } from "node:crypto";
import * as vscode from "vscode";

/** Throws when nothing is selected. */
export async function terminalSelection(): Promise<{ name: string; text: string }> {
  const terminal = vscode.window.activeTerminal;
  const nothing = new Error("Select what you want to send in a terminal.");
  if (terminal === undefined) throw nothing;
  const { clipboard } = vscode.env;
  const before = await clipboard.readText();
  // Tells a selection from none, which leaves the clipboard as it is.
  const mark = randomUUID();
  try {
    await clipboard.writeText(mark);
    await vscode.commands.executeCommand("workbench.action.terminal.copySelection");
    const text = await clipboard.readText();
    if (text === mark || text.trim() === "") throw nothing;
    return { name: terminal.name, text };
  } finally {
    await clipboard.writeText(before);
  }
}
