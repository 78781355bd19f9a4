/** A person in a browser and an agent over the socket hold a conversation. */
import assert from "node:assert/strict";
import type { Browser } from "playwright-core";
import { launchBrowser, openGroup, Setting, until } from "./setting.ts";

describe("Workbench: a conversation", () => {
  let browser: Browser;
  let setting: Setting;

  before(async function () {
    this.timeout(60_000);
    browser = await launchBrowser();
    setting = await Setting.open(browser);
  });
  after(async () => {
    await setting?.close();
    await browser?.close();
  });
  afterEach(() => setting.check());

  it("redeems the login link, and its code leaves the address bar", async () => {
    await setting.group("hello");
    const { page } = await setting.window();
    await page.locator(".group-title", { hasText: "hello" }).waitFor();
    assert.equal(new URL(page.url()).hash, "");
    await page.reload();
    await page.locator(".group-title", { hasText: "hello" }).waitFor();
  });

  it("works from login to sent reply with keys alone", async () => {
    const { groupId, actors } = await setting.group("keys");
    await actors["lead"]!.result("send", {
      group_id: groupId,
      text: "May I delete `main`?",
      to: ["user"],
      message_mode: "request_reply",
    });
    const { page } = await setting.window();
    await page.locator(".group-row", { hasText: "keys" }).waitFor();
    for (let pressed = 0; (await page.locator(".group-title").textContent()) !== "keys"; pressed += 1) {
      assert.ok(pressed < 10);
      await page.keyboard.press("Alt+ArrowDown");
      await page.waitForTimeout(50);
    }
    await page.locator("svc-message", { hasText: "May I delete" }).waitFor();
    await page.keyboard.press("r");
    await page.locator(".replying", { hasText: "lead" }).waitFor();
    await page.keyboard.type("No. Make a branch.");
    await page.keyboard.press("Control+Enter");
    await page.locator("svc-message", { hasText: "Make a branch" }).waitFor();
    const received = await actors["lead"]!.result("inbox_read", { group_id: groupId });
    assert.equal(received.messages[0]?.event.data["text"], "No. Make a branch.");
    await page
      .locator("svc-message", { hasText: "May I delete" })
      .locator(".state", { hasText: "replied" })
      .waitFor();
    await page
      .locator("svc-message", { hasText: "Make a branch" })
      .locator(".state", { hasText: "claimed" })
      .waitFor();
    await actors["lead"]!.result("inbox_read", { group_id: groupId, ack: received.batch_id! });
    await page
      .locator("svc-message", { hasText: "Make a branch" })
      .locator(".state", { hasText: "accepted" })
      .waitFor();
  });

  it("finds Actors by @ and shows what will happen before it does", async () => {
    const { groupId, actors } = await setting.group("mention", ["lead", "reviewer"]);
    const { page } = await setting.window();
    await openGroup(page, "mention");
    await page.locator(".compose-text").click();
    await page.keyboard.type("@rev");
    await page.locator(".completion-item", { hasText: "reviewer" }).waitFor();
    await page.keyboard.press("Enter");
    await page.locator(".chip", { hasText: "reviewer" }).waitFor();
    await page.locator(".compose-bar select").selectOption("mail");
    await page.locator(".plan", { hasText: "reviewer won’t be interrupted" }).waitFor();
    await page.locator(".compose-text").fill("Read this when you have time.");
    await page.keyboard.press("Control+Enter");
    await page.locator("svc-message .state", { hasText: "in the Inbox" }).waitFor();
    await actors["reviewer"]!.result("inbox_read", { group_id: groupId });
    await page.locator("svc-message .state", { hasText: "read" }).first().waitFor();
  });

  it("keeps a draft over a reload, and a refused message in the composer", async () => {
    const { groupId } = await setting.group("drafts");
    const { page } = await setting.window({ expected: /status of 507/ });
    await openGroup(page, "drafts");
    await page.locator(".compose-text").fill("half a thought");
    await page.reload();
    await page.locator(".group-title", { hasText: "drafts" }).waitFor();
    await until(
      "the draft is back",
      async () => (await page.locator(".compose-text").inputValue()) === "half a thought",
    );
    await until("the daemon keeps it", async () => {
      const { draft } = await setting.owner.result("draft_get", { group_id: groupId });
      return draft?.["text"] === "half a thought";
    });
    await page.route("**/send", (route) =>
      route.fulfill({
        status: 507,
        json: { ok: false, error: { code: "storage_full", message: "The disk is full.", details: {} } },
      }),
    );
    await page.locator(".compose-text").focus();
    await page.keyboard.press("Control+Enter");
    await page.locator(".composer .failure", { hasText: "The disk is full." }).waitFor();
    assert.equal(await page.locator(".compose-text").inputValue(), "half a thought");
    await page.unroute("**/send");
    await page.keyboard.press("Control+Enter");
    await page.locator("svc-message", { hasText: "half a thought" }).waitFor();
    await until(
      "the draft is gone",
      async () => (await setting.owner.result("draft_get", { group_id: groupId })).draft === null,
    );
  });

  it("clears a badge in every window when one of them sees the message", async () => {
    const { groupId, actors } = await setting.group("badges");
    await setting.group("elsewhere");
    const first = await setting.window();
    const second = await setting.window();
    await openGroup(first.page, "elsewhere");
    await openGroup(second.page, "elsewhere");
    await actors["lead"]!.result("send", {
      group_id: groupId,
      text: "Which one?",
      to: ["user"],
      message_mode: "request_reply",
    });
    const count = (page: typeof first.page) =>
      page.locator(".group-row", { hasText: "badges" }).locator(".unread-count");
    await count(first.page).waitFor();
    await count(second.page).waitFor();
    await first.page.bringToFront();
    await openGroup(first.page, "badges");
    await count(first.page).waitFor({ state: "detached" });
    await count(second.page).waitFor({ state: "detached" });
  });

  it("uploads with progress and saves what was sent", async () => {
    await setting.group("files");
    const { page } = await setting.window();
    await openGroup(page, "files");
    await page.locator("input[type=file]").setInputFiles([
      { name: "notes <b>.txt", mimeType: "text/plain", buffer: Buffer.from("kept") },
      { name: "large.bin", mimeType: "application/octet-stream", buffer: Buffer.alloc(20_000_000, 7) },
    ]);
    await page.locator(".upload", { hasText: "large.bin" }).waitFor();
    await page.locator(".uploads .file-name", { hasText: "large.bin" }).waitFor();
    await until("both have arrived", async () => (await page.locator(".upload progress").count()) === 0);
    await page.locator(".compose-text").fill("Two files");
    await page.keyboard.press("Control+Enter");
    const file = page.locator("svc-message .file", { hasText: "notes <b>.txt" });
    await file.waitFor();
    const [download] = await Promise.all([page.waitForEvent("download"), file.click()]);
    const chunks: Buffer[] = [];
    for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer);
    assert.equal(Buffer.concat(chunks).toString(), "kept");
  });

  it("shows how far an upload is, stops it on request, and takes what is pasted and dropped", async () => {
    await setting.group("slow files");
    const { page, context } = await setting.window({ expected: /ERR_/ });
    await openGroup(page, "slow files");
    const session = await context.newCDPSession(page);
    await session.send("Network.enable");
    await session.send("Network.emulateNetworkConditions", {
      offline: false,
      latency: 0,
      downloadThroughput: -1,
      uploadThroughput: 1_000_000,
    });
    await page
      .locator("input[type=file]")
      .setInputFiles([
        { name: "slow.bin", mimeType: "application/octet-stream", buffer: Buffer.alloc(30_000_000) },
      ]);
    const progress = page.locator(".upload progress");
    await until("the upload is under way", async () => {
      const value = await progress.evaluate((element) => (element as HTMLProgressElement).value);
      return value > 0 && value < 30_000_000;
    });
    await page.locator("button[aria-label='Stop slow.bin']").click();
    await page.locator(".upload").waitFor({ state: "detached" });
    await session.send("Network.disable");
    for (const name of ["pasted.txt", "dropped.txt"]) {
      await page.locator(".compose-text").evaluate((area, file) => {
        const transfer = new DataTransfer();
        transfer.items.add(new File(["bytes"], file, { type: "text/plain" }));
        const common = { bubbles: true, cancelable: true };
        area.dispatchEvent(
          file.startsWith("pasted")
            ? new ClipboardEvent("paste", { clipboardData: transfer, ...common })
            : new DragEvent("drop", { dataTransfer: transfer, ...common }),
        );
      }, name);
    }
    for (const name of ["pasted.txt", "dropped.txt"])
      await page.locator(".upload", { hasText: name }).waitFor();
    await until("both have arrived", async () => (await progress.count()) === 0);
    await page.locator("button[aria-label='Remove pasted.txt']").click();
    await page.locator(".upload", { hasText: "pasted.txt" }).waitFor({ state: "detached" });
    await page.keyboard.press("c");
    await page.locator(".compose-text").focus();
    await page.keyboard.press("Control+Enter");
    await page.locator("svc-message .file", { hasText: "dropped.txt" }).waitFor();
  });
});
