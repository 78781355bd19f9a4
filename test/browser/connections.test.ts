/**
 * Group connections between two real daemons, each with its Workbench in a window of its own, as
 * two people use them.
 */

import assert from "node:assert/strict";
import type { Browser, Page } from "playwright-core";
import { freePort } from "../../demo/free-port.ts";
import { parseInvitationText } from "../../shared/wire/v1/direct.ts";
import { verifies } from "../requirements.ts";
import { messageOf, textOf } from "../support/events.ts";
import { until } from "../support/until.ts";
import { atRest } from "./at-rest.ts";
import { clean, close, dialog, invite, openConnections, press } from "./connections-dialog.ts";
import { launchBrowser, openGroup, Setting, type WindowOptions } from "./setting.ts";

/** Redialling takes 5 s, a slow machine its time. */
const PATIENCE_MS = 60_000;

type Actors = Awaited<ReturnType<Setting["group"]>>["actors"];

describe("Workbench: connections between instances", function () {
  this.timeout(240_000);
  let browser: Browser;
  let office: Setting;
  let lab: Setting;
  let officeGroup: string;
  let labGroup: string;
  let officeActors: Actors;
  let labActors: Actors;
  let here: Page;
  let there: Page;

  async function opened(setting: Setting, group: string, options: WindowOptions = {}): Promise<Page> {
    const { page } = await setting.window({ reducedMotion: true, ...options });
    page.setDefaultTimeout(PATIENCE_MS);
    // Where there is room for one column, the only Group is open already.
    if ((options.width ?? 1280) < 700) await page.locator(".group-title", { hasText: group }).waitFor();
    else await openGroup(page, group);
    return page;
  }

  before(async () => {
    browser = await launchBrowser();
    [office, lab] = await Promise.all([Setting.open(browser), Setting.open(browser)]);
    ({ groupId: officeGroup, actors: officeActors } = await office.group("Office", ["lead", "reviewer"]));
    ({ groupId: labGroup, actors: labActors } = await lab.group("Lab", ["lead"]));
    await lab.owner.result("actor_update", { group_id: labGroup, actor_id: "lead", title: "Head of lab" });
    here = await opened(office, "Office", { theme: "dark" });
    there = await opened(lab, "Lab", { theme: "light" });
  });
  after(async () => {
    await Promise.all([office?.close(), lab?.close()]);
    await browser?.close();
  });
  afterEach(() => {
    office.check();
    lab.check();
  });

  const words = (page: Page) => dialog(page).locator(".fingerprint").first().locator("li").allTextContents();
  const card = (page: Page, text: string) => dialog(page).locator(".connection", { hasText: text });
  it("invite in one window, look and ask in the other, compare, approve, and are online", async () => {
    await openConnections(here);
    await clean(here, "No connections yet");
    await invite(here);
    const port = await freePort();
    const fields = dialog(here).locator(".listener-form input");
    await fields.nth(0).fill(`127.0.0.1:${port}`);
    await fields.nth(1).fill(`127.0.0.1:${port}`);
    await fields.nth(2).fill("office");
    await clean(here, "the listener's form");
    await press(here, "Listen and invite");
    const shown = dialog(here).locator(".invitation-text");
    await shown.waitFor();
    const invitation = (await shown.textContent()) ?? "";
    assert.match(invitation, /^svc-direct:[\w-]+$/u);
    await dialog(here).locator("svg.qr path").waitFor();
    await clean(here, "the invitation");

    await openConnections(there);
    await press(there, "Accept an invitation");
    const field = dialog(there).locator(".invitation-field");
    await field.fill(invitation.slice(0, 100));
    await dialog(there).locator(".failure", { hasText: "isn’t a complete invitation" }).waitFor();
    await clean(there, "half an invitation");
    await field.fill(`  ${invitation}\n`);
    const claims = dialog(there).locator(".claims");
    await claims.waitFor();
    for (const told of ["office", "Office", `127.0.0.1:${port}`]) {
      await claims.locator("dd", { hasText: told }).first().waitFor();
    }
    const before = await words(there);
    assert.equal(before.length, 6);
    await clean(there, "the invitation that was pasted");
    await press(there, "Request connection");
    await card(there, "Office").locator(".state", { hasText: "pending approval" }).waitFor();

    await card(here, "Lab").locator(".state", { hasText: "pending approval" }).waitFor();
    assert.deepEqual(await words(here), before);
    assert.deepEqual(await words(there), before);
    await clean(here, "who came");
    await press(here, "The words match");
    for (const page of [here, there]) {
      await dialog(page).locator(".state", { hasText: "online" }).waitFor();
      await clean(page, "online");
      await close(page);
      await page.locator(".connections-state", { hasText: "online" }).waitFor();
    }
    const { relations } = await lab.owner.result("connect_direct_status", { group_id: labGroup });
    assert.equal(relations[0]?.online, true);
    const status = await office.owner.result("connect_direct_status", { group_id: officeGroup });
    assert.equal(status.display_name, "office");
  });

  const message = (page: Page, text: string) => page.locator("svc-message", { hasText: text });
  const chosen = (page: Page) => page.locator(".compose-box .chips").first();

  /**
   * Types a sign with the beginning of a name until the list has it, and takes it with the
   * keyboard.
   */
  async function complete(page: Page, typed: string, label: string, detail: string): Promise<void> {
    const area = page.locator(".compose-text");
    const item = page.locator(".completion-item", { hasText: label }).filter({ hasText: detail });
    await until(
      `${label} is offered`,
      async () => {
        await area.fill("");
        await area.pressSequentially(typed);
        return item.waitFor({ timeout: 2000 }).then(
          () => true,
          () => false,
        );
      },
      PATIENCE_MS,
    );
    for (;;) {
      if ((await item.getAttribute("aria-selected")) === "true") break;
      await page.keyboard.press("ArrowDown");
    }
    await page.keyboard.press("Enter");
  }

  it("write with files to an Actor there, and are answered", async () => {
    await complete(here, "@head", "Head of lab", "Lab at");
    assert.match((await chosen(here).textContent()) ?? "", /Lab at .*Head of lab/su);
    await here
      .locator("input[type=file]")
      .setInputFiles([{ name: "plan.txt", mimeType: "text/plain", buffer: Buffer.from("the plan") }]);
    await here.locator(".upload .file-size").waitFor();
    await here.locator(".upload progress").waitFor({ state: "detached" });
    await here.locator(".compose-bar select").selectOption("request_reply");
    await here.locator(".plan", { hasText: "Head of lab gets it and owes you a reply" }).waitFor();
    await here.locator(".compose-text").fill("Please look at the plan");
    await clean(here, "a message to another instance");
    await here.keyboard.press("Control+Enter");
    const sent = message(here, "Please look at the plan");
    await sent.locator(".state", { hasText: "delivered" }).waitFor();
    await sent.locator(".state", { hasText: "awaiting reply" }).waitFor();
    await sent.locator(".recipients", { hasText: "Head of lab · Lab at" }).waitFor();

    const came = message(there, "Please look at the plan");
    await came.locator(".from", { hasText: "Office at office" }).waitFor();
    assert.equal((await came.locator(".sender").textContent())?.trim(), "a person there");
    const download = there.waitForEvent("download");
    await came.locator("button.file").click();
    const saved = await (await download).createReadStream();
    const chunks: Buffer[] = [];
    for await (const chunk of saved) chunks.push(chunk as Buffer);
    assert.equal(Buffer.concat(chunks).toString(), "the plan");

    const lead = labActors["lead"]!;
    const { messages } = await lead.result("inbox_read", { group_id: labGroup });
    const asked = messages.find(({ event }) => textOf(event) === "Please look at the plan")!;
    await lead.result("reply", { group_id: labGroup, event_id: asked.event.id, text: "The plan is good" });
    const answer = message(here, "The plan is good");
    await answer.locator(".from", { hasText: "Lab at" }).waitFor();
    await answer.locator(".quoted", { hasText: "Please look at the plan" }).waitFor();
    assert.equal((await answer.locator(".sender").textContent())?.trim(), "Head of lab");
    await sent.locator(".state", { hasText: "replied" }).waitFor();
    await clean(here, "a conversation between instances");
  });

  it("tell an Actor there from one here of the same id, and from one of the same title", async () => {
    verifies("RPL-014", "RPL-015", "RPL-016");
    const groupId = officeGroup;
    const titled = (title: string) =>
      office.owner.result("actor_update", { group_id: groupId, actor_id: "reviewer", title });
    await titled("Head of lab");
    const ask = (text: string) => ({
      group_id: groupId,
      text,
      client_id: text,
      message_mode: "request_reply" as const,
    });
    await office.owner.result("send", { ...ask("Who is head here?"), to: ["reviewer", "lead"] });
    await office.owner.result("connect_send", {
      ...ask("Who is head there?"),
      instance_id: (await lab.owner.result("daemon_status", {})).instance_id,
      target_group_id: labGroup,
      to: ["lead"],
    });
    const there = message(here, "Who is head there?");
    await there.locator(".state", { hasText: "delivered" }).waitFor();
    const answer = async (actors: Actors, actor: string, group: string, question: string, text: string) => {
      const { events } = await actors[actor]!.result("message_history", { group_id: group, query: question });
      await actors[actor]!.result("reply", { group_id: group, event_id: events.at(-1)!.id, text });
    };
    await answer(labActors, "lead", labGroup, "Who is head there?", "I am, over there");

    const came = message(here, "I am, over there");
    await came.locator(".from", { hasText: "Lab at" }).waitFor();
    assert.equal((await came.locator(".sender").textContent())?.trim(), "Head of lab");
    assert.match(
      (await came.getAttribute("aria-label")) ?? "",
      /^Head of lab from outside, key \w{10}, Direct [\w-]{8}: Lab at .+ to you: /,
    );
    await there.locator(".state", { hasText: "replied" }).waitFor();
    assert.equal(await there.locator(".state", { hasText: "open" }).count(), 0);
    // Neither the one of that title nor the one of that id has answered here.
    const asked = message(here, "Who is head here?");
    const open = asked.locator(".state", { hasText: "awaiting reply" });
    await open.first().waitFor();
    assert.equal(await asked.locator(".state", { hasText: "replied" }).count(), 0);
    const rows = here.locator("[data-actor]");
    assert.deepEqual(await rows.evaluateAll((all) => all.map((row) => row.getAttribute("data-actor"))), [
      "lead",
      "reviewer",
    ]);

    await answer(officeActors, "reviewer", groupId, "Who is head here?", "I am, right here");
    await asked.locator("li", { hasText: "Head of lab" }).locator(".state", { hasText: "replied" }).waitFor();
    await asked.locator("li", { hasText: "lead" }).locator(".state", { hasText: "awaiting reply" }).waitFor();
    const local = message(here, "I am, right here");
    assert.equal((await local.locator(".sender").textContent())?.trim(), "Head of lab");
    assert.equal(await local.locator(".from").count(), 0);
    await titled("");
  });

  it("answer each other from both ends, with files", async () => {
    const answer = message(here, "The plan is good");
    await answer.hover();
    await answer.locator("button[aria-label=Reply]").click();
    await here.locator(".replying", { hasText: "Reply to Head of lab" }).waitFor();
    await here.locator(".plan", { hasText: "Goes to Lab at" }).waitFor();
    await here.locator(".compose-text").fill("Then begin");
    await here.keyboard.press("Control+Enter");
    await message(here, "Then begin").locator(".state", { hasText: "delivered" }).waitFor();

    await complete(there, "@review", "reviewer", "Office at office");
    await there
      .locator("input[type=file]")
      .setInputFiles([{ name: "result.txt", mimeType: "text/plain", buffer: Buffer.from("the result") }]);
    await there.locator(".upload .file-size").waitFor();
    await there.locator(".upload progress").waitFor({ state: "detached" });
    await there.locator(".compose-text").fill("Here is the result");
    await there.keyboard.press("Control+Enter");
    await message(there, "Here is the result").locator(".state", { hasText: "delivered" }).waitFor();
    await message(here, "Here is the result").locator(".file-name", { hasText: "result.txt" }).waitFor();
    const { messages } = await officeActors["reviewer"]!.result("inbox_read", { group_id: officeGroup });
    assert.equal(textOf(messages.at(-1)?.event), "Here is the result");
  });

  it("withdraw a request, and see it withdrawn there", async () => {
    await complete(here, "@head", "Head of lab", "Lab at");
    await here.locator(".compose-bar select").selectOption("request_reply");
    await here.locator(".compose-text").fill("Answer this at once");
    await here.keyboard.press("Control+Enter");
    const asked = message(here, "Answer this at once");
    await asked.locator(".state", { hasText: "delivered" }).waitFor();
    await asked.hover();
    await asked.locator("button[aria-haspopup=menu]").click();
    await here.locator(".menu-item", { hasText: "Cancel reply request" }).click();
    await asked.locator(".state", { hasText: "withdrawn there too" }).waitFor();
    await asked.locator(".state", { hasText: "request cancelled" }).waitFor();
    await message(there, "Answer this at once").locator(".state", { hasText: "request cancelled" }).waitFor();
    await there
      .locator("svc-feed", { hasText: "person of Office, outside, cancelled the reply request" })
      .waitFor();
    // Not to the one here of the same id.
    await here
      .locator("svc-feed", { hasText: "you cancelled the reply request to lead at another instance" })
      .waitFor();
  });

  it("mention a Group there in a local message, which goes nowhere else", async () => {
    verifies("MSG-035", "MSG-036", "MSG-037", "MSG-038");
    const area = here.locator(".compose-text");
    // The last message went there.
    await here.getByRole("button", { name: /^Remove Lab at/ }).click();
    await complete(here, "#la", "Lab", "mentioned only");
    await here.locator(".chips", { hasText: "Mentions" }).waitFor();
    await area.pressSequentially("is who we work with");
    await here.locator(".plan", { hasText: "lead" }).waitFor();
    await here.keyboard.press("Control+Enter");
    const mention = message(here, "is who we work with");
    await mention.locator(".mentions", { hasText: "mentions Lab at" }).waitFor();
    const { events } = await office.owner.result("ledger_tail", {
      group_id: officeGroup,
      kinds: ["chat.message"],
    });
    const data = messageOf(events.at(-1));
    assert.equal(data.text, "#Lab is who we work with");
    assert.deepEqual(data.to, ["lead"]);
    assert.equal(data.dst_instance_id, undefined);
    const [reference] = data.refs;
    assert.equal(reference?.["kind"], "connect_group_ref");
    assert.equal(reference["group_id"], labGroup);
    await area.fill("#Lab pasted");
    await here.keyboard.press("Control+Enter");
    await message(here, "#Lab pasted").waitFor();
    const after = await office.owner.result("ledger_tail", {
      group_id: officeGroup,
      kinds: ["chat.message"],
    });
    assert.deepEqual(messageOf(after.events.at(-1)).refs, []);
    assert.equal(await message(there, "is who we work with").count(), 0);
  });

  it("keep what is half filled in while the status is asked for again and again", async () => {
    await openConnections(there);
    await press(there, "Accept an invitation");
    const field = dialog(there).locator(".invitation-field");
    await field.fill("svc-direct:half");
    await field.evaluate((area: HTMLTextAreaElement) => area.setSelectionRange(3, 7));
    await openConnections(here);
    await press(here, "Change");
    const name = dialog(here).locator(".listener-form input").nth(2);
    await name.fill("half a na");
    let polls = 0;
    for (const page of [here, there])
      page.on("response", (response) => {
        if (response.url().includes("/connect/direct")) polls += 1;
      });
    // What is shown changes meanwhile as well.
    const { listener } = await office.owner.result("connect_direct_status", {});
    await office.owner.result("connect_direct_configure", { listener, display_name: "headquarters" });
    await until("several polls", () => polls >= 6, PATIENCE_MS);
    assert.equal(await name.inputValue(), "half a na");
    assert.equal(await field.inputValue(), "svc-direct:half");
    assert.deepEqual(
      await field.evaluate((area: HTMLTextAreaElement) => [area.selectionStart, area.selectionEnd]),
      [3, 7],
    );
    assert.ok(await field.evaluate((area) => document.activeElement === area));
    await press(here, "Back");
    await dialog(here).locator(".facts dd", { hasText: "headquarters" }).waitFor();
    await close(here);
    await close(there);
  });

  it("show what would turn or hide text in names and messages, and let none of it act", async () => {
    const { invitation } = await office.owner.result("connect_direct_invite", { group_id: officeGroup });
    const json = JSON.parse(Buffer.from(invitation.slice("svc-direct:".length), "base64url").toString()) as {
      host: { name: string; title: string };
    };
    json.host.name = "ec\u202eiffo\u200b";
    json.host.title = "Off\u2066ice\u0007";
    const forged = `svc-direct:${Buffer.from(JSON.stringify(json)).toString("base64url")}`;
    await openConnections(there);
    await press(there, "Accept an invitation");
    await dialog(there).locator(".invitation-field").fill(forged);
    const claims = dialog(there).locator(".claims");
    await claims.waitFor();
    const told = (await claims.textContent()) ?? "";
    assert.match(told, /ec\ufffdiffo\ufffd/u);
    assert.match(told, /Off\ufffdice\u2407/u);
    // oxlint-disable-next-line no-control-regex
    assert.doesNotMatch(told, /[\u200b\u202e\u2066\u0007]/u);
    await close(there);
    await labActors["lead"]!.result("send", {
      group_id: labGroup,
      text: "safe \u202egnp.exe `rm\u200b -rf`\n\n```\na\u2066b\u200fc\n```",
      to: ["user"],
      message_mode: "send",
    });
    const row = message(there, "safe");
    await row.waitFor();
    assert.match(
      (await row.locator(".markdown").textContent()) ?? "",
      /safe \ufffdgnp\.exe rm\ufffd -rf.*a\ufffdb\ufffdc/su,
    );
  });

  it("say in the Group's header that somebody waits for approval, and that a connection is offline", async () => {
    const third = await lab.group("Third", ["lead"]);
    const { invitation } = await office.owner.result("connect_direct_invite", { group_id: officeGroup });
    const joined = { group_id: third.groupId, invitation };
    const { id } = await lab.owner.result("connect_direct_join", joined);
    await here.locator(".connections-state.tone-attention", { hasText: "approve" }).click();
    await card(here, "Third").locator("vscode-button", { hasText: "approve" }).waitFor();
    await card(here, "Third").locator("vscode-button", { hasText: "Refuse" }).click();
    await dialog(here).locator(".danger-button", { hasText: "Refuse for good" }).click();
    await card(here, "Third").locator(".state", { hasText: "revoked" }).waitFor();
    await close(here);
    for (const side of [lab, office]) {
      const groupId = side === lab ? third.groupId : officeGroup;
      await until(
        "the refusal",
        async () => {
          const { relations } = await side.owner.result("connect_direct_status", { group_id: groupId });
          return relations.find((relation) => relation.id === id)?.state === "revoked";
        },
        PATIENCE_MS,
      );
      await side.owner.result("connect_direct_remove", { group_id: groupId, id });
    }
    await here.locator(".connections-state", { hasText: "online" }).waitFor();
    const { listener } = await office.owner.result("connect_direct_status", {});
    await openConnections(here);
    await press(here, "Turn off");
    await dialog(here).locator(".destroy", { hasText: "in every Group" }).waitFor();
    await clean(here, "turning the listener off");
    await dialog(here).locator(".danger-button", { hasText: "Turn it off" }).click();
    await dialog(here).locator(".section-head vscode-button", { hasText: "Turn on" }).waitFor();
    await close(here);
    await there.locator(".connections-state", { hasText: "offline" }).waitFor();
    await office.owner.result("connect_direct_configure", { listener });
    await there.locator(".connections-state", { hasText: "online" }).waitFor();
  });

  it("keep what is typed while an earlier change is slow", async () => {
    const listener = (await office.owner.result("connect_direct_status", {})).listener;
    assert.ok(listener !== null);
    const { invitation } = await office.owner.result("connect_direct_invite", { group_id: officeGroup });
    const { id } = parseInvitationText(invitation)!;
    // The two Groups have a connection: the daemon would refuse.
    let answer = (): void => undefined;
    const change = "**/api/v1/connect/direct";
    await there.route(change, async (route) => {
      await new Promise<void>((resolve) => {
        answer = resolve;
      });
      await route.fulfill({ json: { ok: true, result: { id } } });
    });
    try {
      await openConnections(there);
      await press(there, "Accept an invitation");
      const field = dialog(there).locator(".invitation-field");
      await field.fill(invitation);
      const asked = there.waitForRequest(
        (request) => request.method() === "POST" && request.url().endsWith("/connect/direct"),
      );
      await press(there, "Request connection");
      await asked;
      await press(there, "Back");
      await press(there, "Accept an invitation");
      await field.fill("svc-direct:another");
      answer();
      // One look was perhaps under way, one follows the change, one comes by itself.
      for (let look = 0; look < 3; look += 1)
        await there.waitForResponse((response) => response.url().includes("/connect/direct?"));
      assert.equal(await field.inputValue(), "svc-direct:another");
      await field.fill("");
      await close(there);
    } finally {
      await there.unroute(change);
    }
    await office.owner.result("connect_direct_revoke", { group_id: officeGroup, id });
    await office.owner.result("connect_direct_remove", { group_id: officeGroup, id });
  });

  it("do all of it at 360 px and by keyboard, to the end of the connection", async () => {
    const small = await opened(lab, "Lab", { width: 360, height: 740, theme: "dark" });
    await small.locator("svc-group-header button[aria-haspopup=menu]").focus();
    await small.keyboard.press("Enter");
    await small.keyboard.press("ArrowDown");
    await small.locator(".menu-item:focus", { hasText: "Group connections" }).waitFor();
    await small.keyboard.press("Enter");
    await dialog(small).waitFor();
    await card(small, "Office").locator(".state", { hasText: "online" }).waitFor();
    await clean(small, "connections at 360 px");
    const wide = () =>
      small.evaluate(
        () => document.querySelector("dialog")!.scrollWidth - document.querySelector("dialog")!.clientWidth,
      );
    await atRest(small);
    assert.ok((await wide()) <= 0);
    await dialog(small).locator("vscode-button", { hasText: "Revoke" }).focus();
    await small.keyboard.press("Enter");
    await dialog(small).locator(".destroy", { hasText: "for good" }).waitFor();
    await clean(small, "the consequences");
    // The harmless answer has the focus.
    await small.locator(".destroy vscode-button:focus", { hasText: "Keep it" }).waitFor();
    await small.keyboard.press("Enter");
    await dialog(small).locator(".destroy").waitFor({ state: "detached" });
    await until("the focus stays in the dialog", () =>
      small.evaluate(() => document.querySelector("dialog")!.contains(document.activeElement)),
    );
    await close(small);

    await openConnections(here);
    await card(here, "Lab").locator("vscode-button", { hasText: "Revoke" }).click();
    await dialog(here).locator(".destroy", { hasText: "you need a new invitation" }).waitFor();
    await dialog(here).locator(".danger-button", { hasText: "Revoke for good" }).click();
    await card(here, "Lab").locator(".state", { hasText: "revoked" }).waitFor();
    await openConnections(there);
    await card(there, "Office").locator(".state", { hasText: "revoked" }).waitFor();
    for (const [page, peer] of [
      [here, "Lab"],
      [there, "Office"],
    ] as const) {
      await card(page, peer).locator("vscode-button", { hasText: "Remove" }).click();
      await dialog(page).locator(".danger-button", { hasText: "Remove it" }).click();
      await card(page, peer).first().waitFor({ state: "detached" });
      await close(page);
    }
    await message(here, "The plan is good").first().waitFor();
    await there.locator(".connections-state").waitFor({ state: "detached" });
    // An invitation that nobody took is still out.
    await here.locator(".connections-state", { hasText: "pending" }).waitFor();
  });
});
