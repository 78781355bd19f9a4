/**
 * The tree of the account's other instances, each with its state in words and the Groups that the
 * daemon here saw there last. What is in them opens in a browser: only the page of an instance may
 * show another one in a frame (docs/extension.md#other-instances).
 */

import * as vscode from "vscode";
import { connectionLook, connectionSentence } from "../../shared/any-connection-words.ts";
import type { Connection } from "../../shared/operations/connect.ts";
import { exact } from "../../shared/time-words.ts";
import { labelled } from "../../shared/voice.ts";
import { commandId } from "../contributions/commands.ts";
import type { Instance, OtherInstance } from "../daemon/instance.ts";
import type { Saved, SavedGroups } from "../daemon/saved-groups.ts";
import { plain } from "../plain.ts";
import { InstanceTree } from "./instance-tree.ts";
import { toned } from "./tones.ts";

/** How often the Groups of the rows that are open are read while the view is seen. */
const READ_MS = 5000;

/** A row of the tree; commands get it. */
export type OtherRow = OtherInstanceRow | OtherGroupRow | NoteRow;
export interface OtherInstanceRow {
  kind: "other-instance";
  instanceId: string;
}
export interface OtherGroupRow {
  kind: "other-group";
  instanceId: string;
  /** Of that instance. */
  otherGroupId: string;
}
/** Says something instead of Groups, or after them. */
interface NoteRow {
  kind: "other-note";
  instanceId: string;
}

export class InstancesTree extends InstanceTree<OtherRow> {
  readonly #saved: SavedGroups;
  readonly #open = new Set<string>();
  readonly #watching: vscode.Disposable[];

  constructor(id: string, instance: Instance, saved: SavedGroups) {
    super(id, instance, { showCollapseAll: true });
    this.#saved = saved;
    this.#watching = [
      this.view.onDidExpandElement(({ element: { instanceId } }) => {
        this.#open.add(instanceId);
        this.#read(instanceId);
      }),
      this.view.onDidCollapseElement(({ element: { instanceId } }) => this.#open.delete(instanceId)),
      this.view.onDidChangeVisibility(() => this.#readOpen()),
    ];
    this.every(READ_MS, () => this.#readOpen());
  }

  override refresh(): void {
    const { loaded, others } = this.instance;
    this.say(loaded && others === null ? "The account service doesn't confirm this instance now." : "");
    this.#saved.tidy();
    super.refresh();
  }

  override getChildren(row?: OtherRow): OtherRow[] {
    if (row?.kind === "other-instance") {
      const { instanceId } = row;
      const other = this.#other(instanceId);
      // The editor remembers which rows are open, and says nothing about those.
      this.#open.add(instanceId);
      if (other !== undefined && this.#saved.of(other) === null) this.#read(instanceId);
    }
    return super.getChildren(row);
  }

  protected rows(row?: OtherRow): OtherRow[] {
    if (!this.instance.loaded) return [];
    const others = this.instance.others ?? [];
    if (row === undefined)
      return others.map(({ instance_id: instanceId }) => ({ kind: "other-instance", instanceId }));
    const other = this.#other(row.instanceId);
    if (row.kind !== "other-instance" || other === undefined) return [];
    const { instanceId } = row;
    const saved = this.#saved.of(other);
    const groups = (saved?.groups ?? []).map(
      ({ group_id: otherGroupId }): OtherRow => ({ kind: "other-group", instanceId, otherGroupId }),
    );
    return noteOf(saved) === null ? groups : [...groups, { kind: "other-note", instanceId }];
  }

  getTreeItem(row: OtherRow): vscode.TreeItem {
    const other = this.#other(row.instanceId);
    if (other === undefined) return new vscode.TreeItem("");
    const saved = this.#saved.of(other);
    switch (row.kind) {
      case "other-instance":
        return otherItem(other, this.#connectionOf(other), saved);
      case "other-group":
        return groupItem(other, saved, row);
      case "other-note": {
        const item = new vscode.TreeItem(noteOf(saved) ?? "");
        item.id = `${row.instanceId} note`;
        return item;
      }
    }
  }

  override dispose(): void {
    for (const one of this.#watching) one.dispose();
    super.dispose();
  }

  #other(instanceId: string): OtherInstance | undefined {
    return this.instance.others?.find((one) => one.instance_id === instanceId);
  }

  #connectionOf({ instance_id: instanceId }: OtherInstance): Connection | undefined {
    return this.instance.connections.find(
      ({ kind, remote }) => kind === "account" && remote?.instance_id === instanceId,
    );
  }

  #readOpen(): void {
    if (!this.view.visible || !this.instance.loaded) return;
    for (const instanceId of this.#open) this.#read(instanceId);
  }

  #read(instanceId: string): void {
    const other = this.#other(instanceId);
    if (other === undefined) return;
    void this.#saved.read(other).then((isNew) => {
      if (isNew) super.refresh();
    });
  }
}

/** What a row says where the Groups don't speak for themselves. */
function noteOf(saved: Saved | null): string | null {
  if (saved === null) return "Reading its Groups…";
  if (saved.failed) return "Its Groups can't be read now";
  if (saved.at === null) return "Its Groups aren't known yet";
  if (saved.groups.length === 0) return "It has no Groups";
  return saved.more ? "It has more Groups: open it in the browser" : null;
}

function otherItem(
  { instance_id: id, name: given, origin }: OtherInstance,
  connection: Connection | undefined,
  saved: Saved | null,
): vscode.TreeItem {
  const name = plain(labelled(given));
  const { word, tone } = connectionLook(connection?.state ?? (origin === null ? "no_route" : "not_tried"));
  const item = new vscode.TreeItem(name, vscode.TreeItemCollapsibleState.Collapsed);
  item.id = id;
  item.contextValue = `other-instance${origin === null ? "" : " reachable"}`;
  item.iconPath = toned("server", tone);
  item.description = word;
  const sentence = connection === undefined ? "" : plain(connectionSentence(connection));
  const at = saved?.at ?? null;
  item.tooltip = [
    name,
    sentence === "" ? word : `${word}: ${sentence}`,
    plain(origin ?? ""),
    at === null ? "" : `Its Groups are as they were on ${exact(at)}`,
  ]
    .filter((line) => line !== "")
    .join("\n");
  item.accessibilityInformation = { label: `Instance ${name}, ${word}` };
  return item;
}

function groupItem(other: OtherInstance, saved: Saved | null, row: OtherGroupRow): vscode.TreeItem {
  const { instanceId, otherGroupId } = row;
  const group = saved?.groups.find(({ group_id: groupId }) => groupId === otherGroupId);
  if (group === undefined) return new vscode.TreeItem("");
  const title = plain(labelled(group.title));
  const name = plain(labelled(other.name));
  const item = new vscode.TreeItem(title, vscode.TreeItemCollapsibleState.None);
  item.id = `${instanceId} ${otherGroupId}`;
  item.contextValue = `other-group${other.origin === null ? "" : " reachable"}`;
  item.iconPath = new vscode.ThemeIcon("comment-discussion");
  item.description = "saved";
  const at = saved?.at ?? null;
  item.tooltip = [
    `${title} at ${name}`,
    at === null ? "Saved" : `Saved: as it was on ${exact(at)}`,
    other.origin === null
      ? "It has no address, so nothing can open it."
      : "Opens in the browser, as no editor can show another instance's page.",
  ].join("\n");
  item.accessibilityInformation = { label: `Group ${title} of ${name}, saved` };
  item.command = {
    command: commandId("openInstance"),
    title: "Open it in the browser",
    arguments: [row],
  };
  return item;
}
