/** The pages in a real browser, with Chromium's virtual authenticator. */

import assert from "node:assert/strict";
import type { Browser, BrowserContext, CDPSession, Page } from "playwright-core";
import { useInvitation } from "../../account/members/invitations.ts";
import { Operator } from "../../account/operator.ts";
import { RealRandom } from "../../platform/real-random.ts";
import { LIMITS } from "../../shared/limits.ts";
import { wear } from "../browser/at-rest.ts";
import { violations } from "../browser/axe.ts";
import { launchBrowser } from "../browser/setting.ts";
import { trusting } from "./issuers.ts";
import { ask, TestDevice, TestInstance, TestService } from "./service.ts";

/** As long as a name may be, with nowhere to break, and something that can't be seen. */
const ADA = "Ada <b>& Co\u200b".padEnd(LIMITS.account.nameUnits, "W");

describe("the pages of the account service", function () {
  this.timeout(120_000);
  let service: TestService;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  let devtools: CDPSession;
  let authenticatorId: string;
  /** What a test expects on the console. */
  let expected = /^$/u;
  const problems: string[] = [];
  let recoveryCodes: string[] = [];

  before(async () => {
    service = await TestService.started({ proxies: 0, issuer: trusting("http://localhost:1", false) });
    browser = await launchBrowser();
    context = await browser.newContext({ viewport: { width: 360, height: 740 } });
    page = await context.newPage();
    page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
    page.on("pageerror", (error) => problems.push(String(error)));
    devtools = await context.newCDPSession(page);
    await devtools.send("WebAuthn.enable");
    ({ authenticatorId } = await devtools.send("WebAuthn.addVirtualAuthenticator", {
      options: {
        protocol: "ctap2",
        transport: "internal",
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    }));
  });
  after(async () => {
    await browser?.close();
    await service?.dispose();
  });
  afterEach(() => {
    const found = problems.splice(0).filter((problem) => !expected.test(problem));
    expected = /^$/u;
    assert.deepEqual(found, []);
  });

  /** Nothing that axe finds and nothing wider than the window, in light and dark. */
  async function checkPage(): Promise<void> {
    for (const colorScheme of ["light", "dark"] as const) {
      await wear(page, { colorScheme });
      assert.deepEqual(await violations(page), [], `${page.url()} ${colorScheme}`);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= 360, `${page.url()} is ${wide} px wide`);
    }
  }

  /** Presses Tab until a control whose name begins so has the focus, which has to be seen. */
  async function tabTo(name: string): Promise<void> {
    for (let presses = 0; presses < 40; presses += 1) {
      await page.keyboard.press("Tab");
      const focused = await page.evaluate(() => {
        const control = document.activeElement!;
        const label = control instanceof HTMLInputElement ? control.labels?.[0] : control;
        const { outlineStyle, outlineWidth } = getComputedStyle(control);
        return { name: label?.textContent.trim() ?? "", ring: [outlineStyle, outlineWidth] };
      });
      if (!focused.name.startsWith(name)) continue;
      assert.notEqual(focused.ring[0], "none", `${name} doesn't show its focus`);
      assert.notEqual(focused.ring[1], "0px", `${name} doesn't show its focus`);
      return;
    }
    assert.fail(`Tab doesn't lead to ${name} on ${page.url()}`);
  }

  function operator(): Operator {
    const { store, settings, clock } = service;
    return new Operator({ store, settings, clock, random: new RealRandom() });
  }

  it("let the first member in by the one-time link, with a passkey", async () => {
    const link = await operator().firstInvitation();
    await page.goto(link!);
    assert.equal(new URL(page.url()).hash, "");
    await checkPage();
    await page.getByLabel("Your name").fill(ADA);
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByRole("heading", { name: "Make a passkey" }).waitFor();
    await checkPage();
    await page.getByRole("button", { name: "Make a passkey" }).click();
    await page.getByRole("heading", { name: "Your recovery codes" }).waitFor();
    await checkPage();
    recoveryCodes = await page.locator(".codes li").allTextContents();
    assert.equal(recoveryCodes.length, 10);
    assert.equal(await operator().firstInvitation(), null);
    const [member] = await operator().members();
    assert.equal(member?.name, ADA);
    assert.equal(member.is_admin, true);
  });

  it("tell that an invitation was used before a passkey is made for it", async () => {
    const link = await operator().invite(false);
    const { db } = service.store;
    await useInvitation(db, new URL(link).hash.slice(1), service.clock.now());
    await page.goto(link);
    await page.getByLabel("Your name").fill("Bob");
    expected = /403/u;
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByText("The invitation isn't valid").waitFor();
    assert.equal(await page.getByLabel("Your name").inputValue(), "Bob");
    await checkPage();
    const { credentials } = await devtools.send("WebAuthn.getCredentials", { authenticatorId });
    assert.equal(credentials.length, 1);
  });

  it("let a device in after a passkey for its very code", async () => {
    const device = new TestDevice(service);
    const grant = await device.ask({ hostname: "ada-desk\u202e".padEnd(100, "x"), client_version: "0.5.0" });
    await page.goto(`${service.origin}/device?user_code=${grant.user_code}`);
    await checkPage();
    // The complete link fills the code in, and approves nothing.
    assert.equal(await page.getByLabel("Code").inputValue(), grant.user_code);
    service.clock.advance(5000);
    assert.deepEqual((await device.poll(grant.device_code)).body, { error: "authorization_pending" });
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByText("Did you just start this yourself?").waitFor();
    const text = await page.locator("main").innerText();
    assert.match(text, /ada-desk\ufffd/u);
    assert.match(text, /the account of Ada <b>& Co\ufffdW/u);
    assert.match(await page.locator("header").innerText(), /Signed in as Ada <b>& Co\ufffdW/u);
    assert.match(text, /127\.0\.0\.1 \(the same address as yours\)/u);
    assert.match(text, /5 seconds ago/u);
    await checkPage();
    await page.getByRole("button", { name: "Yes, I started it: approve" }).click();
    await page.getByRole("heading", { name: "Device approved" }).waitFor();
    await checkPage();
    await device.fetchToken(grant.device_code);
    const registered = await device.register(new TestInstance(), { public_origin: "https://ada.example" });
    assert.equal(registered.status, 200);
  });

  it("deny a device, and say nothing to it but that", async () => {
    const device = new TestDevice(service);
    const grant = await device.ask();
    await page.goto(`${service.origin}/device`);
    await page.getByLabel("Code").fill(grant.user_code.toLowerCase().replace("-", " "));
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByRole("button", { name: "Deny" }).click();
    await page.getByRole("heading", { name: "Device denied" }).waitFor();
    assert.deepEqual((await device.poll(grant.device_code)).body, { error: "access_denied" });
  });

  it("show machines and events; a machine is named and retired", async () => {
    await page.goto(`${service.origin}/`);
    await checkPage();
    await page.getByText("Rename").click();
    await page.getByLabel("New name").fill("Desk");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("heading", { name: "Desk" }).waitFor();
    await page.getByRole("link", { name: "Retire" }).click();
    await checkPage();
    await page.getByRole("button", { name: "Retire" }).click();
    await page.getByRole("button", { name: "Remove from this list" }).waitFor();
    assert.match(await page.locator("table").innerText(), /Device retired.*Desk/u);
    await checkPage();
  });

  it("can be used by keyboard alone, from the sign-in to a machine's retirement", async () => {
    await tabTo("Sign out");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await tabTo("Sign in with a passkey");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "My machines" }).waitFor();
    const device = new TestDevice(service);
    const grant = await device.ask();
    await page.goto(`${service.origin}/device`);
    await tabTo("Code");
    await page.keyboard.type(grant.user_code);
    await page.keyboard.press("Enter");
    await page.getByText("Did you just start this yourself?").waitFor();
    await tabTo("Yes, I started it: approve");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Device approved" }).waitFor();
    await device.fetchToken(grant.device_code);
    await page.goto(`${service.origin}/`);
    await tabTo("Rename");
    await page.keyboard.press("Enter");
    await tabTo("New name");
    await page.keyboard.type("Laptop");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Laptop" }).waitFor();
    await tabTo("Retire");
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/devices\/retire/u);
    await tabTo("Retire");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "My machines" }).waitFor();
    assert.equal((await device.get("/v1/device")).body.disabled, true);
  });

  it("sign in with the passkey, and with a recovery code once", async () => {
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await checkPage();
    await page.getByRole("button", { name: "Sign in with a passkey" }).click();
    await page.getByRole("heading", { name: "My machines" }).waitFor();
    await page.getByRole("link", { name: "Passkeys and recovery codes" }).click();
    await checkPage();
    await page.getByRole("button", { name: "Add a passkey" }).click();
    await page.getByText("There is already a passkey for your account on this device.").waitFor();
    await page.getByRole("button", { name: "Link localhost:1" }).waitFor();
    await page.getByRole("button", { name: "Make an invitation link" }).click();
    await page.getByText(`${service.origin}/join#`).waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Recovery code").fill(recoveryCodes[0]!.toUpperCase());
    await page.getByRole("button", { name: "Sign in with a recovery code" }).click();
    await page.getByText("9 left.").waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await service.store.db.updateTable("passkeys").set({ credential_id: "of another service" }).execute();
    expected = /403/u;
    await page.getByRole("button", { name: "Sign in with a passkey" }).click();
    await page.getByText("This passkey belongs to no account here").waitFor();
    const again = await service.browser().submit("/login", "/login/recovery", { code: recoveryCodes[0]! });
    assert.equal(again.status, 403);
  });

  it("forbid scripts, frames and caches in their headers", async () => {
    const { headers, body } = await ask(service.origin, "/login");
    assert.match(body as string, /<noscript>.*JavaScript.*<\/noscript>/u);
    assert.match(headers["content-security-policy"] as string, /^default-src 'none';script-src 'self';/u);
    assert.match(headers["content-security-policy"] as string, /frame-ancestors 'none'/u);
    assert.equal(headers["x-frame-options"], "DENY");
    assert.equal(headers["cache-control"], "no-store");
    assert.equal(headers["referrer-policy"], "same-origin");
  });
});
