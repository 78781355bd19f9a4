/** What a person does with the menus and dialogs of a window. */
import type { Page } from "playwright-core";

/** Opens the first menu of `owner`, and chooses an item of it. */
export async function choose(page: Page, owner: string, item: string): Promise<void> {
  await page.locator(`${owner} button[aria-haspopup=menu]`).first().click();
  await page.locator(".menu-item", { hasText: item }).click();
}

/** Clicks on a button of the open dialog. */
export async function press(page: Page, label: string): Promise<void> {
  await page.locator("dialog[open] vscode-button", { hasText: label }).click();
}

/** Waits until no dialog is open. */
export async function closed(page: Page): Promise<void> {
  await page.locator("dialog[open]").waitFor({ state: "detached" });
}
