/** The open folders that agents can work in. */
import * as vscode from "vscode";

/** Paths of the open folders on this machine's disk. Virtual folders have none. */
export function openFolders(): string[] {
  return (vscode.workspace.workspaceFolders ?? [])
    .filter(({ uri }) => uri.scheme === "file")
    .map(({ uri }) => uri.fsPath);
}
