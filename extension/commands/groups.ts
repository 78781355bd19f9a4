/** Attaching folders, and the ways to a Group's conversation. */
import * as vscode from "vscode";
import { VIEWS } from "../contributions/views.ts";
import { openFolders } from "../folders.ts";
import type { Parts } from "../parts.ts";
import { type Handlers, needDaemon, needTrust, Over } from "./handling.ts";

/** The open folder to attach, as the person chooses when there are several. Throws Over. */
async function chooseFolder(): Promise<string> {
  const folders = openFolders();
  const [only] = folders;
  if (only === undefined)
    throw new Error("Open a folder on this machine first. Agents work in folders on disk.");
  if (folders.length === 1) return only;
  const chosen = await vscode.window.showQuickPick(folders, {
    title: "Which folder?",
    placeHolder: "Folder",
  });
  if (chosen === undefined) throw new Over();
  return chosen;
}

export function groupCommands(parts: Parts): Handlers {
  const { link, groupsTree, instance } = parts;
  return {
    async attachFolder() {
      needTrust();
      await needDaemon(parts);
      const path = await chooseFolder();
      const { group_id: groupId } = await link.client.result("attach", { path });
      await instance.refresh();
      await vscode.commands.executeCommand(`${VIEWS.groups.id}.focus`);
      await groupsTree.view.reveal({ kind: "group", groupId }, { expand: true });
    },
    async openInBrowser() {
      await needDaemon(parts);
      const { url } = await link.client.result("login_link_create", {});
      await vscode.env.openExternal(vscode.Uri.parse(url));
    },
    showNeedsYou: () => vscode.commands.executeCommand(`${VIEWS.needsYou.id}.focus`),
  };
}
