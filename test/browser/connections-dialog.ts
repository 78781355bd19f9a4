/** The dialog "Group connections" of a window, as a person uses it. */
import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { violations } from "./axe.ts";

export const dialog = (page: Page) => page.locator("svc-connections-dialog dialog[open]");

export const press = (page: Page, label: string) =>
  dialog(page).locator("vscode-button", { hasText: label }).click();

export async function clean(page: Page, what: string): Promise<void> {
  assert.deepEqual(await violations(page), [], what);
}

export async function openConnections(page: Page): Promise<void> {
  await page.locator("svc-group-header button[aria-haspopup=menu]").click();
  await page.locator(".menu-item", { hasText: "Group connections" }).click();
  await dialog(page).waitFor();
  await dialog(page).locator(".skeleton").waitFor({ state: "detached" });
}

export async function close(page: Page): Promise<void> {
  await page.keyboard.press("Escape");
  await dialog(page).waitFor({ state: "detached" });
}

/** Begins a Direct connection, which is one of three kinds. */
export async function invite(page: Page): Promise<void> {
  await press(page, "Connect a Group");
  await dialog(page).locator("[data-kind=direct] vscode-button").click();
}
