/** The item in the status bar: how many work, how many wait. A click shows who. */
import * as vscode from "vscode";
import { commandId } from "../contributions/commands.ts";
import type { Instance } from "../daemon/instance.ts";
import type { DaemonLink } from "../daemon/link.ts";

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

function statusOf(link: DaemonLink, instance: Instance) {
  if (link.state === "absent")
    return {
      text: "$(circle-slash) svc",
      tooltip: `svc's daemon isn't running. Click to start it.`,
      command: commandId("startDaemon"),
      isUrgent: false,
    };
  if (link.state !== "online" || !instance.loaded)
    return {
      text: "$(loading) svc",
      tooltip: "Connecting to svc's daemon",
      command: undefined,
      isUrgent: false,
    };
  const working = instance.count("working");
  const waits = instance.attention;
  const said = [
    working > 0 ? `${working} working` : "",
    waits > 0 ? `${waits} ${waits === 1 ? "waits" : "wait"}` : "",
  ].filter((part) => part !== "");
  return {
    text: `$(${waits > 0 ? "bell-dot" : "comment-discussion"}) svc${said.length > 0 ? `: ${said.join(", ")}` : ""}`,
    tooltip: waits > 0 ? "Show what waits for you" : "Nothing waits for you",
    command: commandId("showNeedsYou"),
    isUrgent: waits > 0,
  };
}
