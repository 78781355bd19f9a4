/**
 * Everything that is done to Groups, Actors and messages besides writing, with what the daemon says
 * of it afterwards.
 */

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import type { Page } from "playwright-core";
import { ENVIRONMENT } from "../../shared/names.ts";
import { Peer } from "../mcp/peer.ts";
import { until } from "../support/until.ts";
import { violations } from "./axe.ts";
import { openGroup, type Setting, useSetting } from "./setting.ts";

describe("Workbench: Groups, Actors and the window", () => {
  let setting: Setting;

  useSetting((opened) => {
    setting = opened;
  });

  async function choose(page: Page, owner: string, item: string): Promise<void> {
    await page.locator(`${owner} button[aria-haspopup=menu]`).first().click();
    await page.locator(".menu-item", { hasText: item }).click();
  }
  const press = (page: Page, label: string) =>
    page.locator("dialog[open] vscode-button", { hasText: label }).click();
  const closed = (page: Page) => page.locator("dialog[open]").waitFor({ state: "detached" });

  it("begins with a folder; a wrong one says why and leaves nothing behind", async () => {
    const { page } = await setting.window({ expected: /status of 4(?:00|04|09)/ });
    await page.locator("main vscode-button", { hasText: "Attach a folder" }).click();
    await page.locator("dialog[open] vscode-text-field input").first().fill("/nowhere/at/all");
    await press(page, "Create Group");
    await page.locator("dialog[open] .failure").waitFor();
    assert.deepEqual((await setting.owner.result("group_list", {})).groups, []);
    const project = join(setting.daemon.home, "..", `${setting.daemon.home.split("/").at(-1)}-project`);
    mkdirSync(project, { recursive: true });
    await page.locator("dialog[open] vscode-text-field input").first().fill(project);
    await page.locator("dialog[open] vscode-text-field input").nth(1).fill("project");
    await page.keyboard.press("Enter");
    await page.locator(".group-title", { hasText: "project" }).waitFor();
    await closed(page);
    await page.locator(".group-scope").waitFor();
    await page.locator("svc-feed .empty", { hasText: "Add an Actor first" }).waitFor();
    await until("something has the focus", () =>
      page.evaluate(() => document.activeElement !== null && document.activeElement !== document.body),
    );
  });

  it("chooses a folder of the machine by keyboard, whatever the folders are called", async () => {
    const top = realpathSync(mkdtempSync(join(tmpdir(), "svc-chosen-")));
    try {
      const odd = "b <img src=x onerror=alert(1)>\u202e";
      for (const name of ["a/inside", odd, ".hidden"]) mkdirSync(join(top, name), { recursive: true });
      symlinkSync("/", join(top, "link"));
      const { page } = await setting.window({ expected: /status of 400/ });
      await page.locator("[aria-label='New Group']").click();
      const path = page.locator("dialog[open] vscode-text-field input").first();
      await path.fill(top);
      await press(page, "Browse folders");
      const rows = page.locator("dialog[open] .folder-row");
      await rows.first().waitFor();
      assert.deepEqual(await rows.locator(".file-name").allTextContents(), [
        "a",
        "b <img src=x onerror=alert(1)>\ufffd",
      ]);
      assert.equal(await page.locator("dialog[open] img").count(), 0);
      assert.deepEqual(await violations(page), []);
      const shown = (name: string) =>
        until(name, async () => (await path.inputValue()) === join(top, name).replace(/\/$/, ""));
      await rows.first().focus();
      await page.keyboard.press("Enter");
      await shown("a");
      await rows.filter({ hasText: "inside" }).waitFor();
      await page.keyboard.press("ArrowLeft");
      await shown("");
      await until("the folder it came from has the focus", () =>
        page.evaluate(() => (document.activeElement as HTMLElement).dataset["name"] === "a"),
      );
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("ArrowRight");
      await shown(odd);
      await page.locator("dialog[open] .hint", { hasText: "No folders in here" }).waitFor();
      await page.locator("dialog[open] .folders-head button").click();
      await shown("");
      await page.locator("dialog[open] vscode-checkbox", { hasText: "hidden" }).click();
      await rows.filter({ hasText: ".hidden" }).waitFor();
      // A folder that goes away in the meantime says so, and the others stay.
      rmSync(join(top, "a"), { recursive: true });
      await page.locator("dialog[open] .folder-row[data-name=a]").click();
      await page.locator("dialog[open] .failure", { hasText: "isn't an existing directory" }).waitFor();
      await rows.filter({ hasText: "img" }).click();
      await shown(odd);
      await page.locator("dialog[open] vscode-text-field input").nth(1).fill("chosen");
      await press(page, "Create Group");
      await closed(page);
      const { groups } = await setting.owner.result("group_list", {});
      const group = await setting.owner.result("group_show", {
        group_id: groups.find(({ title }) => title === "chosen")!.group_id,
      });
      assert.deepEqual(
        group.scopes.map(({ path: attached }) => attached),
        [join(top, odd)],
      );
      await page.context().close();
      await setting.owner.result("group_delete", { group_id: group.group_id, confirm: group.group_id });
    } finally {
      rmSync(top, { recursive: true, force: true });
    }
  });

  it("takes emoji that are joined of several in titles, and no other joiner", async () => {
    const { page } = await setting.window({ expected: /status of 400/ });
    const create = async (title: string) => {
      await page.locator("[aria-label='New Group']").click();
      await page.locator("dialog[open] input").nth(1).fill(title);
      await press(page, "Create Group");
    };
    await create("family 👨‍👩‍👧 🏳️‍🌈 👩🏽‍💻");
    await closed(page);
    await page.locator(".group-title", { hasText: "family 👨‍👩‍👧 🏳️‍🌈 👩🏽‍💻" }).waitFor();
    for (const title of ["fam\u200dily", "©\u200d®", "👨\u200d", "1\u200d2"]) {
      await assert.rejects(setting.owner.result("group_create", { title }), /invisible/);
    }
    await create("fam\u200dily");
    await page.locator("dialog[open] .failure", { hasText: "invisible" }).waitFor();
    await page.keyboard.press("Escape");
  });

  it("says before starting that an agent isn't logged in and doesn't trust the folder, until it does", async () => {
    const folder = mkdtempSync(join(tmpdir(), "svc-installed-"));
    try {
      writeFileSync(join(folder, "claude"), "#!/bin/sh\necho 2.1.330\n", { mode: 0o755 });
      const { group_id: groupId } = await setting.owner.result("attach", { path: folder });
      await setting.owner.result("actor_add", {
        group_id: groupId,
        actor_id: "coder",
        runtime: "claude",
        runner: "pty",
        env: { PATH: folder, HOME: folder, ANTHROPIC_API_KEY: "", CLAUDE_CONFIG_DIR: folder },
      });
      const { page } = await setting.window();
      await openGroup(page, basename(folder));
      const edit = async () => {
        await page.locator(".actor-row").first().hover();
        await choose(page, ".actor-row", "Edit");
        await page
          .locator("dialog[open] option", { hasText: "Claude Code 2.1.330" })
          .waitFor({ state: "attached" });
      };
      await edit();
      const missing = page.locator("dialog[open] .missing");
      await missing.filter({ hasText: "Claude Code isn’t logged in" }).waitFor();
      await missing
        .filter({ hasText: "doesn’t trust the Group’s folder yet. It asks in its terminal" })
        .waitFor();
      await page.locator("dialog[open] vscode-button", { hasText: "Save and start" }).waitFor();
      assert.deepEqual(await violations(page), []);
      await page.keyboard.press("Escape");
      await closed(page);
      const known = {
        oauthAccount: {},
        projects: { [realpathSync(folder)]: { hasTrustDialogAccepted: true } },
      };
      writeFileSync(join(folder, ".claude.json"), JSON.stringify(known));
      await edit();
      assert.equal(await missing.count(), 0);
      await page.context().close();
      await setting.owner.result("group_delete", { group_id: groupId, confirm: groupId });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it("says before starting that a program is missing, and changes the command where it is", async () => {
    const project = join(
      setting.daemon.home,
      "..",
      `${setting.daemon.home.split("/").at(-1)}-projects`,
      "programs",
    );
    mkdirSync(project, { recursive: true });
    const { group_id: groupId } = await setting.owner.result("attach", { path: project });
    const { page } = await setting.window({ expected: /status of 409/ });
    await openGroup(page, "programs");
    await page.locator("svc-actors .column-head .icon-button").click();
    await page.locator("dialog[open] input").first().fill("runner");
    const selects = page.locator("dialog[open] select");
    await until(
      "what is installed is known",
      async () =>
        /not found here/.test((await selects.nth(1).textContent()) ?? "") ||
        (await selects.nth(0).inputValue()) === "external",
    );
    await selects.nth(0).selectOption("pty");
    await selects.nth(1).selectOption("gemini");
    await page.locator("dialog[open] .missing", { hasText: "npm install -g @google/gemini-cli" }).waitFor();
    await page.locator("dialog[open] vscode-button", { hasText: /^\s*Add\s*$/ }).waitFor();
    const command = page.locator("dialog[open] vscode-text-field[name=command] input");
    await command.fill("no-such-program --flag");
    await page.locator("dialog[open] .missing").waitFor({ state: "detached" });
    await press(page, "Add and start");
    // The Actor is there, so its fields are.
    await page.locator("dialog[open] h2", { hasText: "Edit runner" }).waitFor();
    await page
      .locator("dialog[open] .failure", { hasText: "the daemon’s machine has no program “no-such-program”" })
      .waitFor();
    assert.equal(await command.inputValue(), "no-such-program --flag");
    await command.fill(`sh -c "echo it 'works'; sleep 60"`);
    await press(page, "Save and start");
    await closed(page);
    const { actor } = await setting.owner.result("actor_show", { group_id: groupId, actor_id: "runner" });
    assert.deepEqual(actor.command, ["sh", "-c", "echo it 'works'; sleep 60"]);
    await page.locator("svc-terminal .xterm-rows > div", { hasText: "it works" }).first().waitFor();
    // From the row, too.
    await setting.owner.result("actor_stop", { group_id: groupId, actor_id: "runner" });
    await setting.owner.result("actor_update", {
      group_id: groupId,
      actor_id: "runner",
      command: ["gone-program"],
    });
    await page.locator("[data-actor=runner] .actor-state", { hasText: "stopped" }).waitFor();
    await page.locator("[data-actor=runner]").hover();
    await page.locator('[data-actor=runner] [aria-label="Start runner"]').click();
    await page.locator("dialog[open] .failure", { hasText: "“gone-program”" }).waitFor();
    await press(page, "Cancel");
  });

  it("shows how each agent is connected, and when it is", async () => {
    const project = join(
      setting.daemon.home,
      "..",
      `${setting.daemon.home.split("/").at(-1)}-projects`,
      "own",
    );
    mkdirSync(project, { recursive: true });
    const { group_id: groupId } = await setting.owner.result("attach", { path: project });
    await setting.owner.result("actor_add", { group_id: groupId, actor_id: "codex", runtime: "codex" });
    const { page } = await setting.window();
    await openGroup(page, "own");
    await choose(page, ".actor-row", "Connect an agent");
    const dialog = page.locator("dialog[open]");
    await dialog.locator(".state", { hasText: "Waiting for codex to connect" }).waitFor();
    const kind = dialog.locator("select");
    assert.equal(await kind.inputValue(), "codex");
    await dialog.locator("pre", { hasText: '[mcp_servers.svc]\ncommand = "svc"' }).waitFor();
    await kind.selectOption("claude");
    await dialog
      .locator(".command", { hasText: "claude mcp add --scope project svc -- svc mcp --as codex" })
      .waitFor();
    await dialog.locator(".command", { hasText: `SVC_HOME=${setting.daemon.home}` }).waitFor();
    await kind.selectOption("any");
    await dialog.locator("pre", { hasText: "SVC_ACTOR_FILE" }).waitFor();
    const agent = new Peer({ [ENVIRONMENT.home]: setting.daemon.home }, ["--as", "codex"], project);
    try {
      await agent.connect();
      await dialog.locator(".state.tone-good", { hasText: "codex is connected." }).waitFor();
    } finally {
      await agent.close();
    }
    await dialog.locator(".state", { hasText: "Waiting for codex" }).waitFor();
    await press(page, "Done");
    await closed(page);
  });

  it("shows the Groups of a new token with whole boxes, however long their titles are", async () => {
    await setting.group("A Group whose title is so long that it needs more than the one line it has here");
    const { page } = await setting.window({ width: 360 });
    await page.locator(".bottom-tab", { hasText: "Groups" }).click();
    await page.locator("[aria-label='Settings']").first().click();
    await page.locator(".menu-item", { hasText: "Access tokens" }).click();
    await press(page, "New token");
    const boxes = page.locator("dialog[open] .choices vscode-checkbox");
    await boxes.first().waitFor();
    const widths = await boxes.evaluateAll((all) =>
      all.map((box) =>
        Math.round(box.shadowRoot!.querySelector("[part=control]")!.getBoundingClientRect().width),
      ),
    );
    assert.equal(new Set(widths).size, 1, `boxes of ${widths.join(", ")} pixels`);
    assert.ok(widths[0]! >= 16);
  });

  it("adds an Actor, shows how to connect it, edits, stops and removes it", async () => {
    const { groupId } = await setting.group("actors", []);
    const { page } = await setting.window();
    await openGroup(page, "actors");
    await page.locator("svc-actors .column-head .icon-button").click();
    await page.locator("dialog[open] input").first().fill("writer");
    await press(page, "Add and connect");
    await page.locator("dialog[open] pre", { hasText: "SVC_ACTOR_FILE" }).waitFor();
    const shown = await page.locator("dialog[open]").textContent();
    assert.match(shown ?? "", /tokens.writer\.json/);
    await press(page, "Restart writer");
    await page.locator("dialog[open] .tone-good", { hasText: "The token has been renewed" }).waitFor();
    await press(page, "Done");
    await closed(page);
    const row = page.locator(".actor-row", { hasText: "writer" });
    await row.hover();
    await choose(page, ".actor-row", "Edit");
    await page.locator("dialog[open] input").first().fill("The writer");
    await press(page, "Save");
    await closed(page);
    await page.locator(".actor-row", { hasText: "The writer" }).hover();
    await choose(page, ".actor-row", "Stop");
    await until("the daemon has it so", async () => {
      const { actors } = await setting.owner.result("actor_list", { group_id: groupId });
      return actors[0]?.title === "The writer" && !actors[0].enabled;
    });
    await page.locator(".actor-row").hover();
    await choose(page, ".actor-row", "Remove");
    await page.locator("dialog[open] .danger-button", { hasText: "Remove The writer" }).click();
    await page.locator("svc-actors .empty").waitFor();
  });

  it("cancels a reply request, and delivers again what wasn't confirmed", async () => {
    const { groupId, actors } = await setting.group("again");
    const lead = actors["lead"]!;
    await setting.owner.result("send", {
      group_id: groupId,
      text: "Answer me",
      to: ["lead"],
      message_mode: "request_reply",
    });
    const { page } = await setting.window();
    await openGroup(page, "again");
    const row = page.locator("svc-message", { hasText: "Answer me" });
    await row.locator(".state", { hasText: "awaiting reply" }).waitFor();
    await row.hover();
    await row.locator("button[aria-haspopup=menu]").click();
    await page.locator(".menu-item", { hasText: "Cancel reply request" }).click();
    await row.locator(".state", { hasText: "request cancelled" }).waitFor();
    lead.session = "first";
    const taken = await lead.result("inbox_read", { group_id: groupId });
    assert.equal(taken.messages.length, 1);
    await row.locator(".state", { hasText: "claimed" }).waitFor();
    await row.hover();
    await row.locator("button[aria-haspopup=menu]").click();
    const again = page.locator(".menu-item", { hasText: "Deliver again to lead" });
    assert.match((await again.textContent()) ?? "", /may arrive twice/);
    await again.click();
    await row.locator(".state", { hasText: "pending" }).waitFor();
    const second = await lead.result("inbox_read", { group_id: groupId });
    assert.equal(second.messages[0]?.event.id, taken.messages[0]?.event.id);
    await lead.result("inbox_read", { group_id: groupId, ack: second.batch_id! });
    await row.locator(".state", { hasText: "accepted" }).waitFor();
    await row.hover();
    await row.locator("button[aria-haspopup=menu]").click();
    await page.locator(".menu-item").first().waitFor();
    assert.equal(await again.count(), 0);
    await page.keyboard.press("Escape");
    await setting.owner.result("send", { group_id: groupId, text: "Never taken", to: ["lead"] });
    await setting.owner.result("actor_remove", { group_id: groupId, actor_id: "lead" });
    const lost = page.locator("svc-message", { hasText: "Never taken" });
    await lost.locator(".state", { hasText: "failed (actor removed)" }).waitFor();
    await lost.hover();
    await lost.locator("button[aria-haspopup=menu]").click();
    await page.locator(".menu-item").first().waitFor();
    assert.equal(await again.count(), 0);
    await page.keyboard.press("Escape");
  });

  it("sets and removes private environment by name, and shows no value", async () => {
    const { groupId } = await setting.group("secrets");
    const { page } = await setting.window();
    await openGroup(page, "secrets");
    const names = async () => {
      const { actors } = await setting.owner.result("actor_list", { group_id: groupId });
      return actors[0]?.private_env;
    };
    const edit = async () => {
      await page.locator(".actor-row").hover();
      await choose(page, ".actor-row", "Edit");
      await page.locator("svc-private-environment").waitFor();
    };
    const field = (at: number) => page.locator("svc-private-environment input").nth(at);
    await edit();
    await field(0).fill("API_KEY");
    await field(1).fill("s3cret-value");
    await press(page, "Set");
    await page.locator(".environment", { hasText: "will be set" }).waitFor();
    await field(0).fill("OTHER");
    await field(1).fill("0ther-value");
    await press(page, "Save");
    await closed(page);
    assert.deepEqual(await names(), ["API_KEY", "OTHER"]);
    await page.reload();
    await page.locator(".actor-row").waitFor();
    await edit();
    await page.locator(".environment", { hasText: "API_KEY" }).locator(".icon-button").click();
    await page.locator(".environment", { hasText: "will be removed" }).waitFor();
    assert.doesNotMatch(await page.content(), /s3cret-value|0ther-value/);
    await press(page, "Save");
    await closed(page);
    assert.deepEqual(await names(), ["OTHER"]);
  });

  it("changes settings, clears and deletes a Group only after its title was typed", async () => {
    const { groupId } = await setting.group("doomed");
    await setting.owner.result("send", { group_id: groupId, text: "Remember this", to: ["lead"] });
    const { page } = await setting.window({ expected: /status of 40[49]/ });
    await openGroup(page, "doomed");
    await choose(page, "svc-group-header", "Group settings");
    await page.locator("dialog[open] input").nth(1).fill("What it is about");
    const mail = page.locator("dialog[open] [name=mail_notice_after_seconds] input");
    assert.equal(await mail.inputValue(), "30");
    await mail.fill("soon");
    await page.locator("dialog[open] .hint", { hasText: "Enter a number of minutes" }).waitFor();
    assert.equal(await mail.inputValue(), "soon");
    await page.locator("dialog[open] vscode-button[disabled]", { hasText: "Save" }).waitFor();
    await mail.fill("2.5");
    await press(page, "Save");
    await closed(page);
    const { settings } = await setting.owner.result("group_show", { group_id: groupId });
    assert.deepEqual([settings.mail_notice_after_seconds, settings.reply_notice_after_seconds], [150, 900]);
    await page.locator(".group-topic", { hasText: "What it is about" }).waitFor();
    for (const [first, act] of [
      ["Clear the history", "Clear the history"],
      ["Delete the Group", "Delete the Group"],
    ] as const) {
      await choose(page, "svc-group-header", "Group settings");
      await page.locator("dialog[open] .danger-button", { hasText: `${first}…` }).click();
      const field = page.locator("dialog[open] .destroy vscode-text-field");
      await until("the confirmation is asked for in view", () =>
        field.evaluate((element) => {
          const box = element.getBoundingClientRect();
          return document.activeElement === element && box.top >= 0 && box.bottom <= innerHeight;
        }),
      );
      const danger = page.locator("dialog[open] .danger-button", { hasText: act });
      assert.ok(await danger.isDisabled());
      await page.locator("dialog[open] .destroy input").fill("doomed");
      await danger.click();
      await closed(page);
      if (first === "Clear the history") {
        await page.locator("svc-message", { hasText: "Remember this" }).waitFor({ state: "detached" });
        await page.locator(".group-title", { hasText: "doomed" }).waitFor();
      }
    }
    await page.locator(".group-row", { hasText: "doomed" }).waitFor({ state: "detached" });
    // The keyboard isn't left behind with what is gone.
    await until("something has the focus", () =>
      page.evaluate(() => document.activeElement !== null && document.activeElement !== document.body),
    );
    await until("the Group is gone", async () =>
      (await setting.owner.result("group_list", {})).groups.every((group) => group.group_id !== groupId),
    );
  });

  it("remembers theme and arrangement", async () => {
    await setting.group("window");
    const { page } = await setting.window({ theme: "dark" });
    await page.locator(".group-title").waitFor();
    const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const seen = new Set<string>();
    for (const [label, kind] of [
      ["Light", "vscode-light"],
      ["Dark", "vscode-dark"],
      ["High contrast, dark", "vscode-high-contrast"],
      ["High contrast, light", "vscode-high-contrast-light"],
    ] as const) {
      await page.locator("svc-settings-menu button[aria-haspopup=menu]").click();
      await page.getByRole("menuitemradio", { name: label, exact: true }).click();
      assert.equal(await page.evaluate(() => document.body.dataset["vscodeThemeKind"]), kind);
      seen.add(`${kind} ${await background()}`);
      await page.locator("svc-settings-menu button[aria-haspopup=menu]").click();
      assert.equal(
        await page
          .locator(".menu-item[aria-checked=true] .menu-label")
          .textContent()
          .then((text) => text?.trim()),
        label,
      );
      await page.keyboard.press("Escape");
    }
    assert.equal(seen.size, 4);
    await page.locator("button[aria-label='Hide Actors']").click();
    await page.locator("svc-splitter").focus();
    await page.keyboard.press("ArrowRight");
    const width = await page.locator(".side.groups").evaluate((side) => side.clientWidth);
    await page.reload();
    await page.locator("button[aria-label='Show Actors']").waitFor();
    assert.equal(await page.evaluate(() => document.documentElement.dataset["theme"]), "hc-light");
    assert.equal(await page.locator(".side.groups").evaluate((side) => side.clientWidth), width);
    await page.locator("button[aria-label='Show Actors']").click();
    await page.locator("svc-actors").waitFor();
  });

  it("fits every width from 360 px to 4K without scrolling sideways", async () => {
    const { groupId } = await setting.group("a title that is rather long and goes on for a while");
    await setting.owner.result("send", {
      group_id: groupId,
      text: `${"wide ".repeat(60)}\n\n\`\`\`\n${"x".repeat(500)}\n\`\`\`\n\n${"y".repeat(400)}`,
      to: ["lead"],
    });
    const { page } = await setting.window();
    await openGroup(page, "a title that is rather long");
    for (const width of [360, 480, 699, 700, 1099, 1100, 1920, 3840]) {
      await page.setViewportSize({ width, height: 800 });
      await page.locator(".compose-text").waitFor();
      const breadth = width >= 1100 ? "wide" : width >= 700 ? "medium" : "narrow";
      // A browser may report a size in between before it settles.
      let wide: string[] = [];
      await until("the layout follows and fits", async () => {
        wide = await page.evaluate(() =>
          [
            ...document.querySelectorAll<HTMLElement>(
              ".workbench, .center, .feed-scroll, .composer, .group-head",
            ),
          ]
            .filter(
              (element) =>
                element.scrollWidth > element.clientWidth + 1 ||
                element.getBoundingClientRect().right > innerWidth + 1,
            )
            .map((element) => element.className),
        );
        return wide.length === 0 && (await page.locator(`.workbench.${breadth}`).count()) === 1;
      }).catch((error: unknown) => {
        throw new Error(`${width} px: ${wide.join(", ") || "another layout"}`, { cause: error });
      });
    }
  });
});
