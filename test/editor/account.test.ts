/**
 * What an account adds to the editor: its other instances in the side bar, which open in a browser,
 * and connections with other accounts, from the link that brings an invitation to their end.
 */

import assert from "node:assert/strict";
import { lookup } from "node:dns";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { RealHttpClient } from "../../platform/http/real-client.ts";
import { RealClock } from "../../platform/real-clock.ts";
import { GroupInstance } from "../account/group-instance.ts";
import { type TestBrowser, TestService } from "../account/service.ts";
import { takePicture } from "../browser/at-rest.ts";
import { launchBrowser } from "../browser/setting.ts";
import { link, renamed, secured } from "../peers/account/linked-side.ts";
import type { Side } from "../peers/direct/two-homes.ts";
import { TestAuthority } from "../support/certificates.ts";
import { MachineClock } from "../support/manual-clock.ts";
import { until } from "../support/until.ts";
import { Editor, type EditorWindow } from "./editor.ts";

/** Folder for pictures of each step, for people who want to see them. */
const PICTURES = process.env["SVC_PICTURES"];
/** What others may call themselves. */
const HOSTILE = "Lab $(bell) [x](command:workbench.action.quit) <b>y</b>";
const SHOWN = "“Lab $ (bell) [x] (command:workbench.action.quit) <b>y</b>”";
const INSTANCES = "Other Instances";

