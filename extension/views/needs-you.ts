/** The list of everything that waits for the person, oldest first, each row with its one action. */

import * as vscode from "vscode";
import { actorName, actorWords, hasTerminal } from "../../shared/actor-words.ts";
import { peerName } from "../../shared/connections-brief.ts";
import { quotedName } from "../../shared/foreign-text.ts";
import type { Question } from "../../shared/operations/questions.ts";
import { detailName, detailText, questionWords } from "../../shared/question-words.ts";
import { exact, lasting } from "../../shared/time-words.ts";
import { labelled } from "../../shared/voice.ts";
import { commandId } from "../contributions/commands.ts";
import { keyOf, remedyOf, type Waiting, waitingItems } from "../daemon/waiting.ts";
import { plain } from "../plain.ts";
import { InstanceTree } from "./instance-tree.ts";
import { toned } from "./tones.ts";

/** Lines of a question in its tooltip. */
const TOOLTIP_LINES = 20;

export class NeedsYou extends InstanceTree<Waiting> {
  protected rows(item?: Waiting): Waiting[] {
    return item === undefined && this.instance.loaded ? waitingItems(this.instance) : [];
  }

  getTreeItem(item: Waiting): vscode.TreeItem {
    const group = item.groupId === null ? undefined : this.instance.find(item.groupId);
    const title = plain(labelled(group?.summary.title ?? ""));
    const drawn = new vscode.TreeItem(labelOf(item), vscode.TreeItemCollapsibleState.None);
    drawn.id = keyOf(item);
    drawn.contextValue = `waiting ${item.kind}${"actor" in item && hasTerminal(item.actor) ? " terminal" : ""}`;
    drawn.iconPath = toned("bell-dot", "attention");
    const since = item.since === null ? "" : lasting(item.since, this.now);
    const said = [sentenceOf(item), title, since].filter((part) => part !== "");
    drawn.description = said.join(" · ");
    const exactly = item.since === null ? [] : [`since ${exact(item.since)}`];
    const asked = item.kind === "question" ? questionLines(item.question, TOOLTIP_LINES) : [];
    drawn.tooltip = [labelOf(item), sentenceOf(item), ...asked, title, ...exactly].join("\n");
    drawn.accessibilityInformation = { label: [labelOf(item), ...said].join(", ") };
    drawn.command = commandOf(item);
    return drawn;
  }

  override refresh(): void {
    const { loaded } = this.instance;
    const count = loaded ? badgeOf(waitingItems(this.instance)) : 0;
    this.view.badge = count === 0 ? undefined : { value: count, tooltip: `${count} waiting for you` };
    super.refresh();
  }
}

/** What a click on the row does. */
function commandOf(item: Waiting): vscode.Command {
  if (item.kind === "joined") return { command: commandId("showAccount"), title: "Show the account" };
  const remedy = remedyOf(item);
  if (remedy === "question")
    return { command: commandId("answerQuestion"), title: "Answer the question", arguments: [item] };
  const { groupId } = item;
  const row =
    item.kind === "actor" ? { kind: "actor", groupId, actorId: item.actor.id } : { kind: "group", groupId };
  if (remedy === "terminal")
    return { command: commandId("openTerminal"), title: "Open its terminal", arguments: [row] };
  return remedy === "connections"
    ? { command: commandId("showConnections"), title: "Show the connections", arguments: [row] }
    : { command: commandId("openWorkbench"), title: "Open the Workbench", arguments: [row] };
}

function badgeOf(items: readonly Waiting[]): number {
  return items.reduce((sum, item) => sum + (item.kind === "requests" ? item.count : 1), 0);
}

function labelOf(item: Waiting): string {
  switch (item.kind) {
    case "actor":
    case "question":
      return plain(actorName(item.actor));
    case "requests":
      return item.count === 1 ? "A request" : `${item.count} requests`;
    case "connection":
      return plain(peerName(item.relation));
    case "joined":
      return plain(labelled(item.joined.name));
  }
}

function sentenceOf(item: Waiting): string {
  switch (item.kind) {
    case "actor":
      return plain(item.reason === "" ? actorWords(item.actor.presence).word : item.reason);
    case "question":
      return plain(questionSentence(item.question));
    case "requests":
      return item.count === 1 ? "waits for your reply" : "wait for your reply";
    case "connection":
      return "wants to connect: compare the words";
    case "joined":
      return "joined your account: was that you?";
  }
}

/** What is asked, as far as one line says it: its row is read before the question is opened. */
function questionSentence(question: Question): string {
  const { kind, details, choices } = question;
  const most = kind === "permission" ? details[0]?.text : choices[0]?.question;
  return `${questionWords(question)}${most === undefined ? "" : `: ${quotedName(most)}`}`;
}

/** The first lines of the question, each made safe. */
function questionLines({ details, choices }: Question, most: number): string[] {
  const lines = [
    ...details.flatMap(({ name, text }) => [`${detailName(name)}:`, ...detailText(text).split("\n")]),
    ...choices.map(({ question }) => question),
  ].map(plain);
  return lines.length <= most ? lines : [...lines.slice(0, most), "…"];
}
