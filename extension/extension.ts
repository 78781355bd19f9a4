/** What the editor calls. `activate` only registers; everything else begins after it. */
import { join } from "node:path";
import * as vscode from "vscode";
import { resolveHome } from "../client/paths.ts";
import { registerDefinitions } from "./agents/definitions.ts";
import { registerCommands } from "./commands.ts";
import { CONTEXT } from "./contributions/contribution.ts";
import { VIEWS } from "./contributions/views.ts";
import { Claims } from "./daemon/claims.ts";
import { Instance, type Source } from "./daemon/instance.ts";
import { DaemonLink } from "./daemon/link.ts";
import { SavedGroups } from "./daemon/saved-groups.ts";
import { registerProblems } from "./editor/problems.ts";
import { openFolders } from "./folders.ts";
import { registerLinks } from "./links.ts";
import { notifyWaiting } from "./notifications.ts";
import type { Parts } from "./parts.ts";
import { offerCommand } from "./terminals/command.ts";
import { noticeVersions } from "./version-notice.ts";
import { ConnectionsTree } from "./views/connections-tree.ts";
import { GroupsTree } from "./views/groups-tree.ts";
import { InstancesTree } from "./views/instances-tree.ts";
import { NeedsYou } from "./views/needs-you.ts";
import { createStatusItem } from "./views/status-item.ts";
import { Webviews } from "./webviews/webviews.ts";

export function activate(context: vscode.ExtensionContext): void {
  const home = chosenHome();
  const link = new DaemonLink(home);
  const source: Source = { call: (name, input) => link.client.result(name, input) };
  const instance = new Instance(source);
  const saved = new SavedGroups(source, instance);
  const groupsTree = new GroupsTree(VIEWS.groups.id, instance, openFolders);
  const webviews = new Webviews(context, link.window);
  const claims = new Claims(join(context.globalStorageUri.fsPath, "notified"));
  const parts: Parts = { context, link, instance, claims, groupsTree, webviews };
  link.on("state", () => {
    if (link.state !== "online") instance.clear();
    void setContext(parts);
  });
  instance.on("change", () => void setContext(parts));
  context.subscriptions.push(
    groupsTree,
    new InstancesTree(VIEWS.instances.id, instance, saved),
    new NeedsYou(VIEWS.needsYou.id, instance),
    new ConnectionsTree(VIEWS.connections.id, instance),
    createStatusItem(link, instance),
    ...registerCommands(parts),
    webviews,
    ...registerDefinitions(parts),
    registerLinks(),
    registerProblems(),
    vscode.workspace.onDidChangeWorkspaceFolders(() => {
      groupsTree.refresh();
      void setContext(parts);
    }),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("svc.home") && chosenHome() !== home) void offerReload();
    }),
    { dispose: () => link.close() },
  );
  noticeVersions(parts);
  offerCommand(parts);
  setImmediate(() => {
    link.open(instance);
    link.window.watchNeedsYou((items) => instance.needsYou(items));
    notifyWaiting(parts);
  });
}

/** The Home that the settings name, as far as this workspace may name one. */
function chosenHome(): string {
  const named = vscode.workspace.getConfiguration("svc").get<string>("home", "");
  return named === "" ? resolveHome(process.env) : resolveHome({ SVC_HOME: named });
}

/** A window has one Home from its start to its end. */
async function offerReload(): Promise<void> {
  const reload = "Reload the Window";
  const said = "The setting svc.home has changed. It takes effect when the window is loaded again.";
  if ((await vscode.window.showInformationMessage(said, reload)) === reload)
    await vscode.commands.executeCommand("workbench.action.reloadWindow");
}

async function setContext({ link, instance }: Parts): Promise<void> {
  const set = (key: string, value: unknown) => vscode.commands.executeCommand("setContext", key, value);
  // While the first answers are read, the views show that rather than that there is nothing.
  const state = link.state === "online" && !instance.loaded ? "connecting" : link.state;
  await set(CONTEXT.connection, state);
  await set(CONTEXT.hasInstances, instance.others?.length !== 0);
  const [folders, groups] = [openFolders(), instance.groups];
  const isOpen = ({ path }: { path: string }) => folders.includes(path);
  await set(
    CONTEXT.hasFolderGroup,
    groups.some(({ scopes }) => scopes?.some(isOpen) === true),
  );
  await set(
    CONTEXT.hasActors,
    groups.some(({ summary }) => summary.actors > 0),
  );
}

/** Everything is in `context.subscriptions`. */
export function deactivate(): void {}
