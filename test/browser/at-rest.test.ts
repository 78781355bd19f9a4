/** What is on its way in a page is waited for before anything judges the page. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { atRest, boxOf, measure, takePicture, wear } from "./at-rest.ts";
import { violations } from "./axe.ts";
import { launchBrowser } from "./setting.ts";

const PAGE = `<!doctype html><html lang="en"><head><title>Page</title><style>
  body { background: white; color: black; }
  #box { width: 100px; height: 20px; }
  #box.late { margin-left: 200px; transition: margin-left 1000ms, color 1000ms linear; }
  body.dark { color: white; }
  @media (prefers-color-scheme: dark) { body { background: black; } }
  @keyframes turn { to { rotate: 360deg; } }
</style></head><body><main><h1>Page</h1><p id="box">Text</p></main></body></html>`;

describe("a page at rest", () => {
  let browser: Browser;
  let page: Page;

  before(async () => {
    browser = await launchBrowser();
  });
  after(async () => {
    await browser?.close();
  });
  beforeEach(async () => {
    page = await browser.newPage({ colorScheme: "light" });
    await page.setContent(PAGE);
    await atRest(page);
  });
  afterEach(() => page.close());
  const box = () => page.locator("#box");

  it("has finished its transitions", async () => {
    const { x } = await boxOf(box());
    await box().evaluate((element) => element.classList.add("late"));
    assert.equal((await boxOf(box())).x, x + 200);
  });

  it("has colours that can be read only after they arrived", async () => {
    await box().evaluate((element) => {
      element.animate([{ color: "#eee" }, { color: "black" }], { duration: 1000, easing: "step-end" });
    });
    assert.deepEqual(await violations(page), []);
  });

  it("has dealt with another theme, whose listeners work over several frames", async () => {
    await page.evaluate(`matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () =>
      requestAnimationFrame(() => requestAnimationFrame(() => document.body.classList.add("dark"))))`);
    await wear(page, { colorScheme: "dark" });
    assert.equal(await page.evaluate("getComputedStyle(document.body).color"), "rgb(255, 255, 255)");
    assert.deepEqual(await violations(page), []);
  });

  it("has followed what an element does to itself a frame later, in its own tree too", async () => {
    await page.evaluate(`(() => {
      const element = document.querySelector("#box").appendChild(document.createElement("x-inside"));
      const inside = element.attachShadow({ mode: "open" });
      let frames = 0;
      const grow = () => {
        inside.innerHTML = "<span>" + ++frames + "</span>";
        if (frames < 40) requestAnimationFrame(grow);
      };
      requestAnimationFrame(grow);
    })()`);
    const shown = (element: HTMLElement) => element.querySelector("x-inside")?.shadowRoot?.textContent;
    assert.equal(await measure(box(), shown), "40");
  });

  it("has scrolled where it scrolls", async () => {
    await page.evaluate(`document.body.style.height = "20000px";
      scrollTo({ top: 9000, behavior: "smooth" })`);
    await atRest(page);
    assert.equal(await page.evaluate("scrollY"), 9000);
  });

  it("has its pictures and what its place holders stand for", async () => {
    let answer = (): void => undefined;
    const asked = new Promise<void>((resolve) => {
      void page.route("**/late.svg", async (route) => {
        resolve();
        await new Promise<void>((open) => {
          answer = open;
        });
        const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="70" height="70"/>';
        await route.fulfill({ contentType: "image/svg+xml", body: svg });
      });
    });
    await box().evaluate((element) => {
      element.innerHTML = '<img alt="" src="http://late.example/late.svg"><i class="skeleton">…</i>';
    });
    await asked;
    let isAtRest = false;
    const resting = atRest(page).then(() => (isAtRest = true));
    await page.evaluate("new Promise((done) => setTimeout(done, 200))");
    assert.equal(isAtRest, false);
    answer();
    await page.locator("img").evaluate((image: HTMLImageElement) => image.decode());
    await page.evaluate("new Promise((done) => setTimeout(done, 200))");
    assert.equal(isAtRest, false);
    await page.locator(".skeleton").evaluate((element) => element.remove());
    await resting;
    assert.equal((await boxOf(page.locator("img"))).width, 70);
  });

  it("may have something that turns for ever", async () => {
    await box().evaluate((element) => (element.style.animation = "turn 1s linear infinite"));
    await atRest(page);
  });

  it("isn't one that keeps changing, which is said", async () => {
    await page.evaluate(`(() => {
      const change = () => {
        document.querySelector("#box").title = performance.now();
        requestAnimationFrame(change);
      };
      change();
    })()`);
    await assert.rejects(atRest(page, 500), /doesn't come to rest: attributes p title/u);
  });

  it("is what tests take pictures of, run axe in and show another medium to, and nothing else", () => {
    const own = ["at-rest.ts", "axe.ts"].map((name) => join(import.meta.dirname, name));
    const folder = join(import.meta.dirname, "..");
    const around = readdirSync(folder, { recursive: true, encoding: "utf8" })
      .map((name) => join(folder, name))
      .filter((path) => path.endsWith(".ts") && !own.includes(path))
      .filter((path) => /\.(?:screenshot|emulateMedia)\(|\baxe\.run\b/u.test(readFileSync(path, "utf8")));
    assert.deepEqual(around, []);
  });

  it("is pictured with the frames in it", async () => {
    await box().evaluate((element) => {
      element.innerHTML = '<iframe srcdoc="<p id=moved>Text</p>" title="frame"></iframe>';
    });
    const moved = page.frameLocator("iframe").locator("#moved");
    await moved.evaluate((element) => {
      element.animate([{ opacity: 0 }, { opacity: 1 }], { duration: 1000, fill: "forwards" });
    });
    await takePicture(page);
    assert.equal(await moved.evaluate((element) => getComputedStyle(element).opacity), "1");
  });
});
