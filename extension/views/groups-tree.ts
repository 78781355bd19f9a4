/** The tree of Groups and Actors. A row says what an Actor does, since when, and why it waits. */

import { basename } from "node:path";
import * as vscode from "vscode";
import { actorName, actorReason, actorWords, hasTerminal, rowWords } from "../../shared/actor-words.ts";
import type { ActorWithPresence } from "../../shared/operations/actors.ts";
import { exact, lasting } from "../../shared/time-words.ts";
import { labelled } from "../../shared/voice.ts";
import type { Instance, KnownGroup } from "../daemon/instance.ts";
import { plain } from "../plain.ts";
import { InstanceTree } from "./instance-tree.ts";
import { toned } from "./tones.ts";

/** A row of the tree; commands get it. */
export type Row = GroupRow | ActorRow;
export interface GroupRow {
  kind: "group";
  groupId: string;
}
export interface ActorRow {
  kind: "actor";
  groupId: string;
  actorId: string;
}

export class GroupsTree extends InstanceTree<Row> {
  readonly #folders: () => readonly string[];

  /** `folders` are the paths of the open folders, whose Groups come first. */
  constructor(id: string, instance: Instance, folders: () => readonly string[]) {
    super(id, instance, { showCollapseAll: true });
    this.#folders = folders;
  }

  protected rows(row?: Row): Row[] {
    if (row === undefined) {
      if (!this.instance.loaded) return [];
      return this.#sorted().map(({ summary }) => ({ kind: "group", groupId: summary.group_id }));
    }
    if (row.kind === "actor") return [];
    const { actors } = this.instance.find(row.groupId) ?? {};
    return (actors ?? []).map(({ id }) => ({ kind: "actor", groupId: row.groupId, actorId: id }));
  }

  getParent(row: Row): Row | undefined {
    return row.kind === "actor" ? { kind: "group", groupId: row.groupId } : undefined;
  }

  getTreeItem(row: Row): vscode.TreeItem {
    const group = this.instance.find(row.groupId);
    if (group === undefined) return new vscode.TreeItem("");
    if (row.kind === "group") return groupItem(group, this.#isOpen(group));
    const actor = this.instance.actor(row.groupId, row.actorId);
    return actor === undefined ? new vscode.TreeItem("") : actorItem(row.groupId, actor, this.now);
  }

  #sorted(): KnownGroup[] {
    const { groups } = this.instance;
    return [
      ...groups.filter((group) => this.#isOpen(group)),
      ...groups.filter((group) => !this.#isOpen(group)),
    ];
  }

  #isOpen({ scopes }: KnownGroup): boolean {
    const folders = this.#folders();
    return (scopes ?? []).some(({ path }) => folders.includes(path));
  }
}

function groupItem({ summary, scopes, actors }: KnownGroup, isOpen: boolean): vscode.TreeItem {
  const { group_id: groupId, title, state, attention, unread, damage } = summary;
  const collapsed = actors === null || isOpen || attention > 0;
  const item = new vscode.TreeItem(
    plain(labelled(title)),
    collapsed ? vscode.TreeItemCollapsibleState.Expanded : vscode.TreeItemCollapsibleState.Collapsed,
  );
  item.id = groupId;
  item.contextValue = `group ${state}`;
  item.iconPath = new vscode.ThemeIcon(isOpen ? "root-folder" : "comment-discussion");
  const counts = [
    attention > 0 ? `${attention} waiting for you` : "",
    unread > 0 ? `${unread} unread` : "",
    state === "active" || state === "idle" ? "" : state,
    damage === undefined ? "" : "history damaged",
  ].filter((part) => part !== "");
  item.description = counts.join(" · ");
  const folders = (scopes ?? []).map(({ path }) => plain(path));
  item.tooltip = [plain(labelled(title)), ...folders, ...counts].join("\n");
  item.accessibilityInformation = {
    label: [
      `Group ${plain(labelled(title))}`,
      ...counts,
      ...(scopes ?? []).map(({ path }) => basename(path)),
    ].join(", "),
  };
  return item;
}

function actorItem(groupId: string, actor: ActorWithPresence, now: number): vscode.TreeItem {
  const { presence } = actor;
  const { icon, word, tone } = actorWords(presence);
  const reason = plain(actorReason(presence));
  const since = presence.since === null ? "" : lasting(presence.since, now);
  const name = plain(actorName(actor));
  const item = new vscode.TreeItem(name, vscode.TreeItemCollapsibleState.None);
  item.id = `${groupId} ${actor.id}`;
  item.iconPath = toned(icon, tone);
  item.contextValue = ["actor", ...abilities(actor)].join(" ");
  const mail = presence.unread_mail > 0 ? `${presence.unread_mail} unread Mail` : "";
  const row = rowWords(presence, false);
  const said = [plain(row.word), since, plain(row.reason), mail].filter((part) => part !== "");
  item.description = said.join(" · ");
  item.tooltip = [
    name === actor.id ? name : `${name} (${actor.id})`,
    `${actor.role} · ${actor.runtime}${hasTerminal(actor) ? "" : ", started by others"}`,
    [word, reason].filter((part) => part !== "").join(": "),
    presence.since === null ? "" : `since ${exact(presence.since)}`,
    presence.held === undefined ? "" : plain(presence.held),
    mail,
  ]
    .filter((line) => line !== "")
    .join("\n");
  item.accessibilityInformation = { label: [`Actor ${name}`, ...said].join(", ") };
  return item;
}

/** What can be done with the Actor, as words that the menus look for. */
function abilities(actor: ActorWithPresence): string[] {
  const { state } = actor.presence;
  const isStopped = state === "stopped" || state === "failed" || !actor.enabled;
  return [
    ...(hasTerminal(actor) ? ["terminal"] : []),
    isStopped ? "startable" : "stoppable",
    ...(hasTerminal(actor) && state === "working" ? ["interruptible"] : []),
  ];
}
