/** The tree of connections of every kind: with whom, in which state, and what ends them. */

import * as vscode from "vscode";
import {
  connectionLook,
  connectionName,
  connectionSentence,
  kindWord,
} from "../../shared/any-connection-words.ts";
import { connectionWords, endingOf } from "../../shared/connection-words.ts";
import { isPast, peerName } from "../../shared/connections-brief.ts";
import type { Connection } from "../../shared/operations/connect.ts";
import type { DirectRelation } from "../../shared/operations/direct.ts";
import { EXTERNAL_ENDING } from "../../shared/sharing-words.ts";
import { exact } from "../../shared/time-words.ts";
import { labelled } from "../../shared/voice.ts";
import { commandId } from "../contributions/commands.ts";
import type { Instance } from "../daemon/instance.ts";
import { plain } from "../plain.ts";
import { InstanceTree } from "./instance-tree.ts";
import { toned } from "./tones.ts";

/** The stream says nothing of connections: they are read again while the view is seen. */
const READ_MS = 5000;
/** How often they are read while it isn't: someone may join the account. */
const READ_HIDDEN_MS = 30_000;

/** A row of the tree; commands get it. */
export interface ConnectionRow {
  /** Direct, or through an account. */
  kind: "connection" | "instance";
  id: string;
}

export class ConnectionsTree extends InstanceTree<ConnectionRow> {
  constructor(id: string, instance: Instance) {
    super(id, instance);
    const readWhile = (isFor: () => boolean, milliseconds: number) =>
      this.every(milliseconds, () => {
        if (isFor() && instance.loaded) instance.refreshConnections().catch(() => {});
      });
    readWhile(() => this.view.visible, READ_MS);
    readWhile(() => !this.view.visible, READ_HIDDEN_MS);
  }

  override refresh(): void {
    this.say(messageOf(this.instance));
    super.refresh();
  }

  protected rows(row?: ConnectionRow): ConnectionRow[] {
    if (row !== undefined || !this.instance.loaded) return [];
    const { relations, accountConnections } = this.instance;
    const direct = (list: readonly DirectRelation[]) =>
      list.map(({ id }): ConnectionRow => ({ kind: "connection", id }));
    return [
      ...direct(relations.filter((one) => !isPast(one))),
      ...accountConnections.map(({ id }): ConnectionRow => ({ kind: "instance", id })),
      ...direct(relations.filter(isPast)),
    ];
  }

  getTreeItem({ kind, id }: ConnectionRow): vscode.TreeItem {
    if (kind === "instance") {
      const instance = this.instance.accountConnections.find((one) => one.id === id);
      if (instance === undefined) return new vscode.TreeItem("");
      const { group_id: groupId } = instance;
      return groupId === null
        ? instanceItem(instance)
        : externalItem(instance, groupId, this.instance.find(groupId)?.summary.title ?? groupId);
    }
    const relation = this.instance.relations.find((one) => one.id === id);
    return relation === undefined ? new vscode.TreeItem("") : connectionItem(relation);
  }
}

/** An empty list isn't "none" while the account service doesn't confirm it. */
function messageOf(instance: Instance): string {
  const isUnconfirmed =
    instance.account?.state === "linked" &&
    instance.groups.some(({ summary }) => instance.sharedBy(summary.group_id) === null);
  return isUnconfirmed ? "Connections to other accounts aren't confirmed now." : "";
}

/** A connection of a Group here with one of another account. */
function externalItem(connection: Connection, groupId: string, title: string): vscode.TreeItem {
  const item = instanceItem(connection);
  const local = plain(labelled(title));
  item.contextValue = "external";
  item.description = `${connectionLook(connection.state).word} · ${local}`;
  const since = connection.since === null ? [] : [`Since ${exact(connection.since)}`];
  item.tooltip = [`${local} with ${tooltipOf(connection)}`, ...since, EXTERNAL_ENDING].join("\n");
  item.command = {
    command: commandId("showConnections"),
    title: "Show the connections",
    arguments: [{ kind: "group", groupId }],
  };
  return item;
}

function instanceItem(connection: Connection): vscode.TreeItem {
  const { id, kind, state } = connection;
  const { icon, tone, word } = connectionLook(state);
  const name = plain(connectionName(connection));
  const item = new vscode.TreeItem(name, vscode.TreeItemCollapsibleState.None);
  item.id = id;
  item.iconPath = toned(icon, tone);
  item.contextValue = "instance";
  item.description = `${word} · ${kindWord(kind)}`;
  item.tooltip = tooltipOf(connection);
  item.accessibilityInformation = { label: `${name} of ${kindWord(kind)}, ${word}` };
  item.command = { command: commandId("showAccount"), title: "Show the account" };
  return item;
}

function tooltipOf(connection: Connection): string {
  const { kind, state, last_contact_at: lastContactAt } = connection;
  return [
    `${plain(connectionName(connection))}, of ${kindWord(kind)}`,
    `${connectionLook(state).word}: ${plain(connectionSentence(connection))}`,
    lastContactAt === null ? "No contact yet" : `Last contact ${exact(lastContactAt)}`,
  ].join("\n");
}

function connectionItem(relation: DirectRelation): vscode.TreeItem {
  const { icon, tone, word, sentence } = connectionWords(relation);
  const name = plain(peerName(relation));
  const item = new vscode.TreeItem(name, vscode.TreeItemCollapsibleState.None);
  item.id = relation.id;
  item.iconPath = toned(icon, tone);
  item.contextValue = `connection ${endingOf(relation).operation === "connect_direct_remove" ? "removable" : "revocable"}`;
  const local = plain(labelled(relation.local.title));
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
