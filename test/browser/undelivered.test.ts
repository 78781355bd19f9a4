/**
 * Messages to another instance that don't arrive, as the person sees them: two real daemons, one of
 * which stops and then dies.
 */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { freePort } from "../../demo/free-port.ts";
import { until } from "../support/until.ts";
import { atRest } from "./at-rest.ts";
import { violations } from "./axe.ts";
import { launchBrowser, openGroup, Setting } from "./setting.ts";

const PATIENCE_MS = 120_000;

describe("Workbench: messages that don't reach another instance", function () {
  this.timeout(4 * PATIENCE_MS);
  let browser: Browser;
  let office: Setting;
  let lab: Setting;
  let groupId: string;
  let peer: string;
  let page: Page;
  const connections: Record<string, { id: string; group_id: string }> = {};

  before(async () => {
    browser = await launchBrowser();
    [office, lab] = await Promise.all([Setting.open(browser), Setting.open(browser)]);
    groupId = (await office.group("Office")).groupId;
    peer = (await lab.owner.result("daemon_status", {})).instance_id;
    const at = `127.0.0.1:${await freePort()}`;
    await office.owner.result("connect_direct_configure", { listener: { bind: at, address: at } });
    for (const title of ["Lab", "Annex"])
      connections[title] = await connected(title, (await lab.group(title)).groupId);
    page = (await office.window({ reducedMotion: true })).page;
    await openGroup(page, "Office");
  });
  after(async () => {
    await Promise.all([office?.close(), lab?.close()]);
    await browser?.close();
  });
  afterEach(() => office.check());

  async function connected(title: string, there: string) {
    const { invitation } = await office.owner.result("connect_direct_invite", { group_id: groupId });
    const { id } = await lab.owner.result("connect_direct_join", { group_id: there, invitation });
    const relation = async () => {
      const { relations } = await office.owner.result("connect_direct_status", { group_id: groupId });
      return relations.find((one) => one.id === id);
    };
    await until("who came", async () => (await relation())?.state === "pending", PATIENCE_MS);
    await office.owner.result("connect_direct_approve", { group_id: groupId, id });
    await until("online", async () => (await relation())?.online === true, PATIENCE_MS);
    await until(
      `the catalog of ${title}`,
      async () => {
        const target = { group_id: groupId, instance_id: peer, target_group_id: there };
        const found = await office.owner.result("connect_catalog", target);
        return "catalog" in found && found.catalog !== null;
      },
      PATIENCE_MS,
    );
    return { id, group_id: there };
  }

  const send = (title: string, text: string) =>
    office.owner.result("connect_send", {
      group_id: groupId,
      instance_id: peer,
      target_group_id: connections[title]!.group_id,
      client_id: text,
      text,
      message_mode: "request_reply",
    });
  const revoke = (title: string) =>
    office.owner.result("connect_direct_revoke", { group_id: groupId, id: connections[title]!.id });
  const message = (text: string) => page.locator("svc-message", { hasText: text });
  const state = (text: string, word: string) => message(text).locator(".state", { hasText: word });
  /** Says under the message, in its tooltip and in a row of its own what became of it. */
  async function told(text: string, word: RegExp, fact: RegExp, notice: RegExp): Promise<void> {
    const line = message(text).locator(".state").first();
    assert.match((await line.textContent()) ?? "", word);
    assert.match((await line.getAttribute("title")) ?? "", fact);
    await page.locator(".system", { hasText: notice }).waitFor({ timeout: PATIENCE_MS });
  }

  it("may have arrived: sent to one that didn't answer any more, and then nobody can be asked", async () => {
    process.kill(lab.daemon.pid, "SIGSTOP");
    const { delivery_id: deliveryId } = await send("Lab", "Did this arrive?");
    await state("Did this arrive?", "queued").waitFor({ timeout: PATIENCE_MS });
    const record = join(office.daemon.home, "state/connect/outbox", peer, `${deliveryId}.json`);
    await until(
      "it was sent without an answer",
      () => {
        const { progress } = JSON.parse(readFileSync(record, "utf8")) as {
          progress: { needs_receipt: boolean; attempts: number };
        };
        return progress.needs_receipt && progress.attempts > 0;
      },
      PATIENCE_MS,
    );
    await lab.daemon.kill();
    await revoke("Lab");
    await state("Did this arrive?", "not confirmed").waitFor({ timeout: PATIENCE_MS });
    await told(
      "Did this arrive?",
      /not confirmed: The Direct connection was revoked/,
      /It may have reached Lab.*The Direct connection was revoked\./s,
      /Delivery not confirmed: “It isn’t known whether your message to ’Lab’ .* arrived\. The Direct connection was revoked\.”/,
    );
  });

  it("never arrive: kept for one that is gone until the connection ends", async () => {
    await send("Annex", "This stays here");
    await state("This stays here", "queued").waitFor({ timeout: PATIENCE_MS });
    await revoke("Annex");
    await state("This stays here", "failed").waitFor({ timeout: PATIENCE_MS });
    await told(
      "This stays here",
      /failed: The Direct connection was revoked/,
      /It didn't reach Annex.*and never will.*The Direct connection was revoked\./s,
      /Message not delivered: “Your message to ’Annex’ .* wasn’t delivered\. The Direct connection was revoked\.”/,
    );
    // What the person has before their eyes isn't unread.
    await page.locator(".unread-count").waitFor({ state: "detached", timeout: PATIENCE_MS });
    // Nobody there owes a reply to what never came.
    assert.equal(await state("This stays here", "awaiting reply").count(), 0);
    await state("Did this arrive?", "awaiting reply").waitFor();
    assert.deepEqual(await violations(page), []);
  });

  it("say so after a reload, and where there is room for one column", async () => {
    const small = (await office.window({ reducedMotion: true, width: 360, height: 740, theme: "light" }))
      .page;
    for (const [text, word] of [
      ["Did this arrive?", "not confirmed"],
      ["This stays here", "failed"],
    ] as const)
      await small
        .locator("svc-message", { hasText: text })
        .locator(".state", { hasText: word })
        .waitFor({ timeout: PATIENCE_MS });
    await atRest(small);
    const over = await small.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    );
    assert.ok(over <= 0, `${over} px too wide`);
    assert.deepEqual(await violations(small), []);
  });
});
