/**
 * The link to an account in the Workbench, against the real account service: linked with a code,
 * the other machine seen and written to, someone who joined noted, and unlinked again.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { TestService } from "../account/service.ts";
import { TestAuthority } from "../support/certificates.ts";
import { MachineClock } from "../support/manual-clock.ts";
import { until } from "../support/until.ts";
import { takePicture, wear } from "./at-rest.ts";
import { clean, openConnections } from "./connections-dialog.ts";
import { launchBrowser, openGroup, Setting } from "./setting.ts";

const HOSTS = join(import.meta.dirname, "../support/test-hosts.cjs");

describe("Workbench: the account", function () {
  this.timeout(240_000);
  let authority: TestAuthority;
  let service: TestService;
  let ann: Awaited<ReturnType<TestService["member"]>>;
  let browser: Browser;
  let office: Setting;
  let lab: Setting;
  let page: Page;

  const dialog = () => page.locator("svc-account-dialog dialog[open]");
  const press = (label: string) => dialog().locator("vscode-button", { hasText: label }).click();
  const picture = async (name: string): Promise<void> => {
    const folder = process.env["SVC_TEST_PICTURES"];
    if (folder !== undefined) await takePicture(page, join(folder, `${name}.png`));
  };
  const openAccount = async () => {
    await page.locator("svc-settings-menu button[aria-haspopup=menu]").click();
    await page.locator(".menu-item", { hasText: "Account…" }).click();
    await dialog().waitFor();
  };
  const link = async (setting: Setting) => {
    const { user_code: code } = await setting.owner.result("account_link", { account_origin: ann.origin });
    await ann.approve(code);
    await until("the link", async () => {
      const { connect } = await setting.owner.result("connect_status", {});
      return connect?.directory ?? null;
    });
  };

  before(async () => {
    authority = new TestAuthority();
    const environment = {
      NODE_EXTRA_CA_CERTS: authority.certificate,
      NODE_OPTIONS: `--require=${HOSTS}`,
    };
    [service, browser] = await Promise.all([
      TestService.started({ clock: new MachineClock() }),
      launchBrowser(),
    ]);
    ann = await service.member("Ann");
    [office, lab] = await Promise.all([
      Setting.open(browser, { environment }),
      Setting.open(browser, { environment }),
    ]);
    await Promise.all([office.group("Office"), lab.group("Lab", ["lead"])]);
    ({ page } = await office.window({
      reducedMotion: true,
      expected: /status of 400 \(Bad Request\) \S+\/connect\/account$/u,
    }));
    await openGroup(page, "Office");
  });
  after(async () => {
    await Promise.all([office?.close(), lab?.close()]);
    await Promise.all([browser?.close(), service?.dispose()]);
    authority?.remove();
  });
  afterEach(() => office.check());

  it("links with a code that a person confirms, and says what is wrong with an address", async () => {
    await openAccount();
    const field = dialog().locator("input");
    await field.fill("account.example.org/path");
    await clean(page, "not linked");
    await press("Link");
    await dialog().locator(".failure", { hasText: "isn’t the address of an account service" }).waitFor();
    await picture("account-refused");
    await field.fill(`${ann.origin}/`);
    await press("Link");
    const code = (await dialog().locator(".user-code").textContent()) ?? "";
    assert.match(code, /^[A-Z]{4}-[A-Z]{4}$/u);
    await dialog().locator("svg.qr path").waitFor();
    await clean(page, "the code");
    await picture("account-code");
    await ann.approve(code);
    await dialog().locator(".state", { hasText: "linked" }).waitFor();
    await dialog().locator("dd", { hasText: "Ann" }).first().waitFor();
    await dialog().locator(".empty-connections", { hasText: "None yet" }).waitFor();
    await clean(page, "linked");
    await press("Done");
  });

  it("doesn't say that there is no other machine while the account service refuses to say", async () => {
    const restarted = async (minimumVersion: string | null) => {
      await service.stop();
      Object.assign(service.settings, { minimumVersion });
      await service.start();
    };
    await restarted("99.0.0");
    // It registers at once under another address.
    await office.owner.result("remote_access_set", { origin: "https://office.svc.test" });
    await openAccount();
    await dialog().locator(".connection-error", { hasText: "99.0.0" }).waitFor();
    await dialog().locator(".empty-connections", { hasText: "Not known now" }).waitFor();
    await clean(page, "refused");
    await picture("account-refused-version");
    await restarted(null);
    await office.owner.result("remote_access_set", { origin: null });
    await dialog().locator(".empty-connections", { hasText: "None yet" }).waitFor();
    await press("Done");
  });

  it("says who joined until a person has looked, with its state, since when and the last contact", async () => {
    await link(lab);
    await lab.owner.result("connect_rename", { by: "user", display_name: "Lab machine" });
    await office.owner.result("connect_rename", { by: "user", display_name: "Office machine" });
    await page.evaluate(() => dispatchEvent(new Event("focus")));
    await page.locator(".joined-line", { hasText: "“Lab machine” joined your account" }).waitFor();
    await clean(page, "the line about who joined");
    await picture("account-joined-line");
    await page.locator(".joined-line button").click();
    const card = dialog().locator(".connection", { hasText: "Lab machine" });
    await card.locator(".state", { hasText: "has no address" }).waitFor();
    await card.locator(".contacts", { hasText: /Added .*No contact yet/u }).waitFor();
    await clean(page, "who joined");
    await picture("account-joined");
    await page.setViewportSize({ width: 360, height: 740 });
    await picture("account-joined-360");
    await page.setViewportSize({ width: 1280, height: 800 });
    await press("It was me");
    await dialog().locator(".joined").waitFor({ state: "detached" });
    await press("Done");
    await page.locator(".joined-line").waitFor({ state: "detached" });
    const { joined } = await office.owner.result("account_show", {});
    assert.deepEqual(joined, []);
  });

  it("shows the account's machines beside Direct connections", async () => {
    await openConnections(page);
    const connections = page.locator("svc-connections-dialog dialog[open]");
    await connections.locator(".connection", { hasText: "Lab machine" }).waitFor();
    await clean(page, "connections of both kinds");
    await picture("account-connections");
    await wear(page, { colorScheme: "light" });
    await clean(page, "connections of both kinds, light");
    await picture("account-connections-light");
    await wear(page, { colorScheme: "dark" });
    await connections.locator("vscode-button", { hasText: "Show the account…" }).click();
    await dialog().waitFor();
    await connections.waitFor({ state: "detached" });
  });

  it("says what unlinking ends, and unlinks", async () => {
    await press("Unlink…");
    await dialog().locator(".destroy", { hasText: "Messages waiting to be sent to them fail" }).waitFor();
    await clean(page, "what unlinking ends");
    await picture("account-unlink");
    await dialog().locator(".danger-button").click();
    await dialog().locator("vscode-button", { hasText: "Link" }).waitFor();
    await dialog().locator(".hint", { hasText: "find each other" }).first().waitFor();
    assert.equal((await office.owner.result("account_show", {})).state, "not_linked");
  });
});
