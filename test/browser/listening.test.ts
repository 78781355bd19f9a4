/**
 * Where others dial, set in the Workbench: also where that fails, or its state isn't known at once.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import type { Browser, Page } from "playwright-core";
import { freePort } from "../../demo/free-port.ts";
import { clean, close, dialog, invite, openConnections, press } from "./connections-dialog.ts";
import { launchBrowser, openGroup, Setting } from "./setting.ts";

const PATIENCE_MS = 60_000;

describe("Workbench: the listener of Direct connections", function () {
  this.timeout(240_000);
  let browser: Browser;
  let setting: Setting;
  let group: string;
  let page: Page;

  before(async () => {
    browser = await launchBrowser();
    setting = await Setting.open(browser);
    ({ groupId: group } = await setting.group("Lab", ["lead"]));
    ({ page } = await setting.window({ reducedMotion: true, theme: "light", expected: /status of 409/ }));
    page.setDefaultTimeout(PATIENCE_MS);
    await openGroup(page, "Lab");
  });

  after(async () => {
    await setting?.close();
    await browser?.close();
  });

  /** Nobody listens any more, and the open invitation is gone. */
  afterEach(async () => {
    const groupId = group;
    await setting.owner.result("connect_direct_configure", { listener: null });
    const { relations } = await setting.owner.result("connect_direct_status", { group_id: groupId });
    const id = relations.find(({ state }) => state === "invited")?.id;
    if (id === undefined) return setting.check();
    await setting.owner.result("connect_direct_revoke", { group_id: groupId, id });
    await setting.owner.result("connect_direct_remove", { group_id: groupId, id });
    setting.check();
  });

  it("makes no invitation where another program has the port, says so, and does once the port is free", async () => {
    const occupied = createServer().listen(0, "127.0.0.1");
    await once(occupied, "listening");
    const at = `127.0.0.1:${(occupied.address() as AddressInfo).port}`;
    try {
      await openConnections(page);
      await press(page, "Turn on");
      const fields = dialog(page).locator(".listener-form input");
      await fields.nth(0).fill(at);
      await fields.nth(1).fill(at);
      await press(page, "Save");
      const error = dialog(page).locator(".connection-error", { hasText: "Another program uses" });
      await error.waitFor();
      await dialog(page).locator(".state", { hasText: "not listening" }).waitFor();
      await invite(page);
      await dialog(page).locator(".failure", { hasText: "No invitation was created" }).waitFor();
      await clean(page, "a listener that doesn't listen");
      await close(page);
      // The same from the beginning, in one step.
      await setting.owner.result("connect_direct_configure", { listener: null });
      await openConnections(page);
      await invite(page);
      await fields.nth(0).fill(at);
      await fields.nth(1).fill(at);
      await press(page, "Listen and invite");
      const told = dialog(page).locator(".failure", { hasText: "Another program uses" });
      await told.filter({ hasText: "No invitation was created" }).waitFor();
      const { relations } = await setting.owner.result("connect_direct_status", { group_id: group });
      assert.deepEqual(relations, []);
      occupied.close();
      await once(occupied, "close");
      await press(page, "Listen and invite");
      await dialog(page).locator(".invitation-text").waitFor();
      await close(page);
    } finally {
      occupied.close();
    }
  });

  it("is invited by as soon as it is set, though nobody says yet that it is set", async () => {
    await openConnections(page);
    await invite(page);
    const at = `127.0.0.1:${await freePort()}`;
    const fields = dialog(page).locator(".listener-form input");
    await fields.nth(0).fill(at);
    await fields.nth(1).fill(at);
    const status = "**/api/v1/connect/direct?*";
    const message = "Too much is already waiting.";
    await page.route(status, (route) =>
      route.fulfill({ json: { ok: false, error: { code: "overloaded", message, details: {} } } }),
    );
    try {
      await press(page, "Listen and invite");
      await dialog(page).locator(".invitation-text").waitFor();
      await dialog(page).locator(".failure", { hasText: message }).waitFor();
    } finally {
      await page.unroute(status);
    }
    await dialog(page).locator(".failure").waitFor({ state: "detached" });
    await close(page);
  });
});
