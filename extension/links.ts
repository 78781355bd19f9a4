/** Links from outside: `vscode://svc.svc/group/<id>` opens the Group's Workbench. */
import * as vscode from "vscode";
import { commandId } from "./contributions/commands.ts";
import { plain } from "./plain.ts";

const GROUP = /^\/group\/(g_[0-9a-f]{12})$/;

/** A link only shows something: anyone can make one. */
export function registerLinks(): vscode.Disposable {
  return vscode.window.registerUriHandler({
    async handleUri({ path }) {
      const groupId = GROUP.exec(path)?.[1];
      if (groupId === undefined)
        void vscode.window.showErrorMessage(`svc doesn't know this link: ${plain(path.slice(0, 80))}`);
      else await vscode.commands.executeCommand(commandId("openWorkbench"), { kind: "group", groupId });
    },
  });
}
