/** Terminals and the ticker in the Workbench, with real processes in real terminals. */

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { verifies } from "../requirements.ts";
import { until } from "../support/until.ts";
import { atRest, measure } from "./at-rest.ts";
import { violations } from "./axe.ts";
import { startFakeClaude } from "./fake-claude.ts";
import { openGroup, type Setting, useSetting } from "./setting.ts";
import { checkTargets } from "./targets.ts";

const AGENT = join(import.meta.dirname, "../runtimes/fake-agent.mjs");

describe("Workbench: terminals", () => {
  let setting: Setting;
  let groups = 0;

  useSetting((opened) => {
    setting = opened;
  });

  /** A Group with a folder of its own, in which its Actors run. */
  async function project(kind: string): Promise<{ group_id: string; title: string }> {
    const title = `${kind}-${++groups}`;
    const path = join(setting.daemon.home, "..", `${setting.daemon.home.split("/").at(-1)}-projects`, title);
    mkdirSync(path, { recursive: true });
    const { group_id: groupId } = await setting.owner.result("attach", { path });
    return { group_id: groupId, title };
  }

  /** A Group with shells in terminals, started. */
  async function shells(...ids: string[]): Promise<{ group_id: string; title: string }> {
    const { group_id: groupId, title } = await project("shells");
    for (const actorId of ids) {
      await setting.owner.result("actor_add", {
        group_id: groupId,
        actor_id: actorId,
        runner: "pty",
        command: ["sh", "-c", "PS1='$ ' exec sh -i"],
      });
      await setting.owner.result("actor_start", { group_id: groupId, actor_id: actorId });
    }
    return { group_id: groupId, title };
  }
  const openTerminal = async (page: Page, actorId: string) => {
    await page.locator(`[data-actor=${actorId}]`).hover();
    await page.locator(`[data-actor=${actorId}] [aria-label="Terminal of ${actorId}"]`).click();
    await page.locator(`section[aria-label="Terminal of ${actorId}"] .xterm-screen`).waitFor();
  };
  const pane = (page: Page, actorId: string) => page.locator(`section[aria-label="Terminal of ${actorId}"]`);
  const shows = (page: Page, actorId: string, text: string) =>
    pane(page, actorId).locator(".xterm-rows > div", { hasText: text }).first().waitFor();
  const write = async (page: Page, actorId: string, line: string) => {
    if ((await pane(page, actorId).locator(".terminal-state", { hasText: "writing here" }).count()) === 0)
      await pane(page, actorId)
        .locator("vscode-button", { hasText: /Write here|Take over/ })
        .click();
    await pane(page, actorId).locator(".terminal-state", { hasText: "writing here" }).waitFor();
    await pane(page, actorId).locator(".xterm-helper-textarea").focus();
    await page.keyboard.type(`${line}\n`);
  };

  it("show the screen, take keys from who writes, and are taken over visibly", async () => {
    const { title } = await shells("ann");
    const { page } = await setting.window();
    await openGroup(page, title);
    await openTerminal(page, "ann");
    await pane(page, "ann").locator(".terminal-state", { hasText: "view only" }).waitFor();
    await write(page, "ann", "echo $((20+3))-$((4*2)); printf '\\033[38;2;10;200;30mgreen\\033[0m\\n'");
    await shows(page, "ann", "23-8");
    // Colours outlive the page's strict policy.
    const color = await pane(page, "ann")
      .locator(".xterm-rows span", { hasText: /^green$/ })
      .first()
      .evaluate((element) => getComputedStyle(element).color);
    assert.equal(color, "rgb(10, 200, 30)");

    const { page: other } = await setting.window();
    await openGroup(other, title);
    await openTerminal(other, "ann");
    await shows(other, "ann", "23-8");
    await pane(other, "ann").locator(".terminal-state", { hasText: "writing in another window" }).waitFor();
    await pane(other, "ann").locator("vscode-button", { hasText: "Take over" }).click();
    await pane(page, "ann").locator(".terminal-state", { hasText: "writing in another window" }).waitFor();
    await write(other, "ann", "echo taken-$((1+1))");
    await shows(page, "ann", "taken-2");
  });

  it("follow the writer's size, find text and copy it", async () => {
    const { title } = await shells("ann");
    const { page, context } = await setting.window({ width: 1400 });
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await openGroup(page, title);
    await openTerminal(page, "ann");
    await write(page, "ann", "stty size; for i in 1 2 3 4 5 6 7 8 9; do echo line-$i; done");
    await shows(page, "ann", "line-9");
    const size = async () => (await pane(page, "ann").locator(".xterm-rows > div").count()) > 0;
    assert.ok(await size());
    const before = await pane(page, "ann").locator(".xterm-rows > div").count();
    const edge = page.locator(".drawer-edge");
    await edge.focus();
    for (let step = 0; step < 6; step++) await page.keyboard.press("ArrowUp");
    await until(
      "more rows in a higher drawer",
      async () => (await pane(page, "ann").locator(".xterm-rows > div").count()) > before,
    );
    await pane(page, "ann").locator('[aria-label^="Search"]').first().click();
    const search = page.locator('[aria-label="Search in the terminal of ann"]');
    const found = pane(page, "ann").locator(".terminal-search [role=status]");
    await search.fill("LINE-");
    await search.press("Shift+Enter");
    // The command itself and what it printed, the last of them first.
    await found.filter({ hasText: /^\d+ of 1[01]$/ }).waitFor();
    // The shell may draw its line anew meanwhile, and what is found is counted anew.
    await until("the one before is found", async () => {
      const before = (await found.textContent()) ?? "";
      await search.press("Shift+Enter");
      const [at, of] = before.split(" of ").map(Number);
      const preceding = `${at === 1 ? of : at! - 1} of ${of}`;
      return found
        .filter({ hasText: new RegExp(`^${preceding}$`) })
        .waitFor({ timeout: 2000 })
        .then(
          () => true,
          () => false,
        );
    });
    await search.fill("nowhere");
    await found.filter({ hasText: "not found" }).waitFor();
    await search.fill("line-4");
    let copied = "";
    // What is found stops being selected when the shell draws its line anew after the drawer's last
    // step.
    await until("the copy", async () => {
      await page.locator('[aria-label="Search in the terminal of ann"]').press("Enter");
      await pane(page, "ann").locator('[aria-label^="Copy"]').click();
      copied = await page.evaluate(() => navigator.clipboard.readText());
      return copied === "line-4";
    }).catch((error: unknown) => {
      throw new Error(`copied: ${copied}`, { cause: error });
    });
    await page.locator('[aria-label="Search in the terminal of ann"]').fill("nowhere");
    await pane(page, "ann").locator("[role=status]", { hasText: "not found" }).waitFor();
  });

  it("stand side by side where there is room, and are a page of their own on a phone", async () => {
    const { title } = await shells("ann", "bob", "cleo");
    const { page } = await setting.window({ width: 1500 });
    await openGroup(page, title);
    for (const id of ["ann", "bob", "cleo"]) await openTerminal(page, id);
    await until("two side by side", async () => (await page.locator("svc-terminal").count()) === 2);
    await page.locator("svc-terminals .tab", { hasText: "ann" }).click();
    await pane(page, "ann").waitFor();
    await page.locator('[aria-label="Maximize the terminals"]').click();
    await page.locator("svc-feed").waitFor({ state: "detached" });
    await page.locator('[aria-label="Restore the feed"]').click();
    await page.locator("svc-feed").waitFor();
    await page.reload();
    await pane(page, "ann").waitFor();

    const phone = await setting.window({ width: 390, height: 780, touch: true });
    await phone.page.locator(".bottom-tab", { hasText: "Groups" }).click();
    await openGroup(phone.page, title);
    await phone.page.locator(".bottom-tab", { hasText: "Actors" }).click();
    await openTerminal(phone.page, "bob");
    await write(phone.page, "bob", "echo on-the-$((3-3))-phone");
    await shows(phone.page, "bob", "on-the-0-phone");
    const key = (name: string) =>
      phone.page.locator(".terminal-keys").getByRole("button", { name, exact: true });
    await checkTargets(phone.page, "a terminal on a phone");
    assert.deepEqual(await violations(phone.page), []);
    await write(phone.page, "bob", "cat -v");
    await shows(phone.page, "bob", "cat -v");
    const bobsRows = pane(phone.page, "bob").locator(".xterm-rows > div");
    const typed = bobsRows.filter({ hasText: "^[^[[C" });
    await key("Esc").tap();
    await key("Right").tap();
    // The terminal echoes what was typed, and the program prints it.
    await typed.first().waitFor();
    await phone.page.keyboard.press("Enter");
    await until("the program has read it", async () => (await typed.count()) === 2);
    const control = (pressed: boolean) =>
      key("Ctrl, for the next key")
        .and(phone.page.locator(`[aria-pressed=${pressed}]`))
        .waitFor();
    await key("Ctrl, for the next key").tap();
    await control(true);
    await phone.page.keyboard.type("c");
    await shows(phone.page, "bob", "^C");
    await control(false);
    await write(phone.page, "bob", "echo after-$((6+6))");
    await shows(phone.page, "bob", "after-12");
    assert.equal(
      await page.locator(".terminal-keys").filter({ visible: true }).count(),
      0,
      "a mouse needs none",
    );
    const rows = () => pane(phone.page, "bob").locator(".xterm-rows > div").count();
    const before = await rows();
    await phone.page.locator('[aria-label="Maximize the terminals"]').click();
    await phone.page.locator(".bottom-bar").waitFor({ state: "detached" });
    await until("more rows", async () => (await rows()) > before);
    await write(phone.page, "bob", "echo large-$((5+5))");
    await shows(phone.page, "bob", "large-10");
    await phone.page.locator('[aria-label="Restore the page tabs"]').click();
    await phone.page.locator(".bottom-bar").waitFor();
    await atRest(phone.page);
    const wide = await phone.page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
    assert.equal(wide, false, "the page is wider than the phone");
  });

  it("have headings in order and nothing else that axe finds, beside the feed and instead of it", async () => {
    const { title } = await shells("ann");
    const { page } = await setting.window({ reducedMotion: true });
    await openGroup(page, title);
    await openTerminal(page, "ann");
    await pane(page, "ann").locator(".terminal-state", { hasText: "view only" }).waitFor();
    assert.deepEqual(await violations(page), []);
    await page.locator('[aria-label="Maximize the terminals"]').click();
    await page.locator("svc-feed").waitFor({ state: "detached" });
    assert.deepEqual(await violations(page), []);
  });

  it("go on being written in while they fill the page, and after another tab", async () => {
    const { title } = await shells("ann", "bob");
    const { page } = await setting.window({ width: 1150 });
    await openGroup(page, title);
    await openTerminal(page, "bob");
    await openTerminal(page, "ann");
    await write(page, "ann", "echo before-$((1+1))");
    await shows(page, "ann", "before-2");
    await page.locator('[aria-label="Maximize the terminals"]').click();
    await page.locator("svc-feed").waitFor({ state: "detached" });
    await pane(page, "ann").locator(".xterm-helper-textarea").focus();
    await page.keyboard.type("echo large-$((2+2))\n");
    await shows(page, "ann", "large-4");
    await page.locator('[aria-label="Restore the feed"]').click();
    await page.locator("svc-feed").waitFor();
    await pane(page, "ann").locator(".terminal-state", { hasText: "writing here" }).waitFor();
    await page.locator("svc-terminals .tab", { hasText: "bob" }).click();
    await pane(page, "ann").waitFor({ state: "detached" });
    await page.locator("svc-terminals .tab", { hasText: "ann" }).click();
    await pane(page, "ann").locator(".terminal-state", { hasText: "writing here" }).waitFor();
    await pane(page, "bob").waitFor({ state: "detached" });
  });

  it("say that keys go nowhere while they are only viewed, and offer to write", async () => {
    const { title } = await shells("ann");
    const { page } = await setting.window();
    await openGroup(page, title);
    await openTerminal(page, "ann");
    await pane(page, "ann").locator(".terminal-state", { hasText: "view only" }).waitFor();
    await pane(page, "ann").locator(".xterm-helper-textarea").focus();
    await page.keyboard.press("ArrowDown");
    assert.equal(await pane(page, "ann").locator(".terminal-note").count(), 0);
    await page.keyboard.type("ls");
    const note = pane(page, "ann").locator(".terminal-note", { hasText: "you are only viewing" });
    await note.locator("button", { hasText: "Write here" }).click();
    await note.waitFor({ state: "detached" });
    await pane(page, "ann").locator(".terminal-state", { hasText: "writing here" }).waitFor();
    await page.keyboard.type("echo now-$((4+4))\n");
    await shows(page, "ann", "now-8");
    // After the process has ended nothing looks as if it could be written in, and every line is
    // whole.
    await page.keyboard.type(
      "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do echo line-$i; done\nexit 5\n",
    );
    await pane(page, "ann").locator(".terminal-state", { hasText: "code 5" }).waitFor();
    const place = pane(page, "ann").locator(".terminal-place:not(.writing)");
    const cut = await measure(place, (element) => {
      const rows = [...element.querySelectorAll(".xterm-rows > div")].map((row) =>
        row.getBoundingClientRect(),
      );
      const around = element.getBoundingClientRect();
      return Math.max(around.top - rows[0]!.top, rows.at(-1)!.bottom - around.bottom);
    });
    assert.ok(cut <= 0.5, `${cut} pixels of a line are cut`);
    await page.keyboard.type("x");
    await pane(page, "ann").locator(".terminal-note", { hasText: "isn’t running" }).waitFor();
  });

  it("take emoji and dictated text, and are read aloud where that is switched on", async () => {
    const { title } = await shells("ann");
    const { page } = await setting.window();
    await openGroup(page, title);
    await openTerminal(page, "ann");
    await write(page, "ann", "echo ready-$((1+1))");
    await shows(page, "ann", "ready-2");
    // As an emoji picker or dictation does it: text without keys.
    const say = async (text: string) => {
      await page.keyboard.insertText(text);
      await page.keyboard.press("Enter");
    };
    await say("echo one-😀-of-$((5-4))");
    await shows(page, "ann", "one-😀-of-1");
    const tree = pane(page, "ann").locator(".xterm-accessibility");
    assert.equal(await tree.count(), 0);
    const toggle = async () => {
      await page.locator('[aria-label="Settings"]').first().click();
      await page.locator(".menu-item", { hasText: "Screen reader support" }).click();
    };
    await toggle();
    await tree.waitFor({ state: "attached" });
    await page.reload();
    await tree.waitFor({ state: "attached" });
    await toggle();
    await tree.waitFor({ state: "detached" });
  });

  it("are as wide as the window that is still there after a phone has left", async () => {
    const { title } = await shells("ann");
    const { page } = await setting.window({ width: 1500 });
    await openGroup(page, title);
    await openTerminal(page, "ann");
    const phone = await setting.window({ width: 390, height: 780, touch: true });
    await phone.page.locator(".bottom-tab", { hasText: "Groups" }).click();
    await openGroup(phone.page, title);
    await phone.page.locator(".bottom-tab", { hasText: "Actors" }).click();
    await openTerminal(phone.page, "ann");
    await write(phone.page, "ann", "stty size");
    const columns = async () => {
      const text = (await pane(page, "ann").locator(".xterm-rows").innerText()).match(/^\d+ (\d+)\s*$/gm);
      return Number(text?.at(-1)?.trim().split(" ")[1] ?? 0);
    };
    await until("it is as narrow as the phone", async () => {
      const now = await columns();
      return now > 0 && now < 60;
    });
    await phone.page.close();
    await pane(page, "ann").locator(".terminal-state", { hasText: "view only" }).waitFor();
    await write(page, "ann", "clear; stty size");
    await until("it is as wide as the inbox", async () => (await columns()) > 80);
  });

  it("are started, restarted and stopped from the Actor list, and say how a process ended", async () => {
    const { title, group_id: groupId } = await shells("ann");
    const { page } = await setting.window();
    await openGroup(page, title);
    await openTerminal(page, "ann");
    const choose = async (item: string) => {
      await page.locator("[data-actor=ann]").hover();
      await page.locator("[data-actor=ann] button[aria-haspopup=menu]").click();
      await page.locator(".menu-item", { hasText: item }).click();
    };
    await write(page, "ann", "exit 3");
    await pane(page, "ann").locator(".terminal-state", { hasText: "3" }).waitFor();
    // The row's own action, the menu's, and the terminal's.
    await page.locator("[data-actor=ann]").hover();
    await page.locator('[data-actor=ann] [aria-label="Start ann"]').click();
    await pane(page, "ann").locator(".terminal-state", { hasText: "writing here" }).waitFor();
    await page.locator('[data-actor=ann] [aria-label="Start ann"]').waitFor({ state: "detached" });
    await write(page, "ann", "exit 4");
    await pane(page, "ann").locator(".terminal-state", { hasText: "4" }).waitFor();
    await choose("Start");
    await pane(page, "ann").locator(".terminal-state", { hasText: "writing here" }).waitFor();
    await write(page, "ann", "echo second-$((2+2))");
    await shows(page, "ann", "second-4");
    await choose("Restart");
    await pane(page, "ann").locator(".xterm-rows", { hasNotText: "second-4" }).waitFor();
    await choose("Stop");
    await until("the Actor to stop", async () => {
      const { actor } = await setting.owner.result("actor_show", { group_id: groupId, actor_id: "ann" });
      return !actor.enabled && actor.presence.state === "stopped";
    });
    await page.locator("[data-actor=ann] .actor-state", { hasText: "stopped" }).waitFor();
    await page.locator(".system", { hasText: "you stopped ann" }).waitFor();
    await pane(page, "ann").locator("vscode-button", { hasText: "Start" }).click();
    await pane(page, "ann").locator(".terminal-state", { hasText: "writing here" }).waitFor();
    await write(page, "ann", "echo third-$((3+3))");
    await shows(page, "ann", "third-6");
  });

  it("go on in their conversation when they are restarted, unless the person wants a new one", async () => {
    const { title, group_id: groupId, actor_id: actorId, starts } = await startFakeClaude(setting, "talks");
    const { page } = await setting.window();
    await openGroup(page, title);
    const row = page.locator(`[data-actor=${actorId}]`);
    const isIn = (state: string) => row.locator(".actor-state", { hasText: state }).waitFor();
    const choose = async (item: RegExp) => {
      await row.hover();
      await row.locator("button[aria-haspopup=menu]").click();
      await page.locator(".menu-label", { hasText: item }).click();
    };
    const isContinued = async (count: number): Promise<boolean> => {
      await until(`start ${count}`, () => starts().length === count);
      return starts().at(-1)!.includes("--resume");
    };
    await isIn("idle");
    const { event } = await setting.owner.result("send", { group_id: groupId, text: "hello", to: [actorId] });
    await until("the prompt to be taken", async () => {
      const asked = { group_id: groupId, event_ids: [event.id] };
      const { statuses } = await setting.owner.result("ledger_statuses", asked);
      return statuses[event.id]?.delivery_status[actorId]?.state === "accepted";
    });
    await choose(/^Restart$/);
    assert.ok(await isContinued(2));
    await choose(/^Restart with a new conversation$/);
    assert.ok(!(await isContinued(3)));
  });

  it("keep the line that is written in view where there is less room than the writer has", async () => {
    const { title } = await shells("ann");
    const { page } = await setting.window({ height: 1000 });
    await openGroup(page, title);
    await openTerminal(page, "ann");
    await page.locator('[aria-label="Maximize the terminals"]').click();
    const { page: low } = await setting.window({ height: 600 });
    await openGroup(low, title);
    await openTerminal(low, "ann");
    await write(
      page,
      "ann",
      "i=0; while [ $i -lt 70 ]; do i=$((i+1)); echo line-$i; done; echo the-$((1+1))nd",
    );
    await shows(low, "ann", "the-2nd");
    const place = pane(low, "ann").locator(".terminal-place");
    const last = pane(low, "ann").locator(".xterm-rows > div", { hasText: "the-2nd" }).last();
    const isSeen = async () => {
      const [around, line] = [await place.boundingBox(), await last.boundingBox()];
      if (around === null || line === null) return false;
      return line.y >= around.y - 1 && line.y + line.height <= around.y + around.height + 1;
    };
    const hidden = await measure(place, (element) => element.scrollHeight - element.clientHeight);
    assert.ok(hidden > 0, "there is room for all of it");
    await until("the last line is in view", isSeen, 60_000);
    // Whoever looks elsewhere isn't taken back.
    await place.evaluate((element) => (element.scrollTop = 0));
    await until("it is out of view", async () => !(await isSeen()), 60_000);
    await write(page, "ann", "echo more-$((2+2))");
    await shows(low, "ann", "more-4");
    assert.equal(await place.evaluate((element) => element.scrollTop), 0);
  });

  it("lose nothing over a broken connection", async () => {
    const { title } = await shells("ann");
    const window = await setting.window({ expected: /WebSocket|ERR_|Failed to (?:fetch|load)/ });
    const { page } = window;
    await openGroup(page, title);
    await openTerminal(page, "ann");
    await write(page, "ann", "echo before-$((5+5))");
    await shows(page, "ann", "before-10");
    const { page: other } = await setting.window();
    await openGroup(other, title);
    await openTerminal(other, "ann");
    await window.context.setOffline(true);
    await page.evaluate(() => dispatchEvent(new Event("offline")));
    await write(other, "ann", "echo meanwhile-$((6+6))");
    await shows(other, "ann", "meanwhile-12");
    await window.context.setOffline(false);
    await shows(page, "ann", "meanwhile-12");
  });

  it("tick above an Actor while it uses a tool, and write nothing into the conversation", async () => {
    verifies(
      "TICK-001",
      "TICK-002",
      "TICK-003",
      "TICK-004",
      "TICK-013",
      "TICK-015",
      "TICK-017",
      "TICK-018",
      "TICK-019",
    );
    const { group_id: groupId, title } = await project("tools");
    const elsewhere = await project("elsewhere");
    const log = join(setting.daemon.home, "..", `${groupId}.log`);
    // Hooks are handed to a command of the runtime's own name.
    const claude = join(mkdtempSync(join(tmpdir(), "svc-agent-")), "claude");
    writeFileSync(claude, `#!/bin/sh\nexec '${process.execPath}' '${AGENT}' "$@"\n`, { mode: 0o755 });
    await setting.owner.result("actor_add", {
      group_id: groupId,
      actor_id: "ann",
      runtime: "claude",
      runner: "pty",
      command: [claude],
      env: { FAKE_AGENT: JSON.stringify({ log }) },
    });
    await setting.owner.result("actor_start", { group_id: groupId, actor_id: "ann" });
    const { page } = await setting.window();
    const asked: string[] = [];
    page.on("request", (request) => {
      // The other Group's may be asked for at any time.
      if (request.url().includes(`${groupId}/runtime-activity`))
        asked.push(request.url().replace(/.*runtime-activity/, ""));
    });
    await openGroup(page, title);
    await page.locator("[data-actor=ann]").waitFor();
    const chat = async () => {
      const { events } = await setting.owner.result("ledger_tail", { group_id: groupId, limit: 100 });
      return JSON.stringify(events.filter(({ kind }) => kind.startsWith("chat.")));
    };
    await setting.owner.result("send", { group_id: groupId, text: "use a TOOL", to: ["ann"] });
    const item = page.locator("[data-actor=ann] .ticker-item");
    await item.filter({ hasText: "Bash is running" }).waitFor();
    assert.equal(await item.count(), 1, "only the tool is told, no session and no turn");
    const said = await chat();
    await page.locator("[data-actor=ann] .actor-state", { hasText: "working" }).waitFor();

    // Leaving the Group ends its ticker; coming back restores it.
    await openGroup(page, elsewhere.title);
    await page.locator(".ticker-item").waitFor({ state: "detached" });
    asked.length = 0;
    await openGroup(page, title);
    await item.filter({ hasText: "Bash is running" }).waitFor();
    await until("both were asked for", () => asked.length >= 2);
    assert.deepEqual([...asked].sort(), ["/snapshot", "/stream?replay=true"]);

    writeFileSync(`${log}.tool`, "");
    await item.filter({ hasText: "Bash is done" }).waitFor();
    await page.locator("[data-actor=ann] .actor-state", { hasText: "idle" }).waitFor();
    await item.first().waitFor({ state: "detached" });
    assert.equal(await chat(), said, "activity changes nothing of the conversation");
    assert.equal(await page.locator("svc-feed svc-message").count(), 1);
  });
});
