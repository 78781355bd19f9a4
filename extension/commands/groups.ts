/** Attaching folders, and the ways to a Group's conversation. */
import * as vscode from "vscode";
import { endingOf } from "../../shared/connection-words.ts";
import { peerName } from "../../shared/connections-brief.ts";
import { VIEWS } from "../contributions/views.ts";
import { openFolders } from "../folders.ts";
import type { Parts } from "../parts.ts";
import { plain } from "../plain.ts";
import type { ConnectionRow } from "../views/connections-tree.ts";
import { type Handlers, needDaemon, needTrust, Over } from "./handling.ts";

/** The open folder to attach, as the person chooses when there are several. Throws Over. */
export async function chooseFolder(): Promise<string> {
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

export function groupCommands(parts: Parts) {
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
    async endConnection(given: unknown) {
      needTrust();
      await needDaemon(parts);
      const { kind, id } = given as ConnectionRow;
      if (kind === "instance") {
        // Its page asks once more.
        const origin = instance.account?.account_origin ?? null;
        if (origin === null) throw new Error("This instance isn't linked to an account any more.");
        await vscode.env.openExternal(vscode.Uri.parse(`${origin}/connect/${id}/disconnect`));
        return;
      }
      const relation = instance.relations.find((one) => one.id === id);
      if (relation === undefined) throw new Error("This connection is gone.");
      const { operation, act, consequences } = endingOf(relation);
      const question = `${act}: ${plain(peerName(relation))}?`;
      const detail = plain(consequences);
      if ((await vscode.window.showWarningMessage(question, { modal: true, detail }, act)) !== act)
        throw new Over();
      await link.client.result(operation, { group_id: relation.local.group_id, id });
      await instance.refreshConnections();
    },
    showNeedsYou: () => vscode.commands.executeCommand(`${VIEWS.needsYou.id}.focus`),
  } satisfies Handlers;
}
