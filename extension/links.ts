/**
 * Links from outside: `vscode://svc.svc/group/<id>` opens the Group's Workbench,
 * `vscode://svc.svc/join#<invitation>` the form that accepts an invitation, and
 * `vscode://svc.svc/?connect_invite=<id>` the one that answers another account's.
 */
import * as vscode from "vscode";
import { readInvitation } from "../shared/address.ts";
import { LIMITS } from "../shared/limits.ts";
import { DIRECT } from "../shared/names.ts";
import { commandId } from "./contributions/commands.ts";
import { plain } from "./plain.ts";

const GROUP = /^\/group\/(g_[0-9a-f]{12})$/;

/** What a form may be filled with: one line, as an invitation is. */
const INVITATION = new RegExp(
  `^${DIRECT.invitationPrefix}[\\x21-\\x7e]{1,${LIMITS.direct.invitationCharacters}}$`,
);

/** A link only shows something: anyone can make one. */
export function registerLinks(): vscode.Disposable {
  return vscode.window.registerUriHandler({
    async handleUri({ path, query, fragment }) {
      const invitation = path === "" || path === "/" ? readInvitation(query) : null;
      if (invitation !== null) {
        await vscode.commands.executeCommand(commandId("answerInvitation"), { text: invitation });
        return;
      }
      if (path === "/join" && (fragment === "" || INVITATION.test(fragment))) {
        await vscode.commands.executeCommand(commandId("acceptInvitation"), { text: fragment });
        return;
      }
      const groupId = GROUP.exec(path)?.[1];
      if (groupId === undefined)
        void vscode.window.showErrorMessage(`svc doesn't know this link: ${plain(path.slice(0, 80))}`);
      else await vscode.commands.executeCommand(commandId("openWorkbench"), { kind: "group", groupId });
    },
  });
}
