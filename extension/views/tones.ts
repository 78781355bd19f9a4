import * as vscode from "vscode";
import type { Tone } from "../../shared/actor-words.ts";

const COLORS: Record<Tone, string> = {
  good: "charts.green",
  attention: "notificationsWarningIcon.foreground",
  bad: "errorForeground",
  quiet: "descriptionForeground",
};

/** A codicon in the colour of how much its state asks for attention. */
export function toned(icon: string, tone: Tone): vscode.ThemeIcon {
  return new vscode.ThemeIcon(icon, new vscode.ThemeColor(COLORS[tone]));
}
