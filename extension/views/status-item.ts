/** The item in the status bar: how many work, how many wait. A click shows who. */
import * as vscode from "vscode";
import type { Instance } from "../daemon/instance.ts";
import type { DaemonLink } from "../daemon/link.ts";
import { statusOf } from "./status-words.ts";

/** Keeps one item in the status bar current. */
export function createStatusItem(link: DaemonLink, instance: Instance): vscode.Disposable {
  const item = vscode.window.createStatusBarItem("svc.status", vscode.StatusBarAlignment.Left, 10);
  item.name = "svc";
  const draw = () => {
    const { text, tooltip, command, isUrgent } = statusOf(link, instance);
    item.text = text;
    item.tooltip = tooltip;
    item.command = command;
    item.backgroundColor = isUrgent ? new vscode.ThemeColor("statusBarItem.warningBackground") : undefined;
    if (link.state === "unknown") item.hide();
    else item.show();
  };
  instance.on("change", draw);
  link.on("state", draw);
  draw();
  return item;
}
