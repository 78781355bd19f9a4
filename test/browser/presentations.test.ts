/** What slots show beside the conversation, and hostile pages in them. */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { LIMITS } from "../../shared/limits.ts";
import { until } from "../support/until.ts";
import { boxOf, measure } from "./at-rest.ts";
import { violations } from "./axe.ts";
import { type Setting, useSetting } from "./setting.ts";
import { checkTargets } from "./targets.ts";

const PIXEL = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

/** A document of one page with one line. */
function pdfOf(line: string): Buffer {
  const drawn = `BT /F1 24 Tf 40 150 Td (${line}) Tj ET`;
  const objects = [
    "<< /Type /Catalog /Pages 2 0 R >>",
    "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
    "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 400 200] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
    `<< /Length ${drawn.length} >>\nstream\n${drawn}\nendstream`,
    "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
  ].map((body, at) => `${at + 1} 0 obj\n${body}\nendobj\n`);
  return Buffer.from(`%PDF-1.4\n${objects.join("")}trailer\n<< /Root 1 0 R >>\n%%EOF\n`);
}

describe("Workbench: presentations", () => {
  let setting: Setting;
  let groupId: string;
  let lead: ReturnType<Setting["daemon"]["client"]>;
  let outside: Server;
  const reached: string[] = [];

  useSetting((opened) => {
    setting = opened;
  });

  before(async () => {
    const group = await setting.group("shown", ["lead"]);
    groupId = group.groupId;
    lead = group.actors["lead"]!;
    outside = createServer((request, response) => {
      reached.push(request.url ?? "");
      response.setHeader("Access-Control-Allow-Origin", "*");
      response.end("reached");
    });
    await new Promise<void>((resolve) => {
      outside.listen(0, "127.0.0.1", resolve);
    });
  });
  after(() => void outside.close());

  const publish = (slot: number, kind: "html" | "markdown" | "csv" | "image", title: string, text: string) =>
    lead.result("presentation_publish", { group_id: groupId, slot, kind, title, text });
  async function at(query: string, more: Parameters<Setting["window"]>[0] = {}): Promise<Page> {
    const link = new URL(await setting.loginLink());
    const path = `${link.origin}/?group=${groupId}${query}${link.hash}`;
    return (await setting.window({ ...more, path })).page;
  }

  it("are opened from a message, step back, follow what is published, and close with Escape", async () => {
    await publish(1, "markdown", "Plan <b>1</b>", "# First *plan*");
    const reference = { kind: "presentation_ref", slot: 1, title: "The plan" };
    await lead.result("send", {
      group_id: groupId,
      text: "Look [here](https://example.org)",
      to: ["user"],
      refs: [reference],
    });
    const page = await at("");
    await page.getByRole("button", { name: "The plan" }).click();
    const panel = page.locator("svc-presentations");
    await panel.locator("h1", { hasText: "First plan" }).waitFor();
    assert.equal(await panel.locator(".presentation-title").textContent(), "“Plan <b>1</b>”");
    await publish(1, "csv", "Table", 'name,sum\n"a, ""b""",=1+1\n');
    await panel.locator("td", { hasText: "=1+1" }).waitFor();
    assert.deepEqual(await panel.locator("td").allTextContents(), ['a, "b"', "=1+1"]);
    await panel.getByRole("button", { name: "Earlier version" }).click();
    await panel.locator("h1", { hasText: "First plan" }).waitFor();
    assert.match(new URL(page.url()).search, /presentation=1&version=[0-9a-f]{32}$/);
    await panel.getByRole("button", { name: "Later version" }).click();
    await panel.locator("td", { hasText: "=1+1" }).waitFor();
    const searched = () => new URL(page.url()).search;
    await until("the address is that of the slot", () => searched() === `?group=${groupId}&presentation=1`);
    await panel.getByRole("button", { name: "Slot 3 empty" }).click();
    await panel.getByText("Slot 3 is empty.").waitFor();
    await page.keyboard.press("Escape");
    await panel.waitFor({ state: "detached" });
    assert.equal(searched(), `?group=${groupId}`);

    await page.keyboard.press("p");
    await panel.locator("td", { hasText: "=1+1" }).waitFor();
    await page.keyboard.press("p");
    await panel.waitFor({ state: "detached" });
    // Enter goes into the message, to the link, and Tab on to the reference.
    const message = page.locator("svc-message[data-row]", { hasText: "Look" });
    const opens = message.getByRole("button", { name: "The plan" });
    await message.focus();
    await page.keyboard.press("Enter");
    const hasFocus = () => opens.evaluate((element) => element === document.activeElement);
    for (let stops = 0; !(await hasFocus()); stops += 1) {
      assert.ok(stops < 5, "Tab doesn't reach the reference");
      await page.keyboard.press("Tab");
    }
    await page.keyboard.press("Enter");
    await panel.locator("td", { hasText: "=1+1" }).waitFor();
  });

  it("are published, mentioned and cleared by the person as well", async () => {
    const page = await at("&presentation=3");
    const panel = page.locator("svc-presentations");
    const dialog = page.locator("svc-publish-dialog");
    const publishFile = async (name: string, mimeType: string, buffer: Buffer, title = "") => {
      await panel.getByRole("button", { name: "Show something in slot 3" }).click();
      await dialog.locator("input[type=file]").setInputFiles({ name, mimeType, buffer });
      await dialog.getByRole("status").waitFor();
      await dialog.locator("vscode-text-field input").last().fill(title);
      await dialog.getByRole("button", { name: "Show", exact: true }).click();
      await dialog.waitFor({ state: "detached" });
      await panel.locator(".presentation-title", { hasText: title }).waitFor();
    };
    const drawing = '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"/>';
    // Without a title of its own, it has the file's name as the daemon takes it.
    await publishFile("The \u202edrawing.svg", "image/svg+xml", Buffer.from(drawing));
    await panel.locator(".presentation-title", { hasText: /^The drawing\.svg$/ }).waitFor();
    await panel.locator(".presentation-image").waitFor();
    await panel.getByRole("button", { name: "Mention it in the message" }).click();
    const mentions = page.getByRole("group", { name: "Mentions" });
    await mentions.getByRole("button", { name: "Remove Slot 3: The drawing" }).click();
    await mentions.waitFor({ state: "detached" });
    await panel.getByRole("button", { name: "Mention it in the message" }).click();
    await mentions.getByText("Slot 3: The drawing").waitFor();
    const area = page.locator("svc-composer textarea");
    await area.fill("See there");
    await area.press("Control+Enter");
    await page.locator("svc-message", { hasText: "See there" }).getByText("The drawing").waitFor();
    await mentions.waitFor({ state: "detached" });

    // What is a document in a tab could do more than a picture.
    assert.equal(await panel.getByRole("link", { name: "Open the picture" }).count(), 0);
    await publishFile("pixel.png", "image/png", PIXEL, "The pixel");
    const [tab] = await Promise.all([
      page.context().waitForEvent("page", { timeout: 60_000 }),
      panel.getByRole("link", { name: "Open the picture" }).click(),
    ]);
    await tab.locator("img").waitFor({ timeout: 60_000 });
    assert.match(tab.url(), /\/presentations\/3\/content\?event=[0-9a-f]{32}$/);
    const reach = await tab.evaluate(() => [
      origin,
      opener,
      ...[() => localStorage.length, () => sessionStorage.length, () => document.cookie].map((read) => {
        try {
          return read();
        } catch {
          return "refused";
        }
      }),
    ]);
    assert.deepEqual(reach, ["null", null, "refused", "refused", "refused"]);
    await tab.close();

    await publishFile("two.pdf", "application/pdf", pdfOf("Page of the PDF"), "The document");
    const [saved] = await Promise.all([
      page.waitForEvent("download", { timeout: 60_000 }),
      panel.getByRole("button", { name: "Save the PDF" }).click(),
    ]);
    assert.equal(saved.suggestedFilename(), "The document.pdf");
    const viewer = await page.evaluate(() => navigator.pdfViewerEnabled);
    assert.equal(await panel.locator("iframe.presentation-frame").count(), viewer ? 1 : 0);
    await panel.getByRole("button", { name: "Empty slot 3" }).click();
    await panel.getByText("Slot 3 is empty.").waitFor();
    await panel.getByRole("button", { name: "Show the latest version" }).click();
    await panel.locator(".presentation-title", { hasText: "The document" }).waitFor();
    assert.equal(await panel.getByRole("button", { name: "Empty slot 3" }).count(), 0);
    await page.keyboard.press("Escape");
    await panel.waitFor({ state: "detached" });
    await page.locator("svc-message", { hasText: "See there" }).getByText("The drawing").click();
    await panel.locator(".presentation-image").waitFor();
  });

  it("show the beginning of a long text, and say that there is more", async () => {
    const project = mkdtempSync(join(tmpdir(), "svc-project-"));
    const most = LIMITS.presentation.markdownCharacters;
    const path = "long.md";
    const given = { group_id: groupId, slot: 4, kind: "markdown", title: "Long", path } as const;
    try {
      await setting.owner.result("attach", { path: project, group_id: groupId });
      // Paragraphs of 64 characters, the empty line after each included.
      const paragraphs = `${"word ".repeat(12)}ab\n\n`.repeat(most / 64);
      writeFileSync(join(project, path), paragraphs);
      await lead.result("presentation_publish", given);
      const page = await at("&presentation=4");
      const panel = page.locator("svc-presentations");
      const drawn = panel.locator(".presentation-text p");
      await drawn.first().waitFor();
      assert.equal(await panel.getByText("There is more").count(), 0);
      writeFileSync(join(project, path), `${paragraphs}The end`);
      await lead.result("presentation_publish", given);
      await panel.getByText("There is more").waitFor();
      assert.equal(await drawn.count(), most / 64);
      assert.equal(await panel.getByText("The end").count(), 0);
    } finally {
      rmSync(project, { recursive: true, force: true });
    }
  });

  it("need three rows of a phone, with what has no room there in a menu", async () => {
    const name = "What the second quarter costs, and the first one";
    for (const sum of [1, 2]) await publish(4, "csv", name, `name,sum\na,${sum}\n`);
    const page = await at("&presentation=4", { width: 360, height: 740, touch: true });
    const panel = page.locator("svc-presentations");
    await panel.locator("td").first().waitFor();
    await checkTargets(page, "a slot");
    const cut = await measure(
      panel.locator(".presentation-title bdi"),
      (one) => one.scrollHeight - one.clientHeight,
    );
    assert.equal(cut, 0, "all of the title is seen");
    const [title, steps] = [
      await boxOf(panel.locator(".presentation-title")),
      await boxOf(panel.locator(".head-end")),
    ];
    assert.ok(steps.y < title.y + title.height, "the steps are beside the title");
    const act = async (item: string) => {
      await panel.getByRole("button", { name: "Actions for slot 4" }).click();
      await page.locator(".menu-item", { hasText: item }).click();
    };
    await act("Mention it in the message");
    await page.getByText(`Slot 4: “${name}”`).waitFor();
    await act("Empty slot 4");
    await panel.getByText("Slot 4 is empty.").waitFor();
    await panel.getByRole("button", { name: "Actions for slot 4" }).click();
    await page.locator(".menu-item", { hasText: "Copy a link to this slot" }).waitFor();
    assert.equal(await page.locator(".menu-item").count(), 1);
  });

  it("are found: the feed's lines open them, the eye counts them and marks what is new, tabs have names", async () => {
    const { groupId: found, actors } = await setting.group("found", ["lead"]);
    const show = (slot: number, title: string) =>
      actors["lead"]!.result("presentation_publish", {
        group_id: found,
        slot,
        kind: "markdown",
        title,
        text: `# Text of ${title}`,
      });
    const titles = ["Preview", "Costs", "Plan", `evil”</bdi> <b>x</b> ${"long ".repeat(24)}`];
    for (const [at, title] of titles.entries()) await show(at + 1, title);
    const link = new URL(await setting.loginLink());
    const path = `${link.origin}/?group=${found}${link.hash}`;
    const { page } = await setting.window({ width: 390, height: 844, touch: true, path });
    const eye = page.getByRole("button", { name: /^Presentations/ });
    await page.getByRole("button", { name: "Presentations, 4, 4 new" }).waitFor();
    const line = page.locator(".system", { hasText: "Costs" });
    const quoted = await page.locator(".system .link", { hasText: "evil" }).innerText();
    assert.match(quoted, /^“evil’<\/bdi> <b>x<\/b> .{50,60}…”$/);
    await line.getByRole("button", { name: "“Costs”" }).click();
    const panel = page.locator("svc-presentations");
    await panel.getByRole("heading", { name: "Text of Costs" }).waitFor();
    const tabs = panel.locator(".slot-tab");
    await until("it was seen", async () => /, new/.test(await tabs.nth(1).innerText()) === false);
    assert.equal(await tabs.locator("bdi").nth(0).isVisible(), true);
    await panel.getByRole("button", { name: /Slot 3.*Plan.*new/s }).waitFor();
    const widths = await tabs.evaluateAll((all) => all.map((tab) => tab.getBoundingClientRect().right));
    assert.ok(
      widths.every((right) => right <= 390),
      JSON.stringify(widths),
    );
    await checkTargets(page, "the slots of a phone");
    await page.getByRole("button", { name: "Close the presentations" }).click();
    await page.getByRole("button", { name: "Presentations, 4, 3 new" }).waitFor();
    // Another version and an emptied slot: the line still shows what it says.
    await show(2, "Costs again");
    await actors["lead"]!.result("presentation_clear", { group_id: found, slot: 1 });
    await page.getByRole("button", { name: "Presentations, 3, 3 new" }).waitFor();
    await page.locator(".system", { hasText: "“Preview”" }).getByRole("button").click();
    await panel.getByRole("heading", { name: "Text of Preview" }).waitFor();
    await page.goBack();
    await page.locator(".system", { hasText: "“Costs”" }).getByRole("button").click();
    await panel.getByRole("heading", { name: "Text of Costs", exact: true }).waitFor();
    await page.goBack();
    // The eye begins with what is newest, and a reload keeps what was seen.
    await eye.click();
    await panel.getByRole("heading", { name: "Text of Costs again" }).waitFor();
    await page.reload();
    await page.getByRole("button", { name: "Presentations, 3, 2 new" }).waitFor();
    // By keyboard: Enter on the line.
    await page.keyboard.press("Escape");
    await page.locator(".system", { hasText: "“Plan”" }).focus();
    await page.keyboard.press("Enter");
    await panel.getByRole("heading", { name: "Text of Plan" }).waitFor();
    assert.deepEqual(await violations(page), []);
  });

  it("can be used by everyone, at any width and in every theme", async () => {
    const name = "Sums of the second quarter";
    for (const sum of [1, 2]) await publish(1, "csv", name, `name,sum\na,${sum}\n`);
    for (const theme of ["dark", "light", "hc-dark", "hc-light"] as const) {
      const page = await at("&presentation=1", { theme, width: theme === "light" ? 360 : 1440 });
      await page.locator("svc-presentations td").first().waitFor();
      assert.deepEqual(await violations(page), []);
      const title = page.locator(".presentation-title bdi", { hasText: name });
      const cut = await measure(title, (element) => element.scrollWidth - element.clientWidth);
      assert.equal(cut, 0, "all of the title is seen");
      const box = await boxOf(page.locator("svc-presentations"));
      assert.ok(box.x >= 0 && box.x + box.width <= (theme === "light" ? 360 : 1440), JSON.stringify(box));
      if (theme !== "dark") continue;
      for (const width of [1440, 3840]) {
        await page.setViewportSize({ width, height: 800 });
        await until("it has this width", () => page.evaluate((wide) => innerWidth === wide, width));
        const feed = await boxOf(page.locator("svc-feed"));
        const panel = await boxOf(page.locator("svc-presentations"));
        const all = JSON.stringify({ feed, panel });
        assert.ok(feed.width >= 320 && feed.x + feed.width <= panel.x, all);
        assert.ok(panel.width >= 400 && panel.x + panel.width <= width, all);
      }
    }
  });

  it("show a page that has light and dark colours on the background of those that it takes", async () => {
    await publish(2, "html", "Report", '<meta name="color-scheme" content="light dark"><h1>Report</h1>');
    for (const theme of ["dark", "light"] as const) {
      const page = await at("&presentation=2", { theme });
      const heading = page.frameLocator("svc-presentations iframe").locator("h1");
      const text = await measure(heading, (element) => getComputedStyle(element).color);
      const behind = await measure(
        page.locator("svc-presentations iframe"),
        (element) => getComputedStyle(element).backgroundColor,
      );
      assert.notEqual(text, behind, theme);
      assert.equal(text, theme === "dark" ? "rgb(255, 255, 255)" : "rgb(0, 0, 0)");
      await page.context().close();
    }
  });

  it("let a hostile page reach nothing", async () => {
    const { port } = outside.address() as AddressInfo;
    const away = `http://127.0.0.1:${port}`;
    await publish(
      2,
      "html",
      "Hostile",
      `<link rel=stylesheet href="${away}/style">
      <img src="${away}/image"><iframe src="${away}/frame"></iframe><form action="${away}/form"><input name=a></form>
      <a id=download download href="data:text/plain,x">d</a><script>
      const tried = {};
      const attempt = (name, run) => { try { const got = run(); tried[name] = got === null ? "none" : "reached"; } catch { tried[name] = "refused"; } };
      attempt("storage", () => localStorage.length);
      attempt("session", () => sessionStorage.length);
      attempt("cookie", () => document.cookie);
      attempt("parent", () => parent.document.title);
      attempt("top", () => { top.location.href = "${away}/top"; });
      attempt("popup", () => open("${away}/popup"));
      attempt("database", () => indexedDB.open("a"));
      attempt("form", () => { document.forms[0].submit(); return null; });
      attempt("download", () => { document.getElementById("download").click(); return null; });
      attempt("beacon", () => navigator.sendBeacon("${away}/beacon") ? 1 : null);
      const worker = async () => { try { await navigator.serviceWorker.register("/x.js"); return "reached"; } catch { return "refused"; } };
      const network = async (url) => { try { await fetch(url); return "reached"; } catch { return "refused"; } };
      (async () => {
        tried.worker = await worker();
        tried.network = await network("${away}/fetch");
        tried.daemon = await network("/api/v1/groups");
        tried.origin = origin;
        console.log("tried " + JSON.stringify(tried));
        location.href = "${away}/self";
      })();
      </script>`,
    );
    const downloads: string[] = [];
    const said: string[] = [];
    const prepare = async (opened: Page) => {
      opened.on("download", (download) => downloads.push(download.url()));
      opened.on("console", (message) => said.push(message.text()));
    };
    const page = await at("&presentation=2", { expected: /./, prepare });
    const answer = () => said.find((text) => text.startsWith("tried "));
    await until("the page has tried everything", async () => answer() !== undefined, 60_000);
    const tried = JSON.parse(answer()!.slice("tried ".length)) as Record<string, string>;
    assert.deepEqual(tried, {
      storage: "refused",
      session: "refused",
      cookie: "refused",
      parent: "refused",
      top: "refused",
      popup: "none",
      database: "refused",
      form: "none",
      download: "none",
      beacon: tried["beacon"],
      worker: "refused",
      network: "refused",
      daemon: "refused",
      origin: "null",
    });
    const isKept = async () => said.some((text) => text.includes(`${away}/`) && text.includes("frame-src"));
    await until(`the frame was kept from leaving: ${said.join("\n")}`, isKept, 60_000);
    assert.deepEqual([reached, downloads, page.context().pages().length], [[], [], 1]);
    assert.equal(new URL(page.url()).pathname, "/");
  });

  it("serve content to a signed-in browser only, each kind with its policy", async () => {
    await publish(
      3,
      "image",
      "Drawing",
      '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><script>document.title = 1</script></svg>',
    );
    const page = await at("&presentation=3");
    const picture = page.locator(".presentation-image");
    await picture.waitFor();
    await until("it is drawn", () =>
      picture.evaluate((image) => (image as HTMLImageElement).naturalWidth === 9),
    );
    const address = (slot: number) => `/api/v1/groups/${groupId}/presentations/${slot}/content`;
    const headers = (slot: number) =>
      page.evaluate(async (url) => {
        const answer = await fetch(url);
        return [
          answer.status,
          answer.headers.get("content-type"),
          answer.headers.get("content-security-policy"),
          answer.headers.get("x-content-type-options"),
        ];
      }, address(slot));
    assert.deepEqual(await headers(2), [
      200,
      "text/html; charset=utf-8",
      "sandbox allow-scripts; default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:; font-src data:",
      "nosniff",
    ]);
    assert.deepEqual(await headers(3), [
      200,
      "image/svg+xml",
      "sandbox; default-src 'none'; style-src 'unsafe-inline'",
      "nosniff",
    ]);
    const origin = await setting.origin();
    const { token } = await setting.owner.result("access_token_create", { name: "script" });
    const bare = await fetch(origin + address(2));
    const bearer = await fetch(origin + address(2), { headers: { authorization: `Bearer ${token}` } });
    assert.deepEqual([bare.status, bearer.status], [401, 403]);
  });
});
