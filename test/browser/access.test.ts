/** Who may see and do what: sign-in with a token, a restricted one, its end. */

import assert from "node:assert/strict";
import { verifies } from "../requirements.ts";
import { atRest } from "./at-rest.ts";
import { type Setting, useSetting } from "./setting.ts";

describe("Workbench: access", () => {
  let setting: Setting;

  useSetting((opened) => {
    setting = opened;
  });

  it("takes a restricted token, shows its Groups alone, and leaves out what it may not do", async () => {
    verifies("WEB-001");
    const { owner } = setting;
    const mine = await setting.group("mine");
    await setting.group("others");
    const { id, token } = await owner.result("access_token_create", {
      name: "tablet",
      groups: [mine.groupId],
    });
    const { page } = await setting.window({
      path: await setting.origin(),
      expected: /status of 401|WebSocket/,
    });
    await page.locator("input[type=password]").fill("not a token");
    await page.keyboard.press("Enter");
    await page.locator(".failure").waitFor();
    await page.locator("input[type=password]").fill(token);
    await page.keyboard.press("Enter");
    await page.locator(".group-title", { hasText: "mine" }).waitFor();
    assert.deepEqual(await page.locator(".group-row .row-label").allTextContents(), ["mine"]);
    assert.equal(await page.locator("svc-groups button[title='New Group']").count(), 0);
    assert.equal(await page.locator("svc-actors .column-head .icon-button").count(), 0);
    await page.locator("svc-settings-menu button").click();
    assert.doesNotMatch((await page.locator(".menu").textContent()) ?? "", /tokens|Health/);
    await page.keyboard.press("Escape");
    await page.locator("svc-group-header button[aria-haspopup=menu]").click();
    assert.doesNotMatch((await page.locator(".menu").textContent()) ?? "", /settings|Pause/);
    await page.keyboard.press("Escape");
    await page.locator(".compose-text").fill("From the tablet");
    await page.keyboard.press("Control+Enter");
    await page.locator("svc-message", { hasText: "From the tablet" }).waitFor();
    await owner.result("access_token_revoke", { token_id: id });
    await page.locator(".sign-in").waitFor();
  });

  it("makes a token, shows it once, and revokes it", async () => {
    await setting.group("tokens");
    await setting.group(`A title that someone pasted from a ticket: ${"very long ".repeat(8)}`);
    await setting.group("x".repeat(60));
    const { page } = await setting.window();
    await page.locator("svc-settings-menu button").click();
    await page.locator(".menu-item", { hasText: "Access tokens" }).click();
    await page.locator(".dialog-foot vscode-button", { hasText: "New token" }).click();
    await page.locator(".choices vscode-checkbox", { hasText: "tokens" }).waitFor();
    await atRest(page);
    const outside = await page.locator(".choices vscode-checkbox").evaluateAll(
      (boxes) =>
        boxes.filter((box) => {
          const [cell, label] = [box, box.shadowRoot!.querySelector(".label")!].map((element) =>
            element.getBoundingClientRect(),
          );
          return label!.right > cell!.right || label!.bottom > cell!.bottom + 1;
        }).length,
    );
    assert.equal(outside, 0);
    await page.locator(".token-form input").first().fill("phone");
    await page.locator(".choices vscode-checkbox", { hasText: "tokens" }).click();
    await page.locator(".dialog-foot vscode-button", { hasText: "Create token" }).click();
    const token = (await page.locator(".made code").textContent()) ?? "";
    assert.ok(token.length >= 40);
    await page.locator(".token", { hasText: "phone" }).locator(".icon-button").click();
    await page.locator(".danger-button").click();
    await page.locator(".token", { hasText: "phone" }).waitFor({ state: "detached" });
    await page.keyboard.press("Escape");
    const { tokens } = await setting.owner.result("access_token_list", {});
    assert.ok(tokens.every((entry) => entry.name !== "phone"));
    await page.context().close();
  });

  it("shows the Groups of a new token with whole boxes, however long their titles are", async () => {
    await setting.group("A Group whose title is so long that it needs more than the one line it has here");
    const { page } = await setting.window({ width: 360 });
    await page.locator(".bottom-tab", { hasText: "Groups" }).click();
    await page.locator("[aria-label='Settings']").first().click();
    await page.locator(".menu-item", { hasText: "Access tokens" }).click();
    await page.locator(".dialog-foot vscode-button", { hasText: "New token" }).click();
    const boxes = page.locator("dialog[open] .choices vscode-checkbox");
    await boxes.first().waitFor();
    await atRest(page);
    const widths = await boxes.evaluateAll((all) =>
      all.map((box) =>
        Math.round(box.shadowRoot!.querySelector("[part=control]")!.getBoundingClientRect().width),
      ),
    );
    assert.equal(new Set(widths).size, 1, `boxes of ${widths.join(", ")} pixels`);
    assert.ok(widths[0]! >= 16);
    await page.context().close();
  });

  it("tells this browser from others that were signed in, and signs those out", async () => {
    const kept = (await setting.owner.result("access_token_create", { name: "script" })).id;
    const { page: other } = await setting.window({ expected: /status of 401|WebSocket/ });
    await other.locator(".group-title").waitFor();
    const { page } = await setting.window();
    await page.locator("svc-settings-menu button").click();
    await page.locator(".menu-item", { hasText: "Access tokens" }).click();
    const mine = page.locator(".token", { hasText: "this browser" });
    await mine.filter({ hasText: "Chrome on Linux" }).filter({ hasText: "last used just now" }).waitFor();
    assert.equal(await mine.count(), 1);
    await page.locator(".sign-out-others").click();
    await other.locator(".sign-in").waitFor();
    await page.locator(".sign-out-others").waitFor({ state: "detached" });
    const { tokens } = await setting.owner.result("access_token_list", {});
    assert.equal(tokens.filter(({ session }) => session === true).length, 1);
    assert.ok(tokens.some(({ id }) => id === kept));
    await mine.waitFor();
  });

  it("signs out", async () => {
    const { page } = await setting.window({ expected: /status of 401/ });
    await page.locator("svc-settings-menu button").click();
    await page.locator(".menu-item", { hasText: "Sign out" }).click();
    await page.locator(".sign-in").waitFor();
    await page.reload();
    await page.locator(".sign-in").waitFor();
  });
});
