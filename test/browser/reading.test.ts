/**
 * Messages as people read them: by keyboard, in other scripts, with wide tables and tiny pictures.
 */

import assert from "node:assert/strict";
import type { Locator, Page } from "playwright-core";
import { textOf } from "../support/events.ts";
import { until } from "../support/until.ts";
import { atRest, boxOf, measure, wear } from "./at-rest.ts";
import { openGroup, type Setting, useSetting } from "./setting.ts";

const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** The contrast of two colors as a browser computes them (WCAG 2.2). */
function contrast(one: string, other: string): number {
  const [bright, dark] = [one, other].map(luminance).toSorted((a, b) => b - a);
  return (bright! + 0.05) / (dark! + 0.05);
}

function luminance(color: string): number {
  const [red, green, blue] = color.match(/[\d.]+/g)!.map((part) => {
    const one = Number(part) / 255;
    return one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
}

describe("Workbench: reading", () => {
  let setting: Setting;

  useSetting((opened) => {
    setting = opened;
  });

  const focused = (page: Page) =>
    page.evaluate(() => {
      const element = document.activeElement;
      if (element?.matches("svc-message")) return "message";
      if (element?.matches(".compose-text")) return "composer";
      return element?.closest("svc-message") === null ? "elsewhere" : `inside ${element?.tagName ?? ""}`;
    });

  it("is a few steps of Tab from the header to the composer, over one message", async () => {
    const { groupId, actors } = await setting.group("stops");
    for (let number = 1; number <= 12; number += 1)
      await actors["lead"]!.result("send", {
        group_id: groupId,
        text: `Number ${number}: [a link](https://example.org/${number})\n\n\`\`\`ts\nconst code = ${number}; // ${"long ".repeat(60)}\n\`\`\`\n\n| a | b |\n|---|---|\n| ${"wide ".repeat(80)} | x |`,
        to: ["user"],
      });
    const { page } = await setting.window();
    await openGroup(page, "stops");
    await page.locator("svc-message", { hasText: "Number 12" }).waitFor();
    await atRest(page);
    await page.locator("svc-group-header [aria-label^='Search']").focus();
    const seen: string[] = [];
    while (seen.at(-1) !== "composer") {
      assert.ok(seen.length < 10, seen.join(", "));
      await page.keyboard.press("Tab");
      seen.push(await focused(page));
    }
    assert.deepEqual(
      seen.filter((one) => one !== "elsewhere"),
      ["message", "composer"],
    );
    assert.ok(seen.length <= 6, seen.join(", "));
    // Enter goes in, Tab moves on inside, Escape comes back, and outside nothing has changed.
    await page.locator("[data-row][tabindex='0']").focus();
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Enter");
    assert.equal(await focused(page), "inside A");
    await page.keyboard.press("Tab");
    assert.match(await focused(page), /^inside (?:BUTTON|PRE)$/);
    await page.keyboard.press("Escape");
    assert.equal(await focused(page), "message");
    assert.equal(await page.locator("svc-message :is(a, button, pre)[tabindex='0']").count(), 0);
    await page.keyboard.press("r");
    await page.locator(".replying").waitFor();
  });

  it("scrolls code and tables that are too wide by the keyboard, once Enter went into the message", async () => {
    const { groupId, actors } = await setting.group("wide");
    await actors["lead"]!.result("send", {
      group_id: groupId,
      text: `\`\`\`\n${"long ".repeat(200)}\n\`\`\`\n\n|${" a |".repeat(12)}\n|${"---|".repeat(12)}\n|${" Responsibilities |".repeat(12)}`,
      to: ["user"],
    });
    const { page } = await setting.window({ width: 900, reducedMotion: true });
    await openGroup(page, "wide");
    await page.locator("svc-message .table-scroll").waitFor();
    await page.locator("svc-message[data-row]").focus();
    await page.keyboard.press("Enter");
    const reached = () => page.evaluate(() => document.activeElement?.matches("pre, .table-scroll") === true);
    const scrolled = () => page.evaluate(() => document.activeElement?.scrollLeft ?? 0);
    const names: string[] = [];
    for (let stops = 0; names.length < 2; stops += 1) {
      assert.ok(stops < 20, `only ${names.join(", ")} can be reached`);
      if (await reached()) {
        assert.equal(await scrolled(), 0);
        await page.keyboard.press("ArrowRight");
        await until("it scrolls to the right", async () => (await scrolled()) > 0);
        await page.keyboard.press("ArrowLeft");
        await until("it scrolls back", async () => (await scrolled()) === 0);
        names.push(await page.evaluate(() => document.activeElement!.tagName));
      }
      await page.keyboard.press("Tab");
    }
    assert.deepEqual(names, ["PRE", "DIV"]);
  });

  it("has the direction of each paragraph's own text", async () => {
    const { groupId, actors } = await setting.group("scripts");
    await actors["lead"]!.result("send", {
      group_id: groupId,
      text: "שלום עולם, hello.\n\nAn English paragraph.\n\n- פריט ראשון\n- פריט שני\n\n`code`\n\n```\nשלום = 1\n```",
      to: ["user"],
    });
    const { page } = await setting.window();
    await openGroup(page, "scripts");
    const message = page.locator("svc-message", { hasText: "English paragraph" });
    await message.waitFor();
    const direction = (selector: string, at = 0) =>
      message
        .locator(selector)
        .nth(at)
        .evaluate((element) => getComputedStyle(element).direction);
    assert.equal(await direction(".markdown > p"), "rtl");
    assert.equal(await direction(".markdown > p", 1), "ltr");
    assert.equal(await direction(".markdown ul"), "rtl");
    assert.equal(await direction(".markdown li"), "rtl");
    assert.equal(await direction(".markdown pre"), "ltr");
    await page.locator(".compose-text").fill("مرحبا");
    assert.equal(
      await page.locator(".compose-text").evaluate((area) => getComputedStyle(area).direction),
      "rtl",
    );
  });

  it("breaks no word for a wide table, and holds the chip of a tiny picture in its place", async () => {
    const { groupId } = await setting.group("odd sizes");
    const words = [
      "Responsibilities",
      "Configuration",
      "Authentication",
      "Internationalisation",
      "Observability",
    ];
    await setting.owner.result("send", {
      group_id: groupId,
      text: `| ${words.join(" | ")} |\n|${"---|".repeat(words.length)}\n| ${words.join(" | ")} |`,
      to: ["lead"],
    });
    const { page } = await setting.window({ width: 360 });
    await page.locator(".bottom-tab", { hasText: "Groups" }).click();
    await openGroup(page, "odd sizes");
    const heads = page.locator(".markdown th");
    await heads.first().waitFor();
    await atRest(page);
    const lines = await heads.evaluateAll((all) =>
      all.map((cell) => {
        const range = document.createRange();
        range.selectNodeContents(cell);
        return new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size;
      }),
    );
    assert.deepEqual(
      lines,
      words.map(() => 1),
    );
    const { over, page: sideways } = await page.evaluate(() => {
      const scroll = document.querySelector(".table-scroll")!;
      return {
        over: scroll.scrollWidth > scroll.clientWidth,
        page: document.documentElement.scrollWidth > innerWidth,
      };
    });
    assert.deepEqual([over, sideways], [true, false]);
    await page
      .locator("input[type=file]")
      .setInputFiles([{ name: "pixel.png", mimeType: "image/png", buffer: Buffer.from(PIXEL, "base64") }]);
    await page.locator(".upload", { hasText: "pixel.png" }).waitFor();
    await until("it has arrived", async () => (await page.locator(".upload progress").count()) === 0);
    await page.locator(".compose-text").fill("one pixel");
    await page.locator(".compose-text").press("Control+Enter");
    const picture = page.locator("svc-attachment .picture");
    await picture.waitFor();
    // Both at once: the feed moves up when the message gets a line for its state.
    const [above, chip] = await measure(page.locator("svc-attachment"), (attachment) =>
      [".picture", ".file"].map((part) => attachment.querySelector(part)!.getBoundingClientRect().toJSON()),
    );
    assert.ok(Math.abs(above.x - chip.x) <= 1, `the picture is at ${above.x}, its chip at ${chip.x}`);
    assert.ok(chip.y >= above.bottom);
  });

  it("shows the lines of a message as they were written, and keeps every blank of its text", async () => {
    const { groupId } = await setting.group("lines");
    const { page } = await setting.window();
    await openGroup(page, "lines");
    const written =
      "  Two blanks first\nthe next line\n\nafter a gap\n\n```\n  two\n\tone tab\n\n    four\n```\n";
    await page.locator(".compose-text").fill(written);
    await page.locator(".compose-text").press("Control+Enter");
    const markdown = page.locator("svc-message .markdown");
    await markdown.waitFor();
    const { events } = await setting.owner.result("ledger_tail", {
      group_id: groupId,
      kinds: ["chat.message"],
    });
    assert.deepEqual(events.map(textOf), [written]);
    assert.deepEqual(
      await markdown.locator("> p").evaluateAll((all) => all.map((one) => (one as HTMLElement).innerText)),
      ["Two blanks first\nthe next line", "after a gap"],
    );
    assert.equal(await markdown.locator("pre").innerText(), "  two\n\tone tab\n\n    four");

    const plain = "First\n  two blanks\n\n\tone tab   and three blanks\n";
    await setting.owner.result("send", { group_id: groupId, text: plain, format: "plain", to: ["lead"] });
    const shown = page.locator("svc-message .plain");
    await shown.waitFor();
    assert.equal(await shown.innerText(), plain);
    assert.equal(await lines(shown), 4);
    // An answer to it names it in one line.
    const message = page.locator("svc-message", { has: page.locator(".plain") });
    await message.hover();
    await message.locator('[aria-label="Reply"]').click();
    const quoted = page.locator(".replying .quoted-text", {
      hasText: "First two blanks one tab and three blanks",
    });
    await quoted.waitFor();
    assert.equal(await lines(quoted), 1);
  });

  it("shows what is to do and done, patches in colors, and long texts when asked to", async () => {
    const { groupId, actors } = await setting.group("kinds of text");
    const long = Array.from({ length: 80 }, (_, at) => `line ${at + 1}`).join("\n");
    for (const text of [
      "- [ ] open\n- [x] closed\n- [link](https://example.org)",
      "```diff\n-old\n+new\n same\n```",
      long,
    ])
      await actors["lead"]!.result("send", { group_id: groupId, text, to: ["user"] });
    const { page } = await setting.window();
    await openGroup(page, "kinds of text");
    const tasks = page.locator(".markdown .task");
    await tasks.first().waitFor();
    assert.deepEqual(await tasks.allTextContents(), ["To do: open", "Done: closed"]);
    assert.equal(await page.locator(".task-box.done").count(), 1);
    const patch = page.locator(".code-block", { hasText: "same" });
    assert.equal(await patch.locator("code").textContent(), "-old\n+new\n same");
    assert.equal(await patch.locator(".patch-added").textContent(), "+new");
    assert.equal(await patch.locator(".patch-removed").textContent(), "-old");
    const message = page.locator("svc-message", { hasText: "line 80" });
    const height = async () => (await boxOf(message)).height;
    const cut = await height();
    await message.locator(".show-more", { hasText: "Show more" }).click();
    await message.locator(".show-more", { hasText: "Show less" }).waitFor();
    assert.ok((await height()) > cut + 200);
    await message.locator(".show-more").click();
    await until("it is cut again", async () => (await height()) === cut);
  });

  it("decodes named character references as Markdown has them, and no other", async () => {
    const { groupId, actors } = await setting.group("references");
    const written =
      "a &copy;&ngE;&Tab;b &amp;lt; &ampx; &nosuchname; &copy &#x41; &lt;img src=x&gt; `&copy;`";
    await actors["lead"]!.result("send", { group_id: groupId, text: written, to: ["user"] });
    const { page } = await setting.window();
    await openGroup(page, "references");
    const shown = page.locator("svc-message .markdown p");
    await shown.waitFor();
    assert.equal(
      await shown.textContent(),
      "a \u00a9\u2267\u0338\tb &lt; &ampx; &nosuchname; &copy A <img src=x> &copy;",
    );
    assert.equal(await shown.locator("img").count(), 0);
  });

  it("colors the code of languages that it knows, and shows every other text as it is", async () => {
    const { groupId, actors } = await setting.group("colors");
    const code = 'export const wanted = "</code><img src=x>"; // a comment\n\n\treturn 12;';
    const texts = [
      `A known one\n\n\`\`\`ts title="x"\n${code}\n\`\`\``,
      `An odd one\n\n\`\`\`"><img/src=x>\n${code}\n\`\`\``,
      `A large one\n\n\`\`\`js\n${"f((a, b) => [a, b]); // more\n".repeat(1500)}\`\`\``,
    ];
    for (const text of texts) await actors["lead"]!.result("send", { group_id: groupId, text, to: ["user"] });
    const { page } = await setting.window();
    await openGroup(page, "colors");
    const block = (words: string) => page.locator("svc-message", { hasText: words }).locator("pre code");
    await block("A known one").locator(".code-keyword").first().waitFor();
    assert.deepEqual(await block("A known one").locator("span").allTextContents(), [
      "export",
      "const",
      "wanted",
      '"</code><img src=x>"',
      "// a comment",
      "return",
      "12",
    ]);
    assert.equal(await block("A known one").textContent(), code);
    assert.equal(await block("An odd one").textContent(), code);
    assert.equal(await block("An odd one").locator("*").count(), 0);
    // No block has more parts than a page can bear, and all of its text is there.
    await block("A large one").locator(".code-comment").first().waitFor({ state: "attached" });
    assert.equal((await block("A large one").textContent())?.length, 1500 * 29 - 1);
    assert.ok((await block("A large one").locator("span").count()) <= 4000);
    // They are read in every theme.
    for (const theme of ["light", "dark", "hc-light", "hc-dark"]) {
      await page.evaluate((kind) => {
        document.documentElement.dataset["theme"] = kind;
        document.body.className =
          { light: "vscode-light", dark: "vscode-dark", "hc-light": "vscode-high-contrast-light" }[kind] ??
          "vscode-high-contrast";
      }, theme);
      const [behind, ...kinds] = await measure(block("A known one"), (element) => {
        const colors = [getComputedStyle(element.closest(".code-block")!).backgroundColor];
        for (const kind of ["comment", "keyword", "string", "number", "name", "type", "property"]) {
          const probe = element.appendChild(document.createElement("span"));
          probe.className = `code-${kind}`;
          colors.push(getComputedStyle(probe).color);
          probe.remove();
        }
        return colors;
      });
      assert.equal(new Set(kinds).size, 7, theme);
      for (const kind of kinds) assert.ok(contrast(kind, behind!) >= 4.5, `${theme}: ${kind} on ${behind}`);
    }
  });

  it("lets the page do other things while many blocks of code get their colors", async () => {
    const { groupId, actors } = await setting.group("blocks");
    const line = (block: number, number: number) => `let n${block} = f("a", ${number}); // c`;
    const blocks = Array.from({ length: 25 }, (_, block) =>
      Array.from({ length: 75 }, (_, number) => line(block, number)).join("\n"),
    );
    const text = blocks.map((code) => `\`\`\`js\n${code}\n\`\`\``).join("\n\n");
    await actors["lead"]!.result("send", { group_id: groupId, text, to: ["user"] });
    // Counts the page's tasks, and notes in which of them blocks were painted.
    const count = `self.paintedIn = new Set();
      let task = 0;
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => { task += 1; if (self.paintedIn !== null) port2.postMessage(0); };
      port2.postMessage(0);
      new MutationObserver((changes) => {
        if (changes.some(({ target }) => target.matches?.("code") && target.querySelector("span")))
          self.paintedIn?.add(task);
      }).observe(document, { childList: true, subtree: true });`;
    const { page } = await setting.window({ prepare: (prepared) => prepared.addInitScript(count) });
    await openGroup(page, "blocks");
    await page.waitForFunction(
      (all) => document.querySelectorAll("svc-feed code:has(.code-comment)").length === all,
      blocks.length,
    );
    const tasks = await page.evaluate("const { size } = self.paintedIn; self.paintedIn = null; size");
    assert.ok(Number(tasks) > 1, `all in ${String(tasks)} task`);
  });

  it("shows a text as it was typed when its markup is more than a page draws at once", async () => {
    const { groupId } = await setting.group("markup");
    const many = {
      emphasis: ["***a**b", 8500],
      columns: ["|a", 15_000],
      lists: ["- a\n", 12_000],
      code: ["`a` ", 15_000],
    } as const;
    const { page } = await setting.window();
    await openGroup(page, "markup");
    for (const [name, [part, times]] of Object.entries(many)) {
      const row = name === "columns" ? `${part.repeat(times)}|\n${"|-".repeat(times)}|` : part.repeat(times);
      const text = `${name} ${name === "emphasis" ? "" : "\n\n"}${row}`.trim();
      await setting.owner.result("send", { group_id: groupId, text, to: ["lead"] });
      const message = page.locator("svc-message", { hasText: name });
      await message.locator(".hint", { hasText: "as it was typed" }).waitFor();
      assert.equal(await message.locator(".plain").textContent(), text);
      assert.ok((await message.locator("*").count()) < 100);
    }
    const few = "**a** b\n".repeat(500);
    await setting.owner.result("send", { group_id: groupId, text: `few ${few}`, to: ["lead"] });
    const message = page.locator("svc-message", { hasText: "few" });
    await message.locator("strong").first().waitFor();
    assert.equal(await message.locator("strong").count(), 500);
  });

  it("shows how attached texts begin, in colors, and nothing of what isn't text", async () => {
    await setting.group("texts");
    const { page } = await setting.window();
    await openGroup(page, "texts");
    let fetched = 0;
    page.on("requestfinished", (request) => {
      if (request.url().includes("/blobs/") && request.method() === "GET") fetched += 1;
    });
    const code = Array.from({ length: 60 }, (_, at) => `print("<img src=x>${at + 1}\u202e")`).join("\r\n");
    const files = [
      ["</bdi><img src=x onerror=alert(1)>\u202e.py", code],
      ["short.txt", "One line.\n"],
      ["a.diff", "-old\n+new"],
      ["binary.txt", Buffer.from([0x41, 0, 0x42])],
      ["latin.md", Buffer.from([0x41, 0xe9, 0x42])],
      ["large.csv", "a,b\n".repeat(70_000)],
      ["data.bin", "plain words"],
    ] as const;
    await page.locator("input[type=file]").setInputFiles(
      files.map(([name, content]) => ({
        name: name.replaceAll("/", "_"),
        mimeType: "application/octet-stream",
        buffer: Buffer.from(content),
      })),
    );
    await until("all are there", async () => (await page.locator(".upload").count()) === files.length);
    await until("all have arrived", async () => (await page.locator(".upload progress").count()) === 0);
    await page.locator(".compose-text").fill("Seven files.");
    await page.locator(".compose-text").press("Control+Enter");
    const file = (name: string) => page.locator("svc-attachment", { hasText: name });
    const python = file("onerror");
    await python.locator(".code-string").first().waitFor();
    const lines = async () => (await python.locator("code").textContent())?.split("\n") ?? [];
    assert.deepEqual(
      await lines(),
      Array.from({ length: 10 }, (_, at) => `print("<img src=x>${at + 1}\ufffd")`),
    );
    assert.equal(await python.locator("img").count(), 0);
    await python.locator(".show-more", { hasText: "Show more" }).click();
    await until("all of it is shown", async () => (await lines()).length === 60);
    await until("in colors", async () => (await python.locator(".code-string").count()) === 60);
    await python.locator(".show-more", { hasText: "Show less" }).click();
    await until("it is short again", async () => (await lines()).length === 10);
    assert.equal(await file("short.txt").locator("code").textContent(), "One line.");
    assert.equal(await file("short.txt").locator(".show-more").count(), 0);
    assert.equal(await file("a.diff").locator(".patch-added").textContent(), "+new");
    // The large one and the one that can't be text aren't even fetched.
    for (const [name] of files) await file(name.replaceAll("/", "_").slice(0, 8)).scrollIntoViewIfNeeded();
    await until("five were read", () => fetched === 5);
    await atRest(page);
    for (const name of ["binary.txt", "latin.md", "large.csv", "data.bin"])
      assert.equal(await file(name).locator("pre").count(), 0, name);
  });

  it("tells of each Actor in one line, in a column and on a phone", async () => {
    const { groupId, actors } = await setting.group("rows", ["lead", "reviewer"]);
    for (const client of Object.values(actors))
      await client.result("send", {
        group_id: groupId,
        text: "May I?",
        to: ["user"],
        message_mode: "request_reply",
      });
    for (const messageMode of ["send", "mail"] as const)
      await setting.owner.result("send", {
        group_id: groupId,
        text: "Later.",
        to: ["lead", "reviewer"],
        message_mode: messageMode,
      });
    await setting.owner.result("actor_stop", { group_id: groupId, actor_id: "reviewer" });
    const column = await setting.window({ width: 1280 });
    await openGroup(column.page, "rows");
    const phone = await setting.window({ width: 360, height: 760, touch: true });
    await phone.page.locator(".bottom-tab", { hasText: "Groups" }).click();
    await openGroup(phone.page, "rows");
    await phone.page.locator(".bottom-tab", { hasText: "Actors" }).click();
    // What is owed and what leads somewhere is seen in forced colours as well.
    await wear(column.page, { forcedColors: "active" });
    const owed = column.page.locator(".message.owes").first();
    const border = await measure(owed, (message) => getComputedStyle(message).borderLeftWidth);
    assert.equal(border, "2px");
    const [link, system] = await measure(owed.locator(".answer"), (answer) => {
      const probe = document.body.appendChild(document.createElement("a"));
      probe.href = "#";
      const colors = [answer, probe].map((element) => getComputedStyle(element).color);
      probe.remove();
      return colors;
    });
    assert.equal(link, system);
    await wear(column.page, { forcedColors: "none" });
    for (const { page } of [column, phone]) {
      const state = (id: string) => page.locator(`[data-actor=${id}] .actor-state`);
      await state("lead")
        .filter({ hasText: "asks you for a reply" })
        .filter({ hasText: "1 unread Mail" })
        .waitFor();
      assert.equal(await lines(state("lead")), 1);
      const cut = await measure(
        state("lead").locator(".actor-word"),
        (element) => element.scrollWidth - element.clientWidth,
      );
      assert.ok(cut <= 0, `${cut} px of what it waits for are cut`);
      assert.match((await state("lead").getAttribute("title")) ?? "", /waiting for you/);
      // What doesn't run has no clock.
      await state("reviewer").filter({ hasText: "stopped" }).waitFor();
      assert.equal(await lines(state("reviewer")), 1);
      assert.equal(await state("reviewer").locator("svc-time").count(), 0);
    }
  });
});

/** How many lines a text stands in. */
function lines(of: Locator): Promise<number> {
  return measure(of, (element) => {
    const range = document.createRange();
    range.selectNodeContents(element);
    const { lineHeight } = getComputedStyle(element);
    return Math.round(range.getBoundingClientRect().height / Number.parseFloat(lineHeight));
  });
}
