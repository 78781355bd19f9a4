/** Problems that the editor shows, as something that an Actor can be asked about. */
import * as vscode from "vscode";
import { commandId } from "../contributions/commands.ts";

/** What the code action hands to its command. */
export interface Problem {
  uri: vscode.Uri;
  line: number;
  message: string;
}

/** Offers each problem under the cursor to an Actor. */
export function registerProblems(): vscode.Disposable {
  const kind = vscode.CodeActionKind.QuickFix;
  return vscode.languages.registerCodeActionsProvider(
    { scheme: "file" },
    {
      provideCodeActions(document, _range, { diagnostics }) {
        return diagnostics.map((diagnostic) => {
          const action = new vscode.CodeAction("Send this problem to an Actor", kind);
          const line = diagnostic.range.start.line + 1;
          const problem: Problem = { uri: document.uri, line, message: diagnostic.message };
          action.command = { command: commandId("sendProblem"), title: action.title, arguments: [problem] };
          action.diagnostics = [diagnostic];
          return action;
        });
      },
    },
    { providedCodeActionKinds: [kind] },
  );
}