describe("an account in the editor", function () {
  this.timeout(240_000);
  let authority: TestAuthority;
  let service: TestService;
  let browser: Browser;
  let ann: TestBrowser;
  let ben: GroupInstance;
  let office: Side;
  let lab: Side;
  let editor: Editor;
  let window: EditorWindow;
  let page: Page;

  const picture = async (name: string, from = page): Promise<void> => {
    if (PICTURES === undefined) return;
    mkdirSync(PICTURES, { recursive: true });
    await takePicture(from, join(PICTURES, `${name}.png`));
  };
  const pathOf = (url: string) => url.slice(new URL(url).origin.length);
  /** The page that the editor opens while `act` is done. */
  const opened = async (act: () => Promise<unknown>): Promise<Page> => {
    const [popup] = await Promise.all([page.context().waitForEvent("page"), act()]);
    popup.setDefaultTimeout(60_000);
    return popup;
  };
  /** The daemon asks the account service now, and so does the tree. */
  const refreshed = async () => {
    await renamed(office, "Office");
    await window.command("svc: Refresh");
  };

  before(async () => {
    authority = new TestAuthority();
    const http = new RealHttpClient({
      clock: new RealClock(),
      ca: authority.pem,
      lookup: (hostname, options, callback) =>
        lookup(hostname.endsWith(".localhost") ? "127.0.0.1" : hostname, options, callback),
    });
    [service, browser] = await Promise.all([
      TestService.started({ clock: new MachineClock(), http }),
      launchBrowser({ whole: true }),
    ]);
    ann = await service.member("Ann");
    [office, lab] = await Promise.all([
      secured("Office work", "office.localhost", authority),
      secured("Lab work", "lab.localhost", authority),
    ]);
    editor = await Editor.open(browser, { universal: true, home: office.daemon.home });
    window = await editor.window(editor.workspace("shop"), { anyCertificate: true });
    ({ page } = window);
  });
  after(async () => {
    await editor?.close();
    await browser?.close();
    await ben?.close();
    await Promise.all([office?.dispose(), lab?.dispose()]);
    await service?.dispose();
    authority?.remove();
  });
  afterEach(async function () {
    if (this.currentTest?.state === "failed") await picture("failed-account");
  });

  describe("the other instances", () => {
    it("have a section of their own once the account has any", async () => {
      await window.openSideBar();
      await window.row("Groups", "Office work").waitFor();
      assert.equal(await window.view(INSTANCES).count(), 0);
      await lab.client.result("group_create", { title: HOSTILE });
      await Promise.all([link(office, ann), link(lab, ann)]);
      await renamed(lab, HOSTILE);
      await refreshed();
      const row = window.row(INSTANCES, SHOWN);
      await row.filter({ hasText: "reached" }).waitFor();
      assert.equal(await row.locator(".codicon-bell, a[href]").count(), 0);
    });

    it("show the Groups that were seen there last as saved, under their names as they are", async () => {
      await window.row(INSTANCES, SHOWN).click();
      const group = window.row(INSTANCES, /^Lab work/);
      await group.filter({ hasText: "saved" }).waitFor();
      assert.match((await group.getAttribute("aria-label")) ?? "", /^Group Lab work of “Lab .*”, saved/);
      const labels = await window.view(INSTANCES).locator(".monaco-list-row .label-name").allInnerTexts();
      assert.deepEqual([...labels].sort(), [SHOWN, SHOWN, "Lab work"].sort());
      await picture("instances");
    });

    it("open in the browser, in the page of this instance, at the Group, and say so", async () => {
      const popup = await opened(() => window.row(INSTANCES, /^Lab work/).click());
      await window.notification(/opens in the browser, as no editor can show another/).waitFor();
      await popup.locator("svc-instances .instance-state", { hasText: "not signed in" }).waitFor();
      await popup.waitForURL(/^https:\/\/office\.localhost:\d+\/(?:\?group=g_[0-9a-f]{12})?$/);
      const remote = popup.frameLocator("svc-remote iframe");
      const { url } = await lab.client.result("login_link_create", {});
      await remote.locator("svc-sign-in input").fill(url);
      await remote.locator("svc-sign-in input").press("Enter");
      await remote.locator(".group-title", { hasText: "Lab work" }).waitFor();
      await picture("instances-browser", popup);
      await popup.close();
    });

    it("open from their own row as well, and the status bar says so from the second time on", async () => {
      await window.clearNotifications();
      const open = "Open an Instance of the Account in the Browser";
      const popup = await opened(() => window.inline(INSTANCES, SHOWN, open));
      await page
        .locator(".statusbar-item", { hasText: /^“Lab .*” opens in the browser, as no editor/ })
        .waitFor();
      assert.equal(await window.notifications(/opens in the browser/).count(), 0);
      await popup.locator("svc-remote .remote-name", { hasText: "Lab" }).waitFor();
      assert.equal(new URL(popup.url()).hostname, "office.localhost");
      await popup.close();
    });

    it("open from the palette by the person's choice, with names as they are", async () => {
      await window.command("svc: Open an Instance of the Account in the Browser");
      const choice = page.locator(".quick-input-widget", { hasText: "Which instance?" });
      await choice.locator(".monaco-list-row", { hasText: SHOWN }).waitFor();
      assert.equal(await choice.locator(".monaco-list-row .codicon-bell").count(), 0);
      const popup = await opened(() => window.choose(SHOWN));
      await popup.locator("svc-remote .remote-name", { hasText: "Lab" }).waitFor();
      await popup.close();
    });

    it("open their own page from the menu of their row, where the person signs in", async () => {
      const { remote_access: access } = await lab.client.result("remote_access_show", {});
      await window.row(INSTANCES, SHOWN).click({ button: "right" });
      const item = page.getByRole("menuitem", { name: "Open the Instance's Own Page" });
      // The menu takes no click in the moment after it has opened.
      await item.hover();
      const popup = await opened(() => page.keyboard.press("Enter"));
      await popup.locator(".sign-in").waitFor();
      assert.equal(new URL(popup.url()).origin, access.origin);
      await picture("instances-page", popup);
      await popup.close();
    });
  });

  describe("connections with other accounts", () => {
    let id: string;
    /** The service shows whose machine it is. */
    const name = `${SHOWN} at “Ben`;
    const row = () => window.row("Connections", name);

    it("are answered from a link, and not before the person has agreed on the account's page", async () => {
      ben = await GroupInstance.of(service, await service.member("Ben"));
      const [, annId] = /<code class="id">([0-9a-f-]{36})<\/code>/u.exec((await ann.get("/connect")).body)!;
      const ticket = Buffer.from(
        JSON.stringify(ben.ticket("theirs", { title: HOSTILE, instance_name: HOSTILE })),
      ).toString("base64url");
      const invited = await ben.submit({ ticket, recipient: annId! });
      assert.equal(invited.status, 200, invited.body);
      const [, invitation] = /svc connect accept ([0-9a-f-]{36})/u.exec((await ann.get("/connect")).body)!;
      await window.openUrl(`vscode://svc.svc/?connect_invite=${invitation}`);
      await window.choose("Office work");
      const tab = await window.documentWith("svc-sharing-dialog dialog[open]");
      await tab
        .locator("svc-sharing-dialog p", { hasText: "connect Office work with one of theirs" })
        .waitFor();
      await picture("answer");
      await tab.locator("svc-sharing-dialog vscode-button", { hasText: "Select this Group" }).click();
      const url = (await tab.locator(".selected-page").textContent())!;
      const { connections } = await office.client.result("connection_list", {});
      assert.deepEqual(
        connections.filter(({ kind }) => kind === "external"),
        [],
      );
      const ticketHere = new URL(url).searchParams.get("ticket")!;
      const accepted = await ann.submit(pathOf(url), "/connect/select", {
        ticket: ticketHere,
        invitation: invitation!,
      });
      assert.match(accepted.body, /are connected/u);
      [, id] = /\/connect\/([0-9a-f-]{36})\/revoke/u.exec(accepted.body) as unknown as [string, string];
      await refreshed();
      await row().waitFor();
      assert.match(await row().innerText(), /Office work/);
      await picture("external");
    });

    it("lead to the account's page that ends them, and go when they have ended", async () => {
      const popup = await opened(() => window.inline("Connections", name, "End the Connection"));
      await until("the account's page", () => popup.url().endsWith(`/connect/${id}/disconnect`));
      await popup.close();
      const ended = await ann.submit(`/connect/${id}/disconnect`, `/connect/${id}/disconnect`, {});
      assert.equal(ended.status, 303, ended.body);
      await refreshed();
      await row().waitFor({ state: "detached" });
    });

    it("aren't none because the account service doesn't confirm them, which the view says", async () => {
      const restarted = async (minimumVersion: string | null) => {
        await service.stop();
        Object.assign(service.settings, { minimumVersion });
        await service.start();
      };
      const message = window
        .view("Connections")
        .getByText("Connections to other accounts aren't confirmed now.");
      assert.equal(await message.isVisible(), false);
      await restarted("999.0.0");
      await assert.rejects(refreshed(), /version/u);
      await window.command("svc: Refresh");
      await message.waitFor();
      await picture("unconfirmed");
      await restarted(null);
      await refreshed();
      await message.waitFor({ state: "hidden" });
    });
  });

  describe("an instance that leaves", () => {
    it("takes its rows with it, and the section if it was the last", async () => {
      await lab.client.result("account_unlink", {});
      await refreshed();
      await window.view(INSTANCES).waitFor({ state: "detached" });
    });
  });
});
