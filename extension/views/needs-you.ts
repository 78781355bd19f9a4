/** The list of everything that waits for the person, oldest first, each row with its one action. */
import * as vscode from "vscode";
import { actorName, actorWords } from "../../shared/actor-words.ts";
import { peerName } from "../../shared/connection-words.ts";
import { shownName } from "../../shared/foreign-text.ts";
import { exact, lasting } from "../../shared/time-words.ts";
import { commandId } from "../contributions/commands.ts";
import type { Instance } from "../daemon/instance.ts";
import { keyOf, remedyOf, type Waiting, waitingItems } from "../daemon/waiting.ts";
import { plain } from "../plain.ts";
import { toned } from "./tones.ts";

const REDRAW_MS = 30_000;

export class NeedsYou implements vscode.TreeDataProvider<Waiting>, vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.#changed.event;
  readonly #view: vscode.TreeView<Waiting>;
  readonly #instance: Instance;
  readonly #timer: NodeJS.Timeout;

  constructor(id: string, instance: Instance) {
    this.#instance = instance;
    this.#view = vscode.window.createTreeView(id, { treeDataProvider: this });
    instance.on("change", () => this.#refresh());
    this.#timer = setInterval(() => {
      if (this.#view.visible) this.#changed.fire();
    }, REDRAW_MS);
    this.#timer.unref();
  }

  getChildren(item?: Waiting): Waiting[] {
    return item === undefined && this.#instance.loaded ? waitingItems(this.#instance) : [];
  }

  getTreeItem(item: Waiting): vscode.TreeItem {
    const group = item.groupId === null ? undefined : this.#instance.find(item.groupId);
    const title = plain(group?.summary.title ?? "");
    const drawn = new vscode.TreeItem(labelOf(item), vscode.TreeItemCollapsibleState.None);
    drawn.id = keyOf(item);
    drawn.contextValue = `waiting ${item.kind}`;
    drawn.iconPath = toned("bell-dot", "attention");
    const since = item.since === null ? "" : lasting(item.since, Date.now());
    const said = [sentenceOf(item), title, since].filter((part) => part !== "");
    drawn.description = said.join(" · ");
    const exactly = item.since === null ? [] : [`since ${exact(item.since)}`];
    drawn.tooltip = [labelOf(item), sentenceOf(item), title, ...exactly].join("\n");
    drawn.accessibilityInformation = { label: [labelOf(item), ...said].join(", ") };
    if (item.kind === "joined") {
      drawn.command = { command: commandId("showAccount"), title: "Show the account" };
      return drawn;
    }
    const row =
      item.kind === "actor"
        ? { kind: "actor", groupId: item.groupId, actorId: item.actor.id }
        : { kind: "group", groupId: item.groupId };
    drawn.command =
      remedyOf(item) === "terminal"
        ? { command: commandId("openTerminal"), title: "Open its terminal", arguments: [row] }
        : { command: commandId("openWorkbench"), title: "Open the Workbench", arguments: [row] };
    return drawn;
  }

  dispose(): void {
    clearInterval(this.#timer);
    this.#view.dispose();
    this.#changed.dispose();
  }

  #refresh(): void {
    const { loaded } = this.#instance;
    const count = loaded ? badgeOf(waitingItems(this.#instance)) : 0;
    this.#view.badge = count === 0 ? undefined : { value: count, tooltip: `${count} waiting for you` };
    this.#changed.fire();
  }
}

function badgeOf(items: readonly Waiting[]): number {
  return items.reduce((sum, item) => sum + (item.kind === "requests" ? item.count : 1), 0);
}

function labelOf(item: Waiting): string {
  switch (item.kind) {
    case "actor":
      return plain(actorName(item.actor));
    case "requests":
      return item.count === 1 ? "A request" : `${item.count} requests`;
    case "connection":
      return plain(peerName(item.relation));
    case "joined":
      return plain(shownName(item.joined.name));
  }
}

function sentenceOf(item: Waiting): string {
  switch (item.kind) {
    case "actor":
      return plain(item.reason === "" ? actorWords(item.actor.presence).word : item.reason);
    case "requests":
      return item.count === 1 ? "waits for your reply" : "wait for your reply";
    case "connection":
      return "wants to connect: compare the words";
    case "joined":
      return "joined your account: was that you?";
  }
}
