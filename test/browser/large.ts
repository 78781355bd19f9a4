/**
 * A Group of many messages: few rows in the document, bounded memory, and the place kept while
 * older ones come.
 */

import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { WINDOW_ROWS } from "../../webview/state/feed-window.ts";
import { until } from "../support/until.ts";
import { openGroup, type Setting, useSetting } from "./setting.ts";

const AT_ONCE = 256;
const PAGES = 40;
/** As far as the end isn't reached. */
const PAGES_BACK = PAGES / 2;

/** Notes in the page how long each task took that kept it from drawing for 50 ms or more. */
const NOTE_LONG_TASKS = `globalThis.longTasks = [];
new PerformanceObserver((list) => {
  for (const { duration } of list.getEntries()) longTasks.push(duration);
}).observe({ type: "longtask" });`;

/** The long tasks since the last time, in words. */
async function longTasks(page: Page): Promise<string> {
  const durations = await page.evaluate<number[]>("longTasks.splice(0)");
  return durations.length === 0
    ? "no long task"
    : `${durations.length} long ${durations.length === 1 ? "task" : "tasks"}, the longest ${Math.max(...durations).toFixed(0)} ms`;
}

async function rows(page: Page): Promise<number> {
  return page.locator("[data-row]").count();
}

/** Tests with a Group of this many messages, more than the pages that they scroll through. */
export function describeLarge(messages: number): void {
  describe(`Workbench: ${messages.toLocaleString("en")} messages`, () => testsOf(messages));
}

