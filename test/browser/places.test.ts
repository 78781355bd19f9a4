/** The person's place in each Group, whatever comes between two of their steps. */

import assert from "node:assert/strict";
import type { Page, Route } from "playwright-core";
import { until } from "../support/until.ts";
import { atRest, boxOf } from "./at-rest.ts";
import { openGroup, type Setting, useSetting } from "./setting.ts";

/** More than a page of the feed. */
const MESSAGES = 90;

interface Feed {
  jump(eventId: string): Promise<boolean>;
  toEnd(): Promise<unknown>;
}

/** The first row that is seen, and how far below the upper edge it begins. */
function place(page: Page): Promise<{ id: string; at: number }> {
  return page.locator(".feed-scroll").evaluate((scroller) => {
    const { top } = scroller.getBoundingClientRect();
    const row = [...scroller.querySelectorAll<HTMLElement>("[data-row]")].find(
      (one) => one.getBoundingClientRect().bottom > top + 1,
    );
    return { id: row?.dataset["row"] ?? "", at: Math.round((row?.getBoundingClientRect().top ?? 0) - top) };
  });
}

async function comesTo(page: Page, wanted: { id: string; at: number }): Promise<void> {
  await until(`the place is ${wanted.id} at ${wanted.at}`, async () => {
    const { id, at } = await place(page);
    return id === wanted.id && Math.abs(at - wanted.at) <= 1;
  });
}

/** Scrolls into the middle; resolves with the place once it is remembered. */
async function settle(page: Page, groupId: string): Promise<{ id: string; at: number }> {
  await page.locator("svc-message").last().waitFor();
  return until("the place is remembered", async () => {
    // Older rows may still come: then it goes on from where they put it.
    await page.locator(".feed-scroll").evaluate((scroller) => {
      if (scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 1000)
        scroller.scrollTop -= 1200;
    });
    await atRest(page);
    const before = await place(page);
    const isRemembered = await page.locator(".feed-scroll").evaluate((scroller, group) => {
      const kept = Object.entries(localStorage).find(([key]) => key.endsWith(`place/${group}`))?.[1];
      const { eventId, offset } = JSON.parse(kept ?? "{}") as { eventId?: string; offset?: number };
      // It may be below another row: what is kept when rows go isn't always the first.
      const row = scroller.querySelector(`[data-row="${eventId}"]`);
      if (row === null || offset === undefined) return false;
      const at = row.getBoundingClientRect().top - scroller.getBoundingClientRect().top;
      return Math.abs(at - offset) <= 1;
    }, groupId);
    const after = await place(page);
    return isRemembered && before.id === after.id && before.at === after.at ? after : null;
  });
}

async function showNewest(page: Page, title: string): Promise<void> {
  await page.locator("svc-message").last().waitFor();
  await page.locator("svc-feed").evaluate((feed) => (feed as unknown as Feed).toEnd());
  await page.locator("svc-message", { hasText: `Number ${MESSAGES} of the ${title}` }).waitFor();
}

