/**
 * Whether terminals serve a screen reader: what the editor reports, or the person's own choice. No
 * browser reveals whether one is used, and in this mode a terminal loses input that isn't typed key
 * by key, such as emoji and dictated text.
 */
import type { Host } from "./host.ts";

const KEY = "screen-reader";
/** Changes of these attributes of the body change the answer. */
export const SCREEN_READER_ATTRIBUTES = ["class", "data-screen-reader"];

export function servesScreenReader(): boolean {
  const { classList, dataset } = document.body;
  return classList.contains("vscode-using-screen-reader") || dataset["screenReader"] === "on";
}

/** Applies what the person chose earlier. */
export function recallScreenReader(host: Pick<Host, "recall">): void {
  apply(host.recall(KEY) === true);
}

export function chooseScreenReader(host: Pick<Host, "remember">, on: boolean): void {
  host.remember(KEY, on ? true : null);
  apply(on);
}

function apply(on: boolean): void {
  document.body.dataset["screenReader"] = on ? "on" : "off";
}
