/** The tree of Direct connections: with whom, in which state, and what ends them. */
import * as vscode from "vscode";
import { connectionWords, endingOf, isPast, peerName } from "../../shared/connection-words.ts";
import type { DirectRelation } from "../../shared/operations/direct.ts";
import { commandId } from "../contributions/commands.ts";
import type { Instance } from "../daemon/instance.ts";
import { plain } from "../plain.ts";
import { toned } from "./tones.ts";

/** The stream says nothing of connections: they are read again while the view is seen. */
const READ_MS = 5000;

/** A row of the tree; commands get it. */
export interface ConnectionRow {
  kind: "connection";
  id: string;
}

export class ConnectionsTree implements vscode.TreeDataProvider<ConnectionRow>, vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.#changed.event;
  readonly #view: vscode.TreeView<ConnectionRow>;
  readonly #instance: Instance;
  readonly #timer: NodeJS.Timeout;

  constructor(id: string, instance: Instance) {
    this.#instance = instance;
    this.#view = vscode.window.createTreeView(id, { treeDataProvider: this });
    instance.on("change", () => this.#changed.fire());
    this.#timer = setInterval(() => {
      if (this.#view.visible && instance.loaded) instance.refreshConnections().catch(() => {});
    }, READ_MS);
    this.#timer.unref();
  }

  getChildren(row?: ConnectionRow): ConnectionRow[] {
    if (row !== undefined || !this.#instance.loaded) return [];
    const { relations } = this.#instance;
    return [...relations.filter((one) => !isPast(one)), ...relations.filter(isPast)].map(({ id }) => ({
      kind: "connection",
      id,
    }));
  }

  getTreeItem({ id }: ConnectionRow): vscode.TreeItem {
    const relation = this.#instance.relations.find((one) => one.id === id);
    return relation === undefined ? new vscode.TreeItem("") : connectionItem(relation);
  }

  dispose(): void {
    clearInterval(this.#timer);
    this.#view.dispose();
    this.#changed.dispose();
  }
}

function connectionItem(relation: DirectRelation): vscode.TreeItem {
  const { icon, tone, word, sentence } = connectionWords(relation);
  const name = plain(peerName(relation));
  const item = new vscode.TreeItem(name, vscode.TreeItemCollapsibleState.None);
  item.id = relation.id;
  item.iconPath = toned(icon, tone);
  item.contextValue = `connection ${endingOf(relation).operation === "connect_direct_remove" ? "removable" : "revocable"}`;
  const local = plain(relation.local.title);
  item.description = `${word} · ${local}`;
  const error = relation.error === null ? [] : [plain(relation.error)];
  item.tooltip = [`${local} with ${name}`, `${word}: ${sentence}`, ...error].join("\n");
  item.accessibilityInformation = { label: `Connection of ${local} with ${name}, ${word}` };
  item.command = {
    command: commandId("openWorkbench"),
    title: "Open the Workbench",
    arguments: [{ kind: "group", groupId: relation.local.group_id }],
  };
  return item;
}
