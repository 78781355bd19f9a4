/** What is in the editor goes into a draft to an Actor. Nothing is sent without the person. */
import * as vscode from "vscode";
import { commandId } from "../contributions/commands.ts";
import type { Problem } from "../editor/problems.ts";
import { problemText, quotation } from "../editor/quotation.ts";
import type { Parts } from "../parts.ts";
import { chooseActor, type Handlers, needDaemon, needTrust } from "./handling.ts";

function pathOf(uri: vscode.Uri): string {
  return vscode.workspace.asRelativePath(uri, false).replaceAll("\\", "/");
}

/** The editor's active selection, or the line of the cursor. Throws without an editor. */
function selected(): string {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined) throw new Error("Open a file and select what you want to send.");
  const { document, selection } = editor;
  const range = selection.isEmpty ? document.lineAt(selection.active.line).range : selection;
  return quotation({
    path: pathOf(document.uri),
    firstLine: range.start.line + 1,
    lastLine: range.end.line + 1,
    language: document.languageId,
    text: document.getText(range),
  });
}

export function sendingCommands(parts: Parts) {
  const draft = async (text: string): Promise<void> => {
    needTrust();
    await needDaemon(parts);
    const row = await chooseActor(parts, null);
    await vscode.commands.executeCommand(commandId("openWorkbench"), { ...row, text });
  };
  return {
    sendSelection: () => draft(selected()),
    sendFile(given: unknown) {
      const uri = given instanceof vscode.Uri ? given : vscode.window.activeTextEditor?.document.uri;
      if (uri === undefined) throw new Error("Open the file that you want to send.");
      return draft(`${pathOf(uri)}:1\n\n`);
    },
    sendProblem(given: unknown) {
      const { uri, line, message } = given as Problem;
      return draft(problemText({ path: pathOf(uri), firstLine: line, lastLine: line }, message));
    },
  } satisfies Handlers;
}
