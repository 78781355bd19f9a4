import { ThemeColor, ThemeIcon } from "vscode";
import type { Tone } from "../../shared/actor-words.ts";

const COLORS: Record<Tone, string> = {
  good: "charts.green",
  attention: "notificationsWarningIcon.foreground",
  bad: "errorForeground",
  quiet: "descriptionForeground",
};

/** A codicon in the colour of how much its state asks for attention. */
export function toned(icon: string, tone: Tone): ThemeIcon {
  return new ThemeIcon(icon, new ThemeColor(COLORS[tone]));
}
