/** The dialogs by name. Each is loaded when it is first opened. */
import type { LitElement } from "lit";
import { clearTopLayer } from "../../controls/top-layer.ts";
import { HostError } from "../../hosts/host.ts";
import { TypeAhead } from "./type-ahead.ts";

const DIALOGS: Readonly<Record<string, () => Promise<unknown>>> = {
  "create-group": () => import("../../groups/create-group-dialog.ts"),
  account: () => import("../../connections/account-dialog.ts"),
  connections: () => import("../../connections/connections-dialog.ts"),
  sharing: () => import("../../connections/sharing-dialog.ts"),
  "group-settings": () => import("../../groups/group-settings-dialog.ts"),
  "add-actor": () => import("../../actors/actor-dialog.ts"),
  "edit-actor": () => import("../../actors/actor-dialog.ts"),
  "connect-actor": () => import("../../connections/connect-actor-dialog.ts"),
  "remove-actor": () => import("../../actors/remove-actor-dialog.ts"),
  tokens: () => import("../../access/tokens-dialog.ts"),
  health: () => import("./health-dialog.ts"),
  palette: () => import("./palette-dialog.ts"),
  notifications: () => import("../../notifications/notifications-dialog.ts"),
  publish: () => import("../../presentations/publish-dialog.ts"),
  leave: () => import("../../instances/leave-dialog.ts"),
  keyboard: () => import("./keyboard-dialog.ts"),
};

/** Those that are the same whichever Group is open. */
const OF_NO_GROUP: readonly string[] = [
  "create-group",
  "account",
  "sharing",
  "tokens",
  "health",
  "notifications",
  "leave",
  "keyboard",
].map(elementOf);

function elementOf(name: string): string {
  return `svc-${name}-dialog`;
}

/** How many were asked for. */
let asked = 0;
/** Of the one that loads. */
let typeAhead: TypeAhead | null = null;

/** None opens any more of those whose code is on its way. Answers what was typed meanwhile. */
function endLoading(): TypeAhead | null {
  const ended = typeAhead;
  asked += 1;
  typeAhead = null;
  ended?.end();
  return ended;
}

/**
 * Dialogs and menus belong to where they were opened. The person goes elsewhere: all of them close.
 * Only another Group is open now: those that are of no Group stay.
 */
export function closeDialogs(all: boolean): void {
  if (all) endLoading();
  clearTopLayer((dialog) => !all && dialog.closest(OF_NO_GROUP.join()) !== null);
}

/**
 * Opens a dialog below `parent`, whose events it shares. `fields` are the element's properties. One
 * is open at a time; of those that are asked for while the code comes, only the last one opens, and
 * none if `isWanted` no longer holds. It gets what is typed until it is there.
 * Answers whether it opens. Throws when it can't be loaded.
 */
export async function openDialog(
  parent: HTMLElement,
  name: string,
  fields: Record<string, unknown>,
  isWanted: () => boolean,
): Promise<boolean> {
  const load = DIALOGS[name];
  const element = elementOf(name);
  const isTaken = () => parent.querySelector("dialog[open]") !== null;
  if (load === undefined || isTaken()) return false;
  asked += 1;
  const turn = asked;
  if (customElements.get(element) === undefined) typeAhead ??= new TypeAhead(parent, endLoading);
  try {
    await load();
  } catch {
    if (turn === asked) endLoading();
    throw new HostError(
      "offline",
      "This part of the page couldn’t be loaded. Reload the page once the daemon can be reached.",
    );
  }
  if (turn !== asked) return false;
  const typed = endLoading();
  if (isTaken() || !isWanted()) return false;
  const dialog = document.createElement(element) as LitElement;
  Object.assign(dialog, fields);
  parent.append(dialog);
  void typed?.give(dialog);
  return true;
}
