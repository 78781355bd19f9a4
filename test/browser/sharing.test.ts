/**
 * Two people of different accounts connect one Group each, in two Workbenches and on the pages of
 * the real account service, from the invitation to its end.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { API_PREFIX } from "../../shared/names.ts";
import { type TestBrowser, TestService } from "../account/service.ts";
import { verifies } from "../requirements.ts";
import { MachineClock } from "../support/manual-clock.ts";
import { until } from "../support/until.ts";
import { takePicture, wear } from "./at-rest.ts";
import { clean, close, openConnections } from "./connections-dialog.ts";
import { launchBrowser, openGroup, Setting } from "./setting.ts";

const PATIENCE_MS = 60_000;
const HOSTILE = `Lab <img src=x onerror="window.hit=1">`;

/** One person: a Workbench, and the account's pages in the same browser. */
interface Someone {
  setting: Setting;
  group_id: string;
  member: TestBrowser;
  page: Page;
  account: Page;
}

describe("Workbench: connections with another account", function () {
  this.timeout(240_000);
  let browser: Browser;
  let service: TestService;
  let ann: Someone;
  let ben: Someone;

  const picture = async (page: Page, name: string): Promise<void> => {
    const folder = process.env["SVC_TEST_PICTURES"];
    if (folder === undefined) return;
    for (const [width, height] of [
      [360, 740],
      [1440, 900],
    ] as const)
      for (const colorScheme of ["dark", "light"] as const) {
        await page.setViewportSize({ width, height });
        await wear(page, { colorScheme });
        await takePicture(page, join(folder, `${name}-${colorScheme}-${width}.png`));
      }
    await page.setViewportSize({ width: 1280, height: 800 });
  };
  const seen = async (page: Page, name: string): Promise<void> => {
    await clean(page, name);
    await picture(page, `sharing-${name.replaceAll(" ", "-")}`);
  };
  const connections = (page: Page) => page.locator("svc-connections-dialog dialog[open]");
  const selection = (page: Page) => page.locator("svc-sharing-dialog dialog[open]");
  const press = (page: Page, label: string) =>
    selection(page).locator("vscode-button", { hasText: label }).click();
  const refreshed = (one: Someone, name: string) =>
    one.setting.owner.result("connect_rename", { by: "user", display_name: name });

  async function someone(name: string, title: string): Promise<Someone> {
    const setting = await Setting.open(browser);
    const { groupId } = await setting.group(title);
    const { page } = await setting.window({ reducedMotion: true });
    await openGroup(page, title.slice(0, 3));
    const account = await page.context().newPage();
    await account.goto(`${service.origin}/login`);
    await account.locator("input[name=name]").fill(name);
    await account
      .locator("form", { has: account.locator("input[name=name]") })
      .locator("button")
      .click();
    return { setting, group_id: groupId, member: await service.member(name), page, account };
  }

  async function link({ setting, member }: Someone): Promise<void> {
    await setting.owner.result("remote_access_set", { origin: await setting.origin() });
    const { user_code: code } = await setting.owner.result("account_link", { account_origin: member.origin });
    await member.approve(code);
    await until("the link", async () => {
      const { connect } = await setting.owner.result("connect_status", {});
      return connect?.directory ?? null;
    });
  }

  before(async () => {
    [service, browser] = await Promise.all([
      TestService.started({ clock: new MachineClock() }),
      launchBrowser(),
    ]);
    [ann, ben] = await Promise.all([someone("Ann", "Office"), someone("Ben", HOSTILE)]);
  });
  after(async () => {
    await Promise.all([ann?.setting.close(), ben?.setting.close()]);
    await Promise.all([browser?.close(), service?.dispose()]);
  });
  afterEach(() => {
    ann.setting.check();
    ben.setting.check();
  });

  it("say what is missing until the instance is linked, and that there are none once that is confirmed", async () => {
    verifies("EXT-017");
    const external = connections(ann.page).locator("[data-section=external]");
    await openConnections(ann.page);
    await external.locator("[role=status]", { hasText: "isn’t linked to an account" }).waitFor();
    const button = (label: string) => connections(ann.page).locator("vscode-button", { hasText: label });
    await button("Connect a Group").click();
    const choices = connections(ann.page).locator("[data-kind]");
    assert.deepEqual(
      await choices.evaluateAll((found) => found.map((one) => one.getAttribute("data-kind"))),
      ["account", "external", "direct"],
    );
    await seen(ann.page, "choice");
    await button("Select this Group").click();
    await selection(ann.page).locator("p", { hasText: "Link it to the account service" }).waitFor();
    await seen(ann.page, "not linked");
    await press(ann.page, "Not now");
    await Promise.all([link(ann), link(ben)]);
    await openConnections(ann.page);
    await external.locator("[role=status]", { hasText: /^No connections to other accounts\.$/u }).waitFor();
    await seen(ann.page, "none");
  });

  it("begin with a selection in the Workbench, and an invitation on the account's page", async () => {
    await ben.account.goto(`${service.origin}/connect`);
    await seen(ben.account, "page without connections");
    const memberId = (await ben.account.locator("code.id").first().textContent()) ?? "";
    await connections(ann.page).locator("[data-section=external] vscode-button").click();
    await selection(ann.page).locator("p", { hasText: "You select Office" }).waitFor();
    await selection(ann.page).locator("input").fill("half-an-invitation");
    await selection(ann.page).locator(".failure", { hasText: "isn’t an invitation" }).waitFor();
    await selection(ann.page).locator("input").fill("");
    await seen(ann.page, "before the selection");
    await press(ann.page, "Select this Group");
    const selected = selection(ann.page).locator(".selected-page");
    await selected.waitFor();
    await seen(ann.page, "selected");
    const opened = ann.page.context().waitForEvent("page");
    await press(ann.page, "Open the page");
    const page = await opened;
    await page.waitForURL((await selected.textContent()) ?? "");
    await page.locator("#recipient").fill(memberId);
    await seen(page, "page that invites");
    await page.locator("button.main").click();
    await page.locator("h1", { hasText: "Invitation sent" }).waitFor();
    await seen(page, "page after inviting");
    await page.close();
    await press(ann.page, "Done");
  });

  it("lead the invited person to their Workbench, where nothing happens before they confirm", async () => {
    await ben.account.goto(`${service.origin}/connect`);
    const arrival = ben.account.locator(".card a", { hasText: /./u }).first();
    const href = (await arrival.getAttribute("href")) ?? "";
    assert.match(href, /^http:\/\/[^/]+\/\?connect_invite=[0-9a-f-]{36}$/u);
    await seen(ben.account, "page with an invitation");
    const changes: string[] = [];
    ben.page.on("request", (request) => {
      if (request.method() === "POST" && request.url().includes("/connect/")) changes.push(request.url());
    });
    for (const wrong of ["nonsense", `${href.slice(-36)}&connect_invite=${href.slice(-36)}`]) {
      await ben.page.goto(`${href.slice(0, -36)}${wrong}`);
      await ben.page.locator(".group-title").waitFor();
      assert.equal(await selection(ben.page).count(), 0);
    }
    await openConnections(ben.page);
    const button = (label: string) => connections(ben.page).locator("vscode-button", { hasText: label });
    await button("Accept an invitation").click();
    await connections(ben.page).locator(".invitation-field").fill(href);
    await seen(ben.page, "pasted");
    await button("Continue").click();
    await selection(ben.page).locator("p", { hasText: "Someone invites you" }).waitFor();
    await press(ben.page, "Not now");
    // The person opens something else before the Groups are there: the invitation comes after it.
    let letGo = (): void => {};
    const isReleased = new Promise<void>((resolve) => (letGo = resolve));
    const isList = ({ pathname }: URL) => pathname === `${API_PREFIX}/groups`;
    await ben.page.route(isList, async (route) => {
      await isReleased;
      await route.continue();
    });
    await ben.page.goto(href);
    await ben.page.locator("svc-workbench").waitFor();
    await ben.page.keyboard.press("ControlOrMeta+k");
    await ben.page.locator(".palette-field").waitFor();
    letGo();
    await ben.page.locator(".group-title").waitFor();
    await ben.page.unroute(isList);
    assert.equal(await selection(ben.page).count(), 0);
    await ben.page.keyboard.press("Escape");
    await selection(ben.page).locator("p", { hasText: "Someone invites you" }).waitFor();
    assert.ok(!ben.page.url().includes("connect_invite"));
    await seen(ben.page, "arrival");
    assert.deepEqual(changes, []);
    await press(ben.page, "Select this Group");
    await selection(ben.page).locator(".selected-page").waitFor();
    assert.equal(changes.length, 1);
    const opened = ben.page.context().waitForEvent("page");
    await press(ben.page, "Open the page");
    const page = await opened;
    await page.locator("dd", { hasText: "Ann" }).first().waitFor();
    await seen(page, "page that asks");
    assert.equal(await page.evaluate("window.hit"), undefined);
    await page.locator("button.main").click();
    await page.locator("h1", { hasText: "Connected" }).waitFor();
    await seen(page, "page after connecting");
    await page.close();
    await press(ben.page, "Done");
  });

  it("are shown with who, which Groups, since when, the state, and the way to end them", async () => {
    verifies("SNAP-011", "SNAP-012");
    await Promise.all([refreshed(ann, "Ann's machine"), refreshed(ben, "Ben's machine")]);
    await openConnections(ann.page);
    const card = connections(ann.page).locator(".connection");
    await card.locator("dd", { hasText: "Ben on “Ben’s machine”" }).waitFor({ timeout: PATIENCE_MS });
    await card.locator("dd", { hasText: "there, Office here" }).waitFor();
    await card.locator("dd", { hasText: "by the account service, until" }).waitFor();
    await card.locator(".contacts", { hasText: "Added" }).waitFor();
    await card.locator(".state", { hasText: "reached" }).waitFor({ timeout: PATIENCE_MS });
    assert.equal(await ann.page.evaluate("window.hit"), undefined);
    const mark = ann.page.locator(".shared-mark");
    await seen(ann.page, "connected");
    await close(ann.page);
    await ann.page.locator(".connections-state", { hasText: "online" }).waitFor();
    await mark.getByText("1", { exact: true }).waitFor();
    await seen(ann.page, "counted");
    const { group_connections: counts } = await ann.setting.owner.result("connect_status", {});
    assert.deepEqual(counts?.counts, { [ann.group_id]: 1 });
  });

  it("end on the account's page, and are gone from both Workbenches", async () => {
    await openConnections(ann.page);
    const opened = ann.page.context().waitForEvent("page");
    await connections(ann.page).locator("vscode-button", { hasText: "End it on the account" }).click();
    const page = await opened;
    await page.locator("h1", { hasText: "End this connection?" }).waitFor();
    await seen(page, "page that ends it");
    await page.locator("button.danger").click();
    await page
      .locator("summary, h2", { hasText: /ended|history|before/iu })
      .first()
      .waitFor();
    await seen(page, "page with the history");
    await page.close();
    await Promise.all([refreshed(ann, "Ann's"), refreshed(ben, "Ben's")]);
    await connections(ann.page)
      .locator("[data-section=external] [role=status]", { hasText: /^No connections to other accounts\.$/u })
      .waitFor();
    assert.equal(await connections(ann.page).locator(".connection").count(), 0);
    await ben.page.locator(".connections-state").waitFor({ state: "detached" });
  });
});
