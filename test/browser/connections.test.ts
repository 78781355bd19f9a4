/** Group connections between two real daemons, each with its Workbench in a window of its own, as two people use them. */
import assert from "node:assert/strict";
import type { Browser, Page } from "playwright-core";
import { freePort } from "../direct/two-homes.ts";
import { violations } from "./axe.ts";
import { launchBrowser, openGroup, Setting, type WindowOptions } from "./setting.ts";

/** Redialling takes 5 s, a slow machine its time. */
const PATIENCE_MS = 60_000;

describe("Workbench: connections between instances", function () {
  this.timeout(240_000);
  let browser: Browser;
  let office: Setting;
  let lab: Setting;
  let officeGroup: string;
  let labGroup: string;
  let here: Page;
  let there: Page;

  async function opened(setting: Setting, group: string, options: WindowOptions = {}): Promise<Page> {
    const { page } = await setting.window({ reducedMotion: true, ...options });
    page.setDefaultTimeout(PATIENCE_MS);
    await openGroup(page, group);
    return page;
  }

  before(async () => {
    browser = await launchBrowser();
    [office, lab] = await Promise.all([Setting.open(browser), Setting.open(browser)]);
    officeGroup = (await office.group("Office", ["lead", "reviewer"])).groupId;
    labGroup = (await lab.group("Lab", ["lead"])).groupId;
    here = await opened(office, "Office", { theme: "dark" });
    there = await opened(lab, "Lab", { theme: "light" });
  });
  after(async () => {
    await Promise.all([office?.close(), lab?.close()]);
    await browser?.close();
  });
  afterEach(() => {
    office.check();
    lab.check();
  });

  const dialog = (page: Page) => page.locator("svc-connections-dialog dialog[open]");
  const press = (page: Page, label: string) =>
    dialog(page).locator("vscode-button", { hasText: label }).click();
  const words = (page: Page) => dialog(page).locator(".fingerprint").first().locator("li").allTextContents();
  const card = (page: Page, text: string) => dialog(page).locator(".connection", { hasText: text });
  const clean = async (page: Page, what: string) => assert.deepEqual(await violations(page), [], what);

  async function openConnections(page: Page): Promise<void> {
    await page.locator("svc-group-header button[aria-haspopup=menu]").click();
    await page.locator(".menu-item", { hasText: "Group connections" }).click();
    await dialog(page).waitFor();
    await dialog(page).locator(".skeleton").waitFor({ state: "detached" });
  }

  async function close(page: Page): Promise<void> {
    await page.keyboard.press("Escape");
    await dialog(page).waitFor({ state: "detached" });
  }

  it("invite in one window, look and ask in the other, compare, approve, and are online", async () => {
    await openConnections(here);
    await clean(here, "no connection yet");
    await press(here, "Invite");
    const port = await freePort();
    const fields = dialog(here).locator(".listener-form input");
    await fields.nth(0).fill(`127.0.0.1:${port}`);
    await fields.nth(1).fill(`127.0.0.1:${port}`);
    await fields.nth(2).fill("office");
    await clean(here, "the listener's form");
    await press(here, "Listen and invite");
    const shown = dialog(here).locator(".invitation-text");
    await shown.waitFor();
    const invitation = (await shown.textContent()) ?? "";
    assert.match(invitation, /^svc-direct:[\w-]+$/u);
    await dialog(here).locator("svg.qr path").waitFor();
    await clean(here, "the invitation");

    await openConnections(there);
    await press(there, "Take an invitation");
    const field = dialog(there).locator(".invitation-field");
    await field.fill(invitation.slice(0, 100));
    await dialog(there).locator(".failure", { hasText: "isn’t a whole invitation" }).waitFor();
    await clean(there, "half an invitation");
    await field.fill(`  ${invitation}\n`);
    const claims = dialog(there).locator(".claims");
    await claims.waitFor();
    for (const told of ["office", "Office", `127.0.0.1:${port}`]) {
      await claims.locator("dd", { hasText: told }).first().waitFor();
    }
    const before = await words(there);
    assert.equal(before.length, 6);
    await clean(there, "the invitation that was pasted");
    await press(there, "Ask to be connected");
    await card(there, "Office").locator(".state", { hasText: "pending approval" }).waitFor();

    await card(here, "Lab").locator(".state", { hasText: "pending approval" }).waitFor();
    assert.deepEqual(await words(here), before);
    assert.deepEqual(await words(there), before);
    await clean(here, "who came");
    await press(here, "The words are the same");
    for (const page of [here, there]) {
      await dialog(page).locator(".state", { hasText: "online" }).waitFor();
      await clean(page, "online");
      await close(page);
    }
    const { relations } = await lab.owner.result("connect_direct_status", { group_id: labGroup });
    assert.equal(relations[0]?.online, true);
    const status = await office.owner.result("connect_direct_status", { group_id: officeGroup });
    assert.equal(status.display_name, "office");
  });
});