function testsOf(messages: number): void {
  let setting: Setting;
  let groupId: string;

  useSetting((opened) => {
    setting = opened;
  });
  before(async function () {
    this.timeout(1_800_000);
    ({ groupId } = await setting.group("large"));
    const { owner } = setting;
    let next = 1;
    const producer = async () => {
      while (next <= messages) {
        const number = next++;
        await owner.result("send", {
          group_id: groupId,
          text: `Message number ${number}.\n\nWith **two** lines.`,
          to: ["lead"],
        });
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, producer));
  });

  it("pages both ways with bounded rows and memory", async function () {
    this.timeout(300_000);
    const { page, context } = await setting.window();
    await page.evaluate(NOTE_LONG_TASKS);
    const started = performance.now();
    await openGroup(page, "large");
    await page.locator("svc-message").last().waitFor();
    const opened = performance.now() - started;
    const session = await context.newCDPSession(page);
    const heap = async () => {
      await session.send("HeapProfiler.collectGarbage");
      const { usedSize } = await session.send("Runtime.getHeapUsage");
      return usedSize;
    };
    const before = await heap();
    const scroller = page.locator(".feed-scroll");
    const opening = await longTasks(page);
    /** Scrolls through pages and says what that took. */
    const scroll = async (direction: "older" | "newer", pages: number) => {
      const edge = () => {
        const all = page.locator("[data-row]");
        return (direction === "older" ? all.first() : all.last()).getAttribute("data-row");
      };
      let slowest = 0;
      for (let turn = 0; turn < pages; turn += 1) {
        const row = await edge();
        const from = performance.now();
        // Rows that come at the same time keep the place under the eyes: a person scrolls on.
        await until(`${direction} rows`, async () => {
          await scroller.evaluate(
            (element, to) => (element.scrollTop = to === "older" ? 0 : element.scrollHeight),
            direction,
          );
          return (await edge()) !== row;
        });
        slowest = Math.max(slowest, performance.now() - from);
        assert.ok((await rows(page)) <= WINDOW_ROWS);
      }
      return `${pages} pages of ${direction} rows in at most ${slowest.toFixed(0)} ms each, ${await longTasks(page)}`;
    };
    const up = await scroll("older", PAGES);
    const oldest = await page.locator("[data-row]").first().getAttribute("data-row");
    const grown = (await heap()) - before;
    assert.ok(grown < 20_000_000, `the heap grew by ${grown} bytes`);
    await longTasks(page);
    const down = await scroll("newer", PAGES_BACK);
    assert.equal(await page.locator(`[data-row="${oldest}"]`).count(), 0, "what was left behind has gone");
    await page.locator(".pill").click();
    await until("the newest row is back", async () => {
      const last = await scroller.evaluate((s) => s.scrollHeight - s.scrollTop - s.clientHeight);
      return last < 2 && (await page.locator(".pill").count()) === 0;
    });
    console.log(
      `      opened in ${opened.toFixed(0)} ms, ${opening}; ${up}; ${down}; heap +${(grown / 1e6).toFixed(1)} MB`,
    );
  });

  it("keeps the row under the eyes while older and new ones come, and counts the new", async () => {
    const { page } = await setting.window();
    await openGroup(page, "large");
    await page.locator("svc-message").last().waitFor();
    await page.locator(".feed-scroll").hover();
    await page.mouse.wheel(0, -1500);
    await page.locator(".pill").waitFor();
    const place = () =>
      page.locator(".feed-scroll").evaluate((scroller) => {
        const { top } = scroller.getBoundingClientRect();
        const row = [...scroller.querySelectorAll<HTMLElement>("[data-row]")].find(
          (entry) => entry.getBoundingClientRect().bottom > top + 40,
        );
        return { id: row?.dataset["row"], at: Math.round(row?.getBoundingClientRect().top ?? 0) };
      });
    // As text: what the test's compiler adds to functions isn't known in the page.
    const drawn = () =>
      page.evaluate(
        "new Promise((done) => { let left = 20; (function next() { left-- > 0 ? requestAnimationFrame(next) : done(); })(); })",
      );
    // The wheel glides, and rows that come into view are measured.
    const before = await until("the feed is at rest", async () => {
      const seen = await place();
      await drawn();
      const now = await place();
      return now.id === seen.id && now.at === seen.at ? now : null;
    });
    for (let count = 1; count <= 5; count += 1) {
      await setting.owner.result("send", { group_id: groupId, text: `Fresh ${count}`, to: ["lead"] });
    }
    await page.locator(".pill", { hasText: "5 new" }).waitFor();
    await until("the row is where it was", async () => {
      const { id, at } = await place();
      return id === before.id && at === before.at;
    });
    // What is above the view may change its height.
    const lower = (by: string) =>
      page.locator(".group-head").evaluate((head, padding) => {
        (head as HTMLElement).style.paddingTop = padding;
      }, by);
    const head = () => page.locator(".group-head").evaluate((element) => element.clientHeight);
    const low = await head();
    await lower("150px");
    await until("the feed begins lower", async () => (await head()) > low);
    await drawn();
    assert.equal((await place()).id, before.id, "the row went along");
    await lower("");
    // The states of a message's delivery come after it, and may be all that is seen of it.
    const feed = page.locator(".feed-scroll");
    const pad = (by: number) =>
      feed.evaluate(
        (scroller, [id, padding]) => {
          const row = scroller.querySelector<HTMLElement>(`[data-row="${id}"]`)!;
          row.style.display = "block";
          row.style.paddingBottom = `${padding}px`;
        },
        [before.id, by] as const,
      );
    const seenOf = () =>
      feed.evaluate((scroller, id) => {
        const row = scroller.querySelector(`[data-row="${id}"]`)!;
        return row.getBoundingClientRect().bottom - scroller.getBoundingClientRect().top;
      }, before.id);
    await pad(30);
    const over = (await seenOf()) - 15;
    await feed.evaluate((scroller, by) => (scroller.scrollTop += by), over);
    await drawn();
    await pad(0);
    await drawn();
    await pad(30);
    await drawn();
    assert.ok(Math.abs((await seenOf()) - 15) < 2, `${await seenOf()} of it are seen`);
    await pad(0);
    await feed.evaluate((scroller, by) => (scroller.scrollTop -= by), over);
    await drawn();
    // An editor hides a webview before it ends it, and loads one before it shows it.
    const body = page.locator("body");
    await body.evaluate((element) => (element.style.display = "none"));
    await setting.owner.result("send", { group_id: groupId, text: "While hidden", to: ["lead"] });
    await page.locator("svc-message", { hasText: "While hidden" }).waitFor({ state: "attached" });
    await body.evaluate((element) => (element.style.display = ""));
    await until("the row is where it was before", async () => (await place()).id === before.id);
    const hides = "document.addEventListener('DOMContentLoaded', () => document.body.style.display = 'none')";
    await page.addInitScript(hides);
    await page.reload();
    await page.locator("svc-message").last().waitFor({ state: "attached" });
    await body.evaluate((element) => (element.style.display = ""));
    await until("the place is kept over a reload", async () => (await place()).id === before.id);
    await page.keyboard.press("End");
    await page.locator("svc-message", { hasText: "While hidden" }).waitFor();
  });

  it("goes to the oldest message and back to the newest, from anywhere and from a row", async () => {
    const { page } = await setting.window();
    await openGroup(page, "large");
    await page.locator("svc-message").last().waitFor();
    await page.locator(".feed-scroll").click({ position: { x: 5, y: 5 } });
    for (const from of ["the page", "a row"]) {
      if (from === "a row") await page.locator("[data-row][tabindex='0']").focus();
      await page.keyboard.press("Home");
      await page.locator(".system", { hasText: "created the Group" }).waitFor();
      await until("it is at the top", () =>
        page.locator(".feed-scroll").evaluate((scroller) => scroller.scrollTop === 0),
      );
      await page.locator(".pill").waitFor();
      await page.keyboard.press("End");
      await page.locator("svc-message").last().waitFor();
      await page.locator(".pill").waitFor({ state: "detached" });
      await page.locator(".system", { hasText: "created the Group" }).waitFor({ state: "detached" });
      assert.ok((await rows(page)) <= WINDOW_ROWS);
    }
  });

  it("doesn't undo a scroll whose event comes after the next rows or states", async () => {
    const { page } = await setting.window();
    await openGroup(page, "large");
    await page.locator("svc-message").last().waitFor();
    for (let turn = 0; turn < 5; turn += 1) {
      const top = await page.locator("[data-row]").first().getAttribute("data-row");
      // In one task, so that no scroll event lies between the scroll and the update.
      await page.evaluate(async () => {
        const feed = document.querySelector("svc-feed") as unknown as {
          requestUpdate(): void;
          updateComplete: Promise<unknown>;
        };
        document.querySelector(".feed-scroll")!.scrollTop = 0;
        feed.requestUpdate();
        await feed.updateComplete;
      });
      await until(
        "older rows",
        async () => (await page.locator("[data-row]").first().getAttribute("data-row")) !== top,
      );
    }
  });

  it("asks again for a page that failed, without being scrolled again", async () => {
    const { page } = await setting.window({ expected: /ERR_/ });
    await openGroup(page, "large");
    await page.locator("svc-message").last().waitFor();
    const top = await page.locator("[data-row]").first().getAttribute("data-row");
    let failed = 0;
    await page.route("**/ledger/tail*", (route) => {
      failed += 1;
      return failed === 1 ? route.abort() : route.continue();
    });
    // The feed may still be coming to rest at its end; once a page was asked for, nobody scrolls
    // any more.
    await until("the first request", async () => {
      await page.locator(".feed-scroll").evaluate((scroller) => {
        scroller.scrollTop = 0;
      });
      return failed > 0;
    });
    await until(
      "older rows",
      async () => (await page.locator("[data-row]").first().getAttribute("data-row")) !== top,
    );
    assert.ok(failed >= 2);
  });

  it("finds a message anywhere in the history and goes there", async () => {
    const wanted = `number ${Math.floor(messages / 23)}.`;
    const { page } = await setting.window();
    await openGroup(page, "large");
    await page.locator("svc-message").last().waitFor();
    await page.keyboard.press("/");
    await page.locator(".search-field").fill(wanted);
    await page.locator(".hit", { hasText: wanted }).first().click();
    const row = page.locator("svc-message", { hasText: wanted });
    await row.waitFor();
    await until("it has the focus", () => row.evaluate((element) => element === document.activeElement));
    assert.ok((await rows(page)) <= WINDOW_ROWS);
  });
}
