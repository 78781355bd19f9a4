/** What fingers can't hit, in a page of the Workbench. */
import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { atRest } from "./at-rest.ts";

/**
 * In the page: what a finger can't hit, with its size. The pseudo-element of a small control is
 * part of it, and so is the label around a choice. A terminal is hit anywhere, and its own text
 * field can't be seen. As text: what the test's compiler adds to functions with a name isn't known
 * there.
 */
const SMALL_TARGETS = `(() => {
  const top = document.querySelector(".menu") ?? document.querySelector("dialog[open]") ?? document;
  const controls = "button, select, textarea:not(.xterm-helper-textarea), input, vscode-button, vscode-checkbox, vscode-text-field, [role=option]";
  return [...top.querySelectorAll(controls)].flatMap((control) => {
    const choice = control.matches("[type=radio], [type=checkbox]") ? control.closest("label") : null;
    const { width, height, top, bottom } = (choice ?? control).getBoundingClientRect();
    if (!control.checkVisibility() || width <= 1 || bottom < 0 || top > innerHeight) return [];
    const around = getComputedStyle(control, "::after");
    const side = (own, name) => Math.max(own, around.position === "absolute" ? parseFloat(around[name]) : 0);
    if (Math.min(side(width, "width"), side(height, "height")) >= 40) return [];
    return [control.className + " " + (control.ariaLabel ?? control.textContent.trim()) + ": " + width + " x " + height];
  });
})()`;

/** Everything in view can be hit, and nothing is wider than the window. */
export async function checkTargets(page: Page, what: string): Promise<void> {
  await atRest(page);
  assert.deepEqual(await page.evaluate(SMALL_TARGETS), [], what);
  const over = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
  assert.ok(Number(over) <= 0, `${what}: wider than the window`);
}
