/** What is in the editor goes into a draft to an Actor. Nothing is sent without the person. */
import * as vscode from "vscode";
import { commandId } from "../contributions/commands.ts";
import type { Problem } from "../editor/problems.ts";
import { problemText, quotation, terminalQuotation } from "../editor/quotation.ts";
import { terminalSelection } from "../editor/terminal-selection.ts";
import type { Parts } from "../parts.ts";
import { plain } from "../plain.ts";
import { chooseActor, type Handlers, needDaemon, needTrust } from "./handling.ts";

/** Relative to its folder. Earlier versions of a file have the file's path in another scheme. */
function pathOf(uri: vscode.Uri): string {
  const file = uri.path.startsWith("/") ? vscode.Uri.file(uri.fsPath) : uri;
  return vscode.workspace.asRelativePath(file, false).replaceAll("\\", "/");
}

/** Which side of a diff the document is; undefined outside of a diff. */
function versionOf(uri: vscode.Uri): string | undefined {
  const { input } = vscode.window.tabGroups.activeTabGroup.activeTab ?? {};
  if (!(input instanceof vscode.TabInputTextDiff)) return undefined;
  const { original, modified } = input;
  const is = (side: vscode.Uri) => side.toString() === uri.toString();
  if (!is(original) && !is(modified)) return undefined;
  // Two versions of one file, or two files that are compared.
  const [left, right] =
    original.path === modified.path
      ? ["before the change", "after the change"]
      : ["left side of the comparison", "right side of the comparison"];
  return is(original) ? left : right;
}

/** The editor's active selection, or the line of the cursor. Throws without an editor. */
function selected(): string {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined) throw new Error("Open a file and select what you want to send.");
  const { document, selection } = editor;
  const range = selection.isEmpty ? document.lineAt(selection.active.line).range : selection;
  const version = versionOf(document.uri);
  return quotation({
    path: pathOf(document.uri),
    firstLine: range.start.line + 1,
    lastLine: range.end.line + 1,
    ...(version === undefined ? {} : { version }),
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
    async sendTerminalSelection() {
      needTrust();
      const { name, text } = await terminalSelection();
      await draft(terminalQuotation(plain(name), text));
    },
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
