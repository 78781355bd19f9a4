/** Copying to the clipboard, and showing that it happened. */
import { announce } from "./announce.ts";

/** Copies; false where the browser doesn't allow it. */
export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    if (!copyBySelection(text)) return false;
  }
  announce("Copied");
  return true;
}

/** Pages without a secure origin have no clipboard interface; the old way works from a gesture. */
function copyBySelection(text: string): boolean {
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "only-heard";
  const focused = document.activeElement;
  (document.querySelector("dialog[open]") ?? document.body).append(area);
  area.select();
  const copied = document.execCommand("copy");
  area.remove();
  if (focused instanceof HTMLElement) focused.focus();
  return copied;
}

/** Copies and shows a tick in place of the button's icon for a moment. */
export async function copyFrom(button: HTMLElement, text: string): Promise<void> {
  if (!(await copy(text))) return;
  button.classList.add("done");
  setTimeout(() => button.classList.remove("done"), 1500);
}
