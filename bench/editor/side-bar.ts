/** From a person's click until the tree of Groups and Actors is complete. */
import { setTimeout as delay } from "node:timers/promises";
import type { Browser, Locator, Page } from "playwright-core";
import type { DaemonClient } from "../../client/client.ts";
import { launchBrowser } from "../../test/browser/setting.ts";
import { Editor, type EditorWindow } from "../../test/editor/editor.ts";
import { DaemonProcess } from "../../test/support/daemon-process.ts";
import { absolute, type Measurement, median } from "../figure.ts";
import { pack } from "./packages.ts";

const RUNNING = "editor: click on the side bar to its tree";
const STARTING = "editor: the same with a daemon to start";
const FOLDER = "shop";
const ACTORS = ["ann", "bob", "cleo", "dave"];
/** Groups of other folders. */
const OTHERS = ["docs", "lab", "site", "tools"];

async function fill(owner: DaemonClient, folder: string): Promise<void> {
  const { group_id: groupId } = await owner.result("attach", { path: folder });
  for (const actorId of ACTORS)
    await owner.result("actor_add", {
      group_id: groupId,
      actor_id: actorId,
      runtime: "claude",
      runner: "external",
    });
  for (const title of OTHERS) await owner.result("group_create", { title });
}

/** Tall enough for every row: a list draws only those that are seen. */
const SIZE = { width: 1280, height: 2000 };
/** After which a tree counts as never complete. */
const PATIENCE_MS = 60_000;

async function openWindow(editor: Editor, folder: string): Promise<EditorWindow> {
  const window = await editor.window(folder);
  await window.page.setViewportSize(SIZE);
  return window;
}

/** Throws, with the rows that are there, when a tree isn't complete in time. */
async function withinPatience(page: Page, took: Promise<number>): Promise<number> {
  const patience = new AbortController();
  const late = delay(PATIENCE_MS, null, { signal: patience.signal }).catch(() => null);
  try {
    const value = await Promise.race([took, late]);
    if (value !== null) return value;
    const rows = await page.locator(".pane .monaco-list-row .label-name").allInnerTexts();
    throw new Error(`After ${PATIENCE_MS} ms the tree has only ${rows.join(", ")}`);
  } finally {
    patience.abort();
  }
}

/**
 * Milliseconds in the page, from pressing the button on `target` until every row is drawn. Throws
 * when they never are.
 */
async function timed(page: Page, target: Locator): Promise<number> {
  await target.waitFor();
  const took = page.evaluate(
    (labels) =>
      new Promise<number>((resolve) => {
        let begin: number | null = null;
        addEventListener("mousedown", () => (begin ??= performance.now()), { capture: true });
        new MutationObserver(() => {
          const rows = document.querySelectorAll(".pane .monaco-list-row .label-name");
          const drawn = new Set([...rows].map(({ textContent }) => textContent));
          if (begin !== null && labels.every((label) => drawn.has(label))) resolve(performance.now() - begin);
        }).observe(document.body, { subtree: true, childList: true, characterData: true });
      }),
    [FOLDER, ...ACTORS, ...OTHERS],
  );
  await target.click();
  return withinPatience(page, took);
}

async function rounds(browser: Browser, count: number) {
  const editor = await Editor.open(browser);
  const folder = editor.workspace(FOLDER);
  const daemon = new DaemonProcess({ home: editor.home });
  try {
    await daemon.start();
    await fill(daemon.client(), folder);
    const running: number[] = [];
    for (let round = 0; round < count; round += 1) {
      const window = await openWindow(editor, folder);
      await window.page.locator('.statusbar-item[id="svc.svc.svc.status"]', { hasText: "svc" }).waitFor();
      const icon = window.page.locator('.activitybar .action-item a[aria-label^="svc"]');
      running.push(await timed(window.page, icon));
      await window.page.context().close();
    }
    await daemon.stop();
    const window = await openWindow(editor, folder);
    await window.openSideBar();
    const starting: number[] = [];
    for (let round = 0; round < count; round += 1) {
      starting.push(await timed(window.page, window.button("Groups", "Start the daemon")));
      await daemon.client().result("daemon_stop", {});
    }
    return { running: median(running), starting: median(starting) };
  } finally {
    await editor.close();
    await daemon.dispose();
  }
}

export const sideBar: Measurement = {
  figures: [RUNNING, STARTING],
  needsBrowser: true,
  async run({ short }) {
    pack();
    const browser = await launchBrowser({ whole: true });
    try {
      const { running, starting } = await rounds(browser, short ? 1 : 7);
      const figure = (name: string, value: number, goal: number, floor: number) =>
        absolute({ name, unit: "ms", value, against: "ms", goal, floor, better: "lower" });
      return [figure(RUNNING, running, 150, 400), figure(STARTING, starting, 1500, 3000)];
    } finally {
      await browser.close();
    }
  },
};