describe("Workbench: places", () => {
  let setting: Setting;
  let page: Page;
  const ids: Record<string, string> = {};

  useSetting((opened) => {
    setting = opened;
  });
  before(async () => {
    for (const title of ["first", "second"]) {
      const { groupId } = await setting.group(title);
      ids[title] = groupId;
      for (let number = 1; number <= MESSAGES; number += 1) {
        const text = `Number ${number} of the ${title}.\n\nWith **two** lines.`;
        await setting.owner.result("send", { group_id: groupId, text, to: ["lead"] });
        // One event of the Group after each message.
        await setting.owner.result("group_update", { group_id: groupId, topic: `Topic ${number}` });
      }
    }
    ({ page } = await setting.window());
  });

  /** Requests for rows of a Group wait until they are let go. */
  async function held(title: string): Promise<() => Promise<void>> {
    let asked = 0;
    let letGo = (): void => {};
    const isReleased = new Promise<void>((resolve) => (letGo = resolve));
    const isOfGroup = ({ pathname }: URL) => pathname.includes(`${ids[title]!}/ledger/`);
    const wait = async (route: Route) => {
      asked += 1;
      await isReleased;
      await route.continue();
    };
    await page.route(isOfGroup, wait);
    return async () => {
      await until("rows are asked for", () => asked > 0);
      letGo();
      await page.unroute(isOfGroup, wait);
    };
  }

  it("stays in both Groups when one is opened in the moment after the other was scrolled", async () => {
    await openGroup(page, "second");
    const second = await settle(page, ids["second"]!);
    await openGroup(page, "first");
    await settle(page, ids["first"]!);
    const release = await held("second");
    // In one task: the place isn't remembered when the other Group opens.
    const timers = await page.evaluateHandle(async () => {
      const set = window.setTimeout.bind(window);
      const clear = window.clearTimeout.bind(window);
      const open = new Set<unknown>();
      Object.assign(window, {
        setTimeout(run: () => void, ms: number) {
          const timer = set(() => {
            open.delete(timer);
            run();
          }, ms);
          // Longer ones have nothing to do with the scroll.
          if (ms < 1000) open.add(timer);
          return timer;
        },
        clearTimeout(timer: number) {
          open.delete(timer);
          clear(timer);
        },
      });
      const scroller = document.querySelector(".feed-scroll")!;
      scroller.scrollTop -= 333;
      await new Promise((done) => scroller.addEventListener("scroll", done, { once: true }));
      Object.assign(window, { setTimeout: set });
      const rows = [...document.querySelectorAll<HTMLElement>(".group-row")];
      rows.find((row) => row.textContent.includes("second"))!.click();
      return open;
    });
    await page.locator(".group-title", { hasText: "second" }).waitFor();
    // What the feed does about the scroll is done.
    await page.waitForFunction((open) => open.size === 0, timers);
    await release();
    await comesTo(page, second);
  });

  it("keeps the last scroll of a Group that is left at once", async () => {
    await openGroup(page, "first");
    await settle(page, ids["first"]!);
    const left = await page.evaluate(async () => {
      const scroller = document.querySelector(".feed-scroll")!;
      scroller.scrollTop -= 222;
      await new Promise((done) => scroller.addEventListener("scroll", done, { once: true }));
      const { top } = scroller.getBoundingClientRect();
      const row = [...scroller.querySelectorAll<HTMLElement>("[data-row]")].find(
        (one) => one.getBoundingClientRect().bottom > top + 1,
      )!;
      const seen = { id: row.dataset["row"]!, at: Math.round(row.getBoundingClientRect().top - top) };
      const rows = [...document.querySelectorAll<HTMLElement>(".group-row")];
      rows.find((one) => one.textContent.includes("second"))!.click();
      return seen;
    });
    await page.locator(".group-title", { hasText: "second" }).waitFor();
    await openGroup(page, "first");
    await comesTo(page, left);
  });

  it("is where a jump leads, though the feed couldn't be seen when it was made", async () => {
    await openGroup(page, "first");
    await showNewest(page, "first");
    const { events } = await setting.owner.result("ledger_tail", {
      group_id: ids["first"]!,
      kinds: ["chat.message"],
      from: "oldest",
      limit: 10,
    });
    const eventId = events.at(-1)!.id;
    await page.locator("svc-feed").evaluate(async (feed, id) => {
      document.documentElement.style.display = "none";
      await (feed as unknown as Feed).jump(id);
    }, eventId);
    await page.evaluate(() => document.documentElement.style.removeProperty("display"));
    const row = page.locator(`[data-row="${eventId}"]`);
    await until("it has the focus", () => row.evaluate((one) => one === document.activeElement));
    const isInView = () =>
      row.evaluate((one) => {
        const [box, view] = [one, one.closest(".feed-scroll")!].map((each) => each.getBoundingClientRect());
        return box!.top >= view!.top && box!.bottom <= view!.bottom;
      });
    await until("it is in view", isInView);
    await setting.owner.result("send", { group_id: ids["first"]!, text: "One more.", to: ["lead"] });
    await page.locator(".pill", { hasText: "1 new" }).waitFor();
    await atRest(page);
    assert.ok(await isInView(), "it stays there");
  });

  it("isn't moved in a Group that is opened while another goes to its oldest message", async () => {
    await openGroup(page, "second");
    const second = await settle(page, ids["second"]!);
    await openGroup(page, "first");
    await showNewest(page, "first");
    // What was read of it before is forgotten: its oldest message has to be asked for.
    await page.reload();
    await openGroup(page, "first");
    await page.locator("svc-message", { hasText: `Number ${MESSAGES} of the first` }).waitFor();
    const release = await held("first");
    await page.locator("[data-row][tabindex='0']").focus();
    await page.keyboard.press("Home");
    await openGroup(page, "second");
    await comesTo(page, second);
    await release();
    await page.locator("svc-feed [aria-busy=false]").waitFor();
    await atRest(page);
    await comesTo(page, second);
    // It still follows what the person does.
    await page.keyboard.press("End");
    await page.locator("svc-message", { hasText: `Number ${MESSAGES} of the second` }).waitFor();
  });

  it("is at the end that the person goes to before there are rows", async () => {
    await openGroup(page, "first");
    await showNewest(page, "first");
    // From near the newest message, then to the oldest one, and from there.
    for (const [key, number] of [
      ["End", MESSAGES],
      ["Home", 1],
      ["End", MESSAGES],
    ] as const) {
      await openGroup(page, "first");
      await settle(page, ids["first"]!);
      await openGroup(page, "second");
      const release = await held("first");
      await openGroup(page, "first");
      await page.locator("svc-feed .feed-scroll").click();
      await page.keyboard.press(key);
      await release();
      const message = page.locator("svc-message", { hasText: `Number ${number} of the first` });
      await until(`${key} leads to number ${number}`, async () => {
        if ((await message.count()) === 0) return false;
        return message.evaluate((one) => {
          const [box, view] = [one, one.closest(".feed-scroll")!].map((each) => each.getBoundingClientRect());
          return box!.top >= view!.top && box!.bottom <= view!.bottom;
        });
      });
    }
  });

  it("is the same when the events between the messages are left out", async () => {
    await openGroup(page, "second");
    await settle(page, ids["second"]!);
    /** The first row that is seen is an event. */
    const first = await page.locator(".feed-scroll").evaluate((scroller) => {
      const { top } = scroller.getBoundingClientRect();
      const rows = [...scroller.querySelectorAll<HTMLElement>("[data-row]")];
      const event = rows.find((one) => one.matches(".system") && one.getBoundingClientRect().top > top)!;
      scroller.scrollTop += event.getBoundingClientRect().top - top + 2;
      return { event: event.dataset["row"]!, next: rows[rows.indexOf(event) + 1]!.dataset["row"]! };
    });
    await until("the event is the place", async () => (await place(page)).id === first.event);
    const next = page.locator(`[data-row="${first.next}"]`);
    const at = async () => Math.round((await boxOf(next)).y);
    const before = await at();
    await page.locator('[aria-label="Group actions"]').click();
    await page.locator("[role=menuitem]", { hasText: "Hide system events" }).click();
    await until("all of them are", async () => (await page.locator(".system").count()) === 0);
    // The line above a message of another sender or day may come or go.
    await until("the message is where it was", async () => Math.abs((await at()) - before) <= 1);
    const seen = await settle(page, ids["second"]!);
    await page.reload();
    await comesTo(page, seen);
  });
});
