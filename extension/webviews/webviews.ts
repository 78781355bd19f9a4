/** The panels of the Workbench. */
import * as vscode from "vscode";
import { commandId } from "../contributions/commands.ts";
import type { Parts } from "../parts.ts";

/** Registers everything that is drawn by a webview. */
export function registerWebviews({ link }: Parts): vscode.Disposable[] {
  return [
    vscode.commands.registerCommand(commandId("openWorkbench"), async () => {
      const { url } = await link.client.result("login_link_create", {});
      await vscode.env.openExternal(vscode.Uri.parse(url));
    }),
  ];
}
