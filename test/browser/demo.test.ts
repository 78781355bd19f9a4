/** The demos as somebody watches them: nothing is said before the Workbench is there. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { collect, start } from "../cli/svc.ts";
import { until } from "../support/until.ts";
import { launchBrowser } from "./setting.ts";

describe("demo with viewers", function () {
  this.timeout(240_000);
  let folder: string;
  let browser: Browser;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "svc-test-"));
    browser = await launchBrowser();
  });
  after(async () => {
    await browser.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const patience = 60_000;

  /** A demo that waits, with its links. */
  const demo = async (...args: string[]) => {
    const child = start(["demo", ...args], { env: { TMPDIR: folder } });
    const ran = collect(child);
    await until("that it waits", () => ran.out.includes("when you press Enter"), patience);
    return { child, ran, links: ran.out.match(/http:\S+#login=\S+/gu)! };
  };

  it("begins when its Workbench is open, and shows all of it there", async () => {
    const { child, ran, links } = await demo();
    const page = await (await browser.newContext()).newPage();
    assert.doesNotMatch(ran.out, /→/u);
    await page.goto(links[0]);
    await page.locator("svc-message", { hasText: "The voucher test fails now and then." }).waitFor();
    assert.doesNotMatch(ran.out, /all the same/u);
    child.kill("SIGINT");
    await once(child, "close");
    assert.equal(child.exitCode, 0, ran.err);
  });

  it("begins with two instances when both Workbenches are open", async () => {
    const { child, ran, links } = await demo("--direct");
    const context = await browser.newContext();
    for (const link of links) {
      assert.doesNotMatch(ran.out, /The office listens/u);
      await (await context.newPage()).goto(link);
    }
    await until("the beginning", () => ran.out.includes("The office listens"), patience);
    assert.doesNotMatch(ran.out, /all the same/u);
    child.kill("SIGINT");
    await once(child, "close");
    assert.equal(child.exitCode, 0, ran.err);
  });
});
