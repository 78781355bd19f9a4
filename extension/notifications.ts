/** Says once per person, in one window, that an Actor begins to wait for them. */
import { setTimeout as delay } from "node:timers/promises";
import * as vscode from "vscode";
import { joinedSentence } from "../shared/account-words.ts";
import { actorName, actorWords } from "../shared/actor-words.ts";
import { commandId } from "./contributions/commands.ts";
import { keyOf, remedyOf, type Waiting, waitingItems } from "./daemon/waiting.ts";
import type { Parts } from "./parts.ts";
import { plain } from "./plain.ts";

/** The window that has the focus goes first. */
const OTHERS_WAIT_MS = 1000;

type WaitingJoined = Extract<Waiting, { kind: "joined" }>;
type WaitingActor = Extract<Waiting, { kind: "actor" }>;

/** Begins to notify about what starts to wait from now on. */
export function notifyWaiting({ claims, link, instance }: Parts): void {
  /** Null until the first complete view: what waited before is in the badge. */
  let known: Set<string> | null = null;

  const announce = async (item: WaitingActor): Promise<void> => {
    if (!vscode.window.state.focused) await delay(OTHERS_WAIT_MS);
    const still = waitingItems(instance).some((one) => keyOf(one) === keyOf(item));
    if (!still || !claims.claim(`${link.home} ${keyOf(item)}`)) return;
    const isTerminal = remedyOf(item) === "terminal";
    const action = isTerminal ? "Open Its Terminal" : "Open the Workbench";
    if ((await vscode.window.showInformationMessage(sentence(item), action)) !== action) return;
    const row = { kind: "actor", groupId: item.groupId, actorId: item.actor.id };
    await vscode.commands.executeCommand(commandId(isTerminal ? "openTerminal" : "openWorkbench"), row);
  };

  const announceJoined = async (item: WaitingJoined): Promise<void> => {
    if (!vscode.window.state.focused) await delay(OTHERS_WAIT_MS);
    if (!claims.claim(`${link.home} ${keyOf(item)}`)) return;
    const action = "Show the Account";
    const said = plain(joinedSentence(item.joined));
    if ((await vscode.window.showWarningMessage(said, action)) === action)
      await vscode.commands.executeCommand(commandId("showAccount"));
  };

  const sentence = ({ groupId, actor, reason }: WaitingActor): string => {
    const title = instance.find(groupId)?.summary.title ?? "";
    const said = reason === "" ? actorWords(actor.presence).word : reason;
    return plain(`${actorName(actor)} in ${title}: ${said}`);
  };

  instance.on("change", () => {
    const isRead = instance.loaded && instance.groups.every(({ actors }) => actors !== null);
    if (!isRead) return;
    const items = waitingItems(instance);
    const before = known;
    known = new Set(items.map(keyOf));
    const isWanted = vscode.workspace.getConfiguration("svc").get<boolean>("notifyWaiting", true);
    if (before === null || !isWanted) return;
    for (const item of items) {
      if (before.has(keyOf(item))) continue;
      if (item.kind === "actor") void announce(item);
      else if (item.kind === "joined") void announceJoined(item);
    }
  });
}
