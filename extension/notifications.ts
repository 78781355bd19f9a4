/**
 * Says in one window, once per person, that something begins to wait for them. The daemon says
 * what, and who of all windows, editors and browsers alike, announces it.
 */
import { setTimeout as delay } from "node:timers/promises";
import * as vscode from "vscode";
import { joinedSentence } from "../shared/account-words.ts";
import { LIMITS } from "../shared/limits.ts";
import { Arrivals, notificationWords } from "../shared/needs-you.ts";
import type { NeedsYouItem } from "../shared/operations/notifications.ts";
import { type CommandName, commandId } from "./contributions/commands.ts";
import { NOTIFY } from "./contributions/contribution.ts";
import type { Notified } from "./contributions/settings.ts";
import { keyOf, type Waiting, waitingItems } from "./daemon/waiting.ts";
import type { Parts } from "./parts.ts";
import { plain } from "./plain.ts";

type WaitingJoined = Extract<Waiting, { kind: "joined" }>;

/** The window that has the focus goes first. */
async function letOthersGoFirst(): Promise<void> {
  if (!vscode.window.state.focused) await delay(LIMITS.notifications.othersMilliseconds);
}

function isWanted(kind: Notified): boolean {
  return vscode.workspace.getConfiguration(`svc.${NOTIFY}`).get<boolean>(kind, true);
}

/** The one action of a notification, and what it is called on. */
function actionOf(
  { instance }: Parts,
  { kind, group_id: groupId, actor }: NeedsYouItem,
): { title: string; command: CommandName; row: object } {
  const group = { kind: "group", groupId };
  // There the words are compared.
  if (kind === "connection") return { title: "Show the Connections", command: "showConnections", row: group };
  if (actor === null || kind === "request")
    return { title: "Open the Workbench", command: "openWorkbench", row: group };
  const row = { kind: "actor", groupId, actorId: actor.id };
  // A notification is one line. The whole question is read before it is decided.
  return kind === "waiting" && instance.actor(groupId, actor.id)?.answerable === true
    ? { title: "Answer", command: "answerQuestion", row }
    : { title: "Open Its Terminal", command: "openTerminal", row };
}

/** Connects, and notifies about what starts to wait from now on. */
export function notifyWaiting(parts: Parts): void {
  const { link } = parts;
  const arrivals = new Arrivals();

  const announce = async (item: NeedsYouItem): Promise<void> => {
    await letOthersGoFirst();
    if (!arrivals.has(item.key)) return;
    const { claimed } = await link.client.result("notification_claim", { key: item.key });
    if (!claimed || !arrivals.has(item.key)) return;
    const { title, command, row } = actionOf(parts, item);
    const { title: who, body } = notificationWords(item);
    const chosen = await vscode.window.showInformationMessage(plain(`${who}: ${body}`), title);
    if (chosen === title) await vscode.commands.executeCommand(commandId(command), row);
  };

  link.window.watchNeedsYou((items) => {
    const { entered } = arrivals.take(items);
    // That the daemon is lost by now is said elsewhere.
    for (const item of entered) if (isWanted(item.kind)) announce(item).catch(() => {});
  });
  notifyJoined(parts);
}

/** Says that an instance has joined the account, which concerns no Group. */
function notifyJoined({ claims, link, instance }: Parts): void {
  /** Null until the first complete view: what waited before is in the badge. */
  let known: Set<string> | null = null;

  const announce = async (item: WaitingJoined): Promise<void> => {
    await letOthersGoFirst();
    if (!claims.claim(`${link.home} ${keyOf(item)}`)) return;
    const action = "Show the Account";
    const said = plain(joinedSentence(item.joined));
    if ((await vscode.window.showWarningMessage(said, action)) === action)
      await vscode.commands.executeCommand(commandId("showAccount"));
  };

  instance.on("change", () => {
    if (!instance.loaded) return;
    const joined = waitingItems(instance).filter((item) => item.kind === "joined");
    const before = known;
    known = new Set(joined.map(keyOf));
    if (before === null || !isWanted("joined")) return;
    for (const item of joined) if (!before.has(keyOf(item))) void announce(item);
  });
}
