/** A person in a browser and an agent over the socket hold a conversation. */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { textOf } from "../support/events.ts";
import { until } from "../support/until.ts";
import { openGroup, type Setting, useSetting } from "./setting.ts";

describe("Workbench: a conversation", () => {
  let setting: Setting;

  useSetting((opened) => {
    setting = opened;
  });

  // By their paths: the contents of large ones need minutes through the browser's protocol.
  const folder = mkdtempSync(join(tmpdir(), "svc-uploads-"));
  after(() => rmSync(folder, { recursive: true, force: true }));
  function fileOf(name: string, bytes: Buffer): string {
    const path = join(folder, name);
    writeFileSync(path, bytes);
    return path;
  }

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
    const title = () => page.locator(".group-title").textContent();
    for (let pressed = 0, at = await title(); at !== "keys"; pressed += 1) {
      assert.ok(pressed < 10);
      await page.keyboard.press("Alt+ArrowDown");
      const before = at;
      at = await until("another Group", async () => {
        const now = await title();
        return now === before ? null : now;
      });
    }
    await page.locator("svc-message", { hasText: "May I delete" }).waitFor();
    await page.keyboard.press("r");
    await page.locator(".replying", { hasText: "lead" }).waitFor();
    await page.keyboard.type("No. Make a branch.");
    await page.keyboard.press("Control+Enter");
    await page.locator("svc-message", { hasText: "Make a branch" }).waitFor();
    const received = await actors["lead"]!.result("inbox_read", { group_id: groupId });
    assert.equal(textOf(received.messages[0]?.event), "No. Make a branch.");
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

  it("sends to another Group by #, and shows here what became of it there", async () => {
    const here = await setting.group("mill");
    const there = await setting.group("harbour", ["chief"]);
    const { page } = await setting.window();
    await openGroup(page, "mill");
    await page.locator(".compose-text").click();
    await page.keyboard.type("#harb");
    await page.locator(".completion-item", { hasText: "harbour" }).waitFor();
    await page.keyboard.press("Enter");
    await page.locator(".chip", { hasText: "harbour" }).waitFor();
    await page.locator(".plan", { hasText: "Goes to harbour" }).waitFor();
    await page.keyboard.type("Is the build green?");
    await until("the daemon keeps where it goes", async () => {
      const { draft } = await setting.owner.result("draft_get", { group_id: here.groupId });
      return draft?.["dst_group_id"] === there.groupId && draft["text"] === "Is the build green?";
    });
    await page.reload();
    await page.locator(".chip", { hasText: "harbour" }).waitFor();
    await page.locator(".compose-text").focus();
    await page.keyboard.press("Control+Enter");
    const copy = page.locator("svc-message", { hasText: "Is the build green?" });
    await copy.locator(".recipients", { hasText: "harbour" }).waitFor();
    await copy.locator(".state", { hasText: "accepted" }).waitFor();
    // The stream may be faster than the answer.
    await until("it was sent", async () => (await page.locator(".compose-text").inputValue()) === "");
    const { messages } = await there.actors["chief"]!.result("inbox_read", { group_id: there.groupId });
    assert.equal(textOf(messages[0]?.event), "Is the build green?");
    const mine = await here.actors["lead"]!.result("inbox_read", { group_id: here.groupId, wait_seconds: 0 });
    assert.deepEqual(mine.messages, []);
    await openGroup(page, "harbour");
    await page
      .locator("svc-message", { hasText: "Is the build green?" })
      .locator(".mode", { hasText: "mill" })
      .waitFor();
  });

  it("cancels a reply request, and delivers again what wasn't confirmed", async () => {
    const { groupId, actors } = await setting.group("again");
    const lead = actors["lead"]!;
    await setting.owner.result("send", {
      group_id: groupId,
      text: "Answer me",
      to: ["lead"],
      message_mode: "request_reply",
    });
    const { page } = await setting.window();
    await openGroup(page, "again");
    const row = page.locator("svc-message", { hasText: "Answer me" });
    await row.locator(".state", { hasText: "awaiting reply" }).waitFor();
    await row.hover();
    await row.locator("button[aria-haspopup=menu]").click();
    await page.locator(".menu-item", { hasText: "Cancel reply request" }).click();
    await row.locator(".state", { hasText: "request cancelled" }).waitFor();
    lead.session = "first";
    const taken = await lead.result("inbox_read", { group_id: groupId });
    assert.equal(taken.messages.length, 1);
    await row.locator(".state", { hasText: "claimed" }).waitFor();
    await row.hover();
    await row.locator("button[aria-haspopup=menu]").click();
    const again = page.locator(".menu-item", { hasText: "Deliver again to lead" });
    assert.match((await again.textContent()) ?? "", /may arrive twice/);
    await again.click();
    await row.locator(".state", { hasText: "pending" }).waitFor();
    const second = await lead.result("inbox_read", { group_id: groupId });
    assert.equal(second.messages[0]?.event.id, taken.messages[0]?.event.id);
    await lead.result("inbox_read", { group_id: groupId, ack: second.batch_id! });
    await row.locator(".state", { hasText: "accepted" }).waitFor();
    await row.hover();
    await row.locator("button[aria-haspopup=menu]").click();
    await page.locator(".menu-item").first().waitFor();
    assert.equal(await again.count(), 0);
    await page.keyboard.press("Escape");
    await setting.owner.result("send", { group_id: groupId, text: "Never taken", to: ["lead"] });
    await setting.owner.result("actor_remove", { group_id: groupId, actor_id: "lead" });
    const lost = page.locator("svc-message", { hasText: "Never taken" });
    await lost.locator(".state", { hasText: "failed (actor removed)" }).waitFor();
    await lost.hover();
    await lost.locator("button[aria-haspopup=menu]").click();
    await page.locator(".menu-item").first().waitFor();
    assert.equal(await again.count(), 0);
    await page.keyboard.press("Escape");
  });

  it("shows pictures, copies code, and leads to the quoted original however far up it is", async () => {
    const { groupId, actors } = await setting.group("quotes");
    const { owner } = setting;
    const asked = await owner.result("send", {
      group_id: groupId,
      text: "The very first question",
      to: ["lead"],
    });
    for (let count = 1; count <= 300; count += 1)
      await owner.result("send", { group_id: groupId, text: `In between ${count}`, to: ["lead"] });
    await actors["lead"]!.result("reply", {
      group_id: groupId,
      event_id: asked.event.id,
      text: "```sh\nnpm test -- --watch\n```",
    });
    const { page, context } = await setting.window();
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await openGroup(page, "quotes");
    await page.locator(".code-copy").click();
    await until(
      "it is copied",
      async () => (await page.evaluate(() => navigator.clipboard.readText())) === "npm test -- --watch",
    );
    const pixel =
      "iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAIAAAACUFjqAAAAEklEQVR4nGP4z8CAB+GTG8HSALfKY52fTcuYAAAAAElFTkSuQmCC";
    await page
      .locator("input[type=file]")
      .setInputFiles([{ name: "red.png", mimeType: "image/png", buffer: Buffer.from(pixel, "base64") }]);
    await page.locator(".upload", { hasText: "red.png" }).waitFor();
    await until("it has arrived", async () => (await page.locator(".upload progress").count()) === 0);
    await page.locator(".compose-text").focus();
    await page.keyboard.press("Control+Enter");
    const picture = page.locator("svc-attachment .picture img");
    await picture.waitFor();
    await until("it is drawn", () =>
      picture.evaluate((image) => (image as HTMLImageElement).naturalWidth > 0),
    );
    await page.locator("svc-attachment .picture").click();
    const large = page.locator("dialog.lightbox");
    await large.locator("img[alt='red.png']").waitFor();
    assert.match((await large.locator(".lightbox-head").textContent()) ?? "", /red\.png\s+\d+ bytes/);
    const download = page.waitForEvent("download");
    await large.locator('[aria-label="Save red.png"]').click();
    assert.equal((await download).suggestedFilename(), "red.png");
    await large.locator('[aria-label="Close"]').click();
    await large.waitFor({ state: "detached" });
    await page.locator("svc-attachment .picture").click();
    await page.keyboard.press("Escape");
    await large.waitFor({ state: "detached" });
    await page.locator(".quoted", { hasText: "The very first question" }).click();
    const original = page.locator("svc-message .markdown", { hasText: "The very first question" });
    await original.waitFor();
    await until("it has the focus", () =>
      original.evaluate((text) => text.closest("svc-message") === document.activeElement),
    );
  });

  it("asks before a file goes whether it would be taken", async () => {
    const { groupId } = await setting.group("preflight");
    const { page } = await setting.window({ expected: /status of 40/ });
    await openGroup(page, "preflight");
    const asked: string[] = [];
    page.on("request", (request) => {
      if (request.url().includes("/uploads")) asked.push(new URL(request.url()).pathname);
    });
    const pick = () =>
      page
        .locator("input[type=file]")
        .setInputFiles([{ name: "a.txt", mimeType: "text/plain", buffer: Buffer.from("a") }]);
    await pick();
    await page.locator(".upload", { hasText: "a.txt" }).waitFor();
    await until("it has arrived", async () => (await page.locator(".upload progress").count()) === 0);
    const path = `/api/v1/groups/${groupId}/uploads`;
    assert.deepEqual(asked, [`${path}/preflight`, path]);
    await page.route("**/uploads/preflight", (route) =>
      route.fulfill({
        status: 400,
        json: { ok: false, error: { code: "invalid_attachments", message: "Not this one.", details: {} } },
      }),
    );
    await pick();
    await page.locator(".upload-failure", { hasText: "Not this one." }).waitFor();
    assert.equal(asked.filter((entry) => entry === path).length, 1);
  });

  it("loses no text when two windows write, and shows in one what the other wrote", async () => {
    const { groupId } = await setting.group("two windows");
    const first = (await setting.window({ expected: /status of 409/ })).page;
    const second = (await setting.window({ expected: /status of 409/ })).page;
    const kept = (text: string) =>
      until(`the daemon keeps ${text}`, async () => {
        const { draft } = await setting.owner.result("draft_get", { group_id: groupId });
        return draft?.["text"] === text;
      });
    for (const page of [first, second]) {
      await openGroup(page, "two windows");
      await page.locator(".plan", { hasText: "lead" }).waitFor();
    }
    const text = (page: typeof first) => page.locator(".compose-text");
    await text(first).fill("begun in the first");
    await kept("begun in the first");
    await second.evaluate(() => dispatchEvent(new Event("focus")));
    await until("the second follows", async () => (await text(second).inputValue()) === "begun in the first");
    await text(second).fill("another thought");
    await kept("another thought");
    await text(first).fill("begun in the first, and more");
    const notice = first.locator(".other-draft", { hasText: "another thought" });
    await notice.waitFor();
    assert.equal(await text(first).inputValue(), "begun in the first, and more");
    await first.reload();
    await notice.waitFor();
    await until(
      "its own text is back",
      async () => (await text(first).inputValue()) === "begun in the first, and more",
    );
    await text(first).focus();
    await first.keyboard.press("Control+Enter");
    await first.locator("svc-message", { hasText: "begun in the first, and more" }).waitFor();
    await until(
      "the other text is here now",
      async () => (await text(first).inputValue()) === "another thought",
    );
    assert.equal(await text(second).inputValue(), "another thought");
    await kept("another thought");
  });

  it("uploads with progress and saves what was sent", async () => {
    await setting.group("files");
    const { page } = await setting.window();
    await openGroup(page, "files");
    await page
      .locator("input[type=file]")
      .setInputFiles([
        fileOf("notes <b>.txt", Buffer.from("kept")),
        fileOf("large.bin", Buffer.alloc(20_000_000, 7)),
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
    await page.locator("input[type=file]").setInputFiles(fileOf("slow.bin", Buffer.alloc(30_000_000)));
    const progress = page.locator(".upload progress");
    await until("the upload is under way", async () => {
      const value = await progress.evaluate((element) => (element as HTMLProgressElement).value);
      return value > 0 && value < 30_000_000;
    });
    await page.locator("button[aria-label='Cancel the upload of slow.bin']").click();
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
