/**
 * What programs may write into a terminal, seen from the browser that shows it: nothing gets out of
 * it.
 */

import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { until } from "../support/until.ts";
import { boxOf } from "./at-rest.ts";
import { openGroup, type Setting, useSetting } from "./setting.ts";

const PATIENCE = { timeout: 60_000 };

/**
 * Questions to a terminal, each with its only answer (null: none), in which ␛ stands for the escape
 * character.
 */
const QUESTIONS: readonly (readonly [question: string, answer: RegExp | null])[] = [
  ["\u001b[c", /^␛\[\?[\d;]+c$/],
  ["\u001b[>c", /^␛\[>[\d;]+c$/],
  ["\u001b[5n", /^␛\[0n$/],
  ["\u001b[6n", /^␛\[\d+;\d+R$/],
  ["\u001b[?6n", /^␛\[\?\d+;\d+R$/],
  ["\u001b[?2026$p", /^␛\[\?2026;\d\$y$/],
  ["\u001b[4$p", /^␛\[4;\d\$y$/],
  ["\u001bP$qm\u001b\\", /^␛P1\$r[\d;]*m␛\\$/],
  ["\u001bP$qr\u001b\\", /^␛P1\$r[\d;]*r␛\\$/],
  // Colours, clipboard, title and window: none of a program's business.
  ["\u001b]10;?\u0007", null],
  ["\u001b]11;?\u0007", null],
  ["\u001b]4;1;?\u0007", null],
  ["\u001b]52;c;?\u0007", null],
  ["\u001b[21t", null],
  ["\u001b[18t", null],
  ["\u0005", null],
];
const LINKS =
  "\u001b]8;;https://target.example/page\u001b\\shown.example\u001b]8;;\u001b\\\r\n" +
  "\u001b]8;;javascript:document.title='evil'\u001b\\harmless\u001b]8;;\u001b\\\r\n";
const ATTEMPTS = "\u001b]52;c;c3RvbGVu\u0007\u001b]0;evil title\u0007\u001b]9;a notice\u0007\u001b[8;2;2t";

const PROGRAM = `
import { appendFileSync, existsSync } from "node:fs";
const [log, texts] = [process.argv[2], JSON.parse(process.argv[3])];
process.stdin.setRawMode(true);
process.stdin.setEncoding("latin1");
process.stdin.on("data", (data) => {
  if (data.includes("N") && texts.length > 0) process.stdout.write(texts.shift());
  const rest = data.replaceAll("N", "").replaceAll("E", "");
  if (rest !== "") appendFileSync(log, JSON.stringify(rest) + "\\n");
  if (data.includes("E")) appendFileSync(log, '"end"\\n');
});
process.stdout.write("up\\r\\n");
`;

describe("Workbench: what a program writes into its terminal", function () {
  this.timeout(180_000);
  let setting: Setting;
  let folder: string;
  useSetting((opened) => {
    setting = opened;
  });
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "svc-output-"));
  });
  after(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  /**
   * A program that writes the next of `texts` when it reads an N, and notes everything else that it
   * reads. In a window that writes to it.
   */
  async function program(name: string, texts: readonly string[]) {
    const project = join(folder, name);
    mkdirSync(project);
    const file = join(folder, `${name}.mjs`);
    const log = join(folder, `${name}.log`);
    writeFileSync(file, PROGRAM);
    const { owner } = setting;
    const { group_id: groupId } = await owner.result("attach", { path: project });
    const command = [process.execPath, file, log, JSON.stringify(texts)];
    await owner.result("actor_add", { group_id: groupId, actor_id: "prog", runner: "pty", command });
    await owner.result("actor_start", { group_id: groupId, actor_id: "prog" });
    const { page, context } = await setting.window({ width: 1400 });
    await openGroup(page, name);
    await page.locator("[data-actor=prog]").hover();
    await page.locator('[aria-label="Terminal of prog"]').click();
    const pane = page.locator('section[aria-label="Terminal of prog"]');
    await pane.locator(".xterm-rows", { hasText: "up" }).waitFor(PATIENCE);
    await pane.locator("vscode-button").click();
    await pane.locator(".terminal-state", { hasText: "writing here" }).waitFor(PATIENCE);
    const read = (): string[] =>
      existsSync(log)
        ? readFileSync(log, "utf8")
            .trim()
            .split("\n")
            .map((line) => JSON.parse(line) as string)
        : [];
    return { page, context, pane, read };
  }

  /** Everything that the page had to say to what was written is behind this. */
  async function flushed(page: Page, read: () => string[]): Promise<string[]> {
    const ends = read().filter((line) => line === "end").length;
    await page.keyboard.type("E");
    await until("the program read on", () => read().filter((line) => line === "end").length > ends);
    return read();
  }

  it("is answered once where it asks, by the daemon and not by the page as well", async () => {
    const { page, read } = await program(
      "asks",
      QUESTIONS.map(([question], index) => `${question}q${index};`),
    );
    await page.locator(".xterm-helper-textarea").focus();
    for (const [index, [question, answer]] of QUESTIONS.entries()) {
      const before = read().join("").replaceAll("end", "");
      await page.keyboard.type("N");
      await page.locator(".xterm-rows", { hasText: `q${index};` }).waitFor(PATIENCE);
      const said = () => read().join("").replaceAll("end", "").slice(before.length);
      if (answer !== null) await until(JSON.stringify(question), () => said() !== "");
      await flushed(page, read);
      if (answer === null) assert.equal(said(), "", JSON.stringify(question));
      else assert.match(said().replaceAll("\u001b", "␛"), answer, JSON.stringify(question));
    }
  });

  it("opens its links only when clicked, without a way back, and nothing but web pages", async () => {
    const { page, context, pane } = await program("links", [LINKS]);
    await context.route(/target\.example/, (route) => route.fulfill({ body: "there" }));
    let asked = 0;
    page.on("dialog", (dialog) => {
      asked += 1;
      void dialog.dismiss();
    });
    await pane.locator(".xterm-helper-textarea").focus();
    await page.keyboard.type("N");
    const row = (text: string) => pane.locator(".xterm-rows > div", { hasText: text });
    await row("harmless").waitFor(PATIENCE);
    // The screen lies above its rows.
    const point = async (text: string): Promise<void> => {
      const box = await boxOf(row(text));
      await page.mouse.move(box.x + 18, box.y + 5);
      await page.mouse.move(box.x + 22, box.y + 6);
    };
    const click = async (): Promise<void> => {
      await page.mouse.down();
      await page.mouse.up();
    };
    await point("harmless");
    await click();
    await point("shown.example");
    await until(
      "its address on hover",
      async () =>
        (await pane.locator(".terminal-place").getAttribute("title")) === "https://target.example/page",
    );
    const [opened] = await Promise.all([context.waitForEvent("page", PATIENCE), click()]);
    await opened.waitForURL("https://target.example/page", PATIENCE);
    assert.equal(await opened.evaluate("opener"), null);
    assert.equal(asked, 0);
    assert.equal(context.pages().length, 2);
    assert.match(await page.title(), /links$/);
  });

  it("reaches neither clipboard, title, notices nor the window", async () => {
    const { page, context, pane } = await program("attempts", [`${ATTEMPTS}done`]);
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.evaluate(() => navigator.clipboard.writeText("mine"));
    const rows = await pane.locator(".xterm-rows > div").count();
    await pane.locator(".xterm-helper-textarea").focus();
    await page.keyboard.type("N");
    await pane.locator(".xterm-rows", { hasText: "done" }).waitFor(PATIENCE);
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), "mine");
    assert.match(await page.title(), /attempts$/);
    assert.equal(await pane.locator(".xterm-rows > div").count(), rows);
  });
});
