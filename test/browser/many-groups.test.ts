/** A person with 201 Groups: each load asks once for each thing, and what comes is small. */

import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { CONNECTS_WITHIN_MS } from "../../webview/controls/polling.ts";
import { until } from "../support/until.ts";
import { openGroup, type Setting, useSetting } from "./setting.ts";

const MANY = 201;
/** Of a load that a busy machine spoils. */
const TRIES = 10;

interface Loaded {
  /** How often each address was asked for. */
  asked: Map<string, number>;
  /** Bytes that travelled, and that they stood for. */
  travelled: number;
  whole: number;
  /** From the click on reload to every Group and the conversation, in milliseconds. */
  shown: number;
}

describe("Workbench: 201 Groups", () => {
  let setting: Setting;

  useSetting((opened) => {
    setting = opened;
  });

  /**
   * Loads the page again, with an empty cache or with what the browser keeps. Once more where the
   * machine was so busy that the page had reason to poll.
   */
  async function load(page: Page, groups: number, isCold = true): Promise<Loaded> {
    for (let tries = 0; tries < TRIES; tries += 1) {
      const { connected, ...loaded } = await loadOnce(page, groups, isCold);
      if (connected < CONNECTS_WITHIN_MS / 2) return loaded;
    }
    assert.fail("the machine stood still");
  }

  async function loadOnce(page: Page, groups: number, isCold: boolean) {
    const session = await page.context().newCDPSession(page);
    await session.send("Network.enable");
    await session.send("Network.setCacheDisabled", { cacheDisabled: isCold });
    const asked = new Map<string, number>();
    const addresses = new Map<string, string>();
    let [travelled, whole] = [0, 0];
    // The first socket of the new page; the old page's may still speak.
    const stream: { id?: string; dialled: number; heard?: number } = { dialled: 0 };
    session.on("Network.webSocketCreated", ({ requestId }) => {
      if (stream.id === undefined) Object.assign(stream, { id: requestId, dialled: performance.now() });
    });
    session.on("Network.webSocketFrameReceived", ({ requestId }) => {
      if (requestId === stream.id) stream.heard ??= performance.now();
    });
    session.on("Network.requestWillBeSent", ({ requestId, request }) => {
      const { pathname } = new URL(request.url);
      addresses.set(requestId, pathname);
      asked.set(pathname, (asked.get(pathname) ?? 0) + 1);
    });
    session.on("Network.dataReceived", ({ dataLength, encodedDataLength }) => {
      whole += dataLength;
      travelled += encodedDataLength;
    });
    const from = performance.now();
    await page.reload();
    await until("all Groups", async () => (await page.locator(".group-row").count()) === groups);
    await page.locator("svc-message").last().waitFor();
    await page.locator("[data-actor]").first().waitFor();
    const shown = performance.now() - from;
    const heard = await until("the stream is heard", () => stream.heard);
    // What a second read would ask for comes within the pause before polling.
    await page.waitForLoadState("networkidle").catch(() => {});
    await session.detach();
    return { asked, travelled, whole, shown, connected: heard - stream.dialled };
  }

  it("are loaded with one request each, compressed, and hardly slower than one Group", async function () {
    this.timeout(300_000);
    const { groupId } = await setting.group("Group 1");
    await setting.owner.result("send", { group_id: groupId, text: "hello", to: ["lead"] });
    const { page } = await setting.window();
    await openGroup(page, "Group 1");
    await page.locator("svc-message", { hasText: "hello" }).waitFor();
    const one = await load(page, 1);
    const oneAgain = await load(page, 1, false);
    for (let number = 2; number <= MANY; number += 1)
      await setting.owner.result("group_create", {
        title: `Group ${number}`,
        topic: "One of many that a person has collected over the months",
      });
    const many = await load(page, MANY);
    const manyAgain = await load(page, MANY, false);
    console.log(
      `      reload with the browser's cache: ${Math.round(oneAgain.shown)} ms with 1 Group, ${Math.round(manyAgain.shown)} ms with ${MANY} (goal 400 ms)`,
    );
    const kib = (bytes: number) => `${Math.round(bytes / 1024)} KiB`;
    for (const [groups, { shown, travelled, whole, asked }] of [
      [1, one],
      [MANY, many],
    ] as const) {
      const requests = [...asked.values()].reduce((sum, count) => sum + count, 0);
      console.log(
        `      ${groups} Groups: shown after ${Math.round(shown)} ms, ${requests} requests, ${kib(travelled)} for ${kib(whole)}`,
      );
    }
    for (const { asked } of [one, many])
      for (const path of ["/groups", `/groups/${groupId}`, `/groups/${groupId}/actors`])
        assert.equal(asked.get(`/api/v1${path}`), 1, `${path} is asked for once`);
    assert.ok(many.travelled < 300_000, `${many.travelled} bytes travelled`);
    const { encoding, length } = await page.evaluate(async () => {
      const answer = await fetch("/api/v1/groups");
      return { encoding: answer.headers.get("content-encoding"), length: (await answer.text()).length };
    });
    assert.equal(encoding, "br");
    assert.ok(length > 20_000);
  });

  it("stay in the order of their titles when they come, are renamed and go", async () => {
    const { page } = await setting.window();
    // What is under the pointer keeps its place.
    await page.mouse.move(900, 400);
    const titles = () => page.locator(".group-row .row-label").allTextContents();
    await until("all Groups", async () => (await titles()).length >= MANY);
    const { group_id: groupId } = await setting.owner.result("group_create", { title: "Group 10a" });
    await until("it is after Group 10", async () => {
      const all = await titles();
      return all[all.indexOf("Group 10") + 1] === "Group 10a";
    });
    await setting.owner.result("group_update", { group_id: groupId, title: "Group 20a" });
    await until("it is after Group 20", async () => {
      const all = await titles();
      return all[all.indexOf("Group 20") + 1] === "Group 20a";
    });
    assert.ok(!(await titles()).includes("Group 10a"));
  });
});
