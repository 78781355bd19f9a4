/**
 * Real agents, really run: a person in a browser, Claude Code as the foreman, Codex as its helper.
 */

import assert from "node:assert/strict";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { launchBrowser, openGroup, Setting } from "../browser/setting.ts";
import { verifies } from "../requirements.ts";
import { TerminalClient } from "../runtimes/terminal-client.ts";
import { until } from "../support/until.ts";
import { AgentsSetting, PATIENCE } from "./setting.ts";
import { AllStreams } from "./stream.ts";

/**
 * Marked so that they are found wherever they got to. The output isn't in the input: the shell puts
 * it together.
 */
const SECRET = {
  prompt: "s3cret-prompt-417",
  input: "s3cret-input-528",
  output: "s3cret-output-639",
  typed: "s3cret-typed-741",
};
/** Keys that choose in the questions of both. */
const [YES, NO] = ["1", "3"];

/**
 * A question that has just appeared, or is drawn anew for another size, takes no key for a moment.
 */
const PRESS_AGAIN_MS = 4000;

async function pressedUntil(
  what: string,
  press: () => void | Promise<void>,
  holds: () => boolean | Promise<boolean>,
): Promise<void> {
  let pressed: number | null = null;
  await until(
    what,
    async () => {
      if (await holds()) return true;
      const now = performance.now();
      if (pressed === null || now - pressed > PRESS_AGAIN_MS) {
        pressed = now;
        await press();
      }
      return false;
    },
    PATIENCE,
  );
}

const OUTPUT_PARTS = ["s3cret-out", "put-639"];

describe("real agents", function () {
  this.timeout(4 * PATIENCE);
  let browser: Browser;
  let web: Setting;
  let agents: AgentsSetting;
  let page: Page;
  let token: string;
  let streams: AllStreams;
  const row = (actorId: string) => page.locator(`[data-actor=${actorId}]`);
  const shows = (actorId: string, state: string) =>
    row(actorId).locator(".actor-state", { hasText: state }).waitFor({ timeout: PATIENCE });
  const asked = (word: string) =>
    until("the model thinks", () => agents.model.asked.some((one) => one.word === word), PATIENCE);
  /** As its writer. */
  const terminalOf = async (actor: string) => {
    const origin = (await web.origin()).replace("http", "ws");
    const url = `${origin}/api/v1/groups/${agents.group_id}/actors/${actor}/term`;
    const terminal = await new TerminalClient(url, { authorization: `Bearer ${token}` }).opened();
    terminal.send({ type: "take" });
    await terminal.message("writer", ({ writer }) => writer === "you");
    return terminal;
  };
  const message = (text: string) => page.locator("svc-message", { hasText: text });

  before(async () => {
    browser = await launchBrowser();
    web = await Setting.open(browser);
    agents = new AgentsSetting(() => web.daemon);
    await agents.open("crew");
    await agents.addClaude("lead");
    await agents.addCodex("helper");
    page = (await web.window({ expected: /ERR_|Failed to (?:fetch|load)|WebSocket/ })).page;
    page.setDefaultTimeout(PATIENCE);
    await openGroup(page, "crew");
    ({ token } = await web.owner.result("access_token_create", { name: "stream" }));
    streams = await AllStreams.open(await web.origin(), agents.group_id, token);
  });
  after(async () => {
    streams?.close();
    await web?.daemon.stop();
    await web?.close();
    await browser?.close();
    agents?.close();
  });

  afterEach(async function () {
    // A test that failed before its end mustn't hold up the turns of the next.
    rmSync(agents.slowEnds, { force: true });
    if (this.currentTest?.state !== "failed" || web.daemon.hasEnded) return;
    for (const actor of ["lead", "helper", "careful"]) {
      if (!(await agents.has(actor))) continue;
      console.log(await agents.describe(actor));
      console.log(streams.activity.describe(actor));
    }
  });

  it("take a prompt that came before they were ready, once they read", async () => {
    const early = await agents.send("first things", ["lead", "helper"]);
    assert.equal((await agents.delivery(early, "lead")).reason, "not running");
    await agents.start("lead");
    await agents.start("helper");
    for (const actor of ["lead", "helper"]) {
      assert.match(await agents.reaches(early, actor, "accepted"), /hook/);
      await agents.becomes(actor, "idle");
    }
  });

  it("work for a person: a prompt, a tool, a request between agents, and its answer", async () => {
    verifies("HOOK-001", "HOOK-004", "TICK-003", "TICK-014", "WRK-002");
    const tool = agents.tool("look", OUTPUT_PARTS);
    agents.model.script("please-begin", () => [
      { tool: "Bash", input: { command: `${tool.command} ${SECRET.input}`, description: "look" } },
      {
        tool: "mcp__svc__svc_message_send",
        input: { text: "please-help", to: ["helper"], message_mode: "request_reply" },
      },
      { say: "Asked." },
    ]);
    agents.model.script("please-help", (id) => [
      { tool: "exec_command", input: { cmd: `${tool.command} ${SECRET.input}` } },
      {
        tool: "mcp__svc__svc_message_reply",
        input: { event_id: id, text: "here-is-help", message_mode: "send" },
      },
      { say: "Answered." },
    ]);
    agents.model.script("here-is-help", () => [
      {
        tool: "mcp__svc__svc_message_send",
        input: { text: "all-is-done", to: ["user"], message_mode: "send" },
      },
      { say: "Told." },
    ]);
    await page.locator(".compose-text").click();
    await page.keyboard.type("@foreman");
    await page.locator(".completion-item", { hasText: "foreman" }).first().waitFor();
    await page.keyboard.press("Enter");
    await page.keyboard.type(`please-begin ${SECRET.prompt}`);
    await page.keyboard.press("Control+Enter");
    await message("please-begin").locator(".state", { hasText: "accepted" }).waitFor();
    const ticker = row("lead").locator(".ticker-item");
    await ticker.filter({ hasText: "Bash is running" }).waitFor();
    await shows("lead", "working");
    await agents.says("lead", /uses Bash/);
    tool.end();
    await ticker.filter({ hasText: "Bash is done" }).waitFor();
    await message("please-help").locator(".state", { hasText: "replied" }).waitFor();
    await message("here-is-help").first().waitFor();
    await message("all-is-done").waitFor();
    for (const actor of ["lead", "helper"]) {
      await agents.becomes(actor, "idle");
      await shows(actor, "idle");
    }
    const said = (await agents.events())
      .filter((event) => event.kind === "chat.message")
      .map(({ by, data }) => [by, data.text.split(" ").find((word) => word.includes("-"))]);
    assert.deepEqual(said.slice(1), [
      ["user", "please-begin"],
      ["lead", "please-help"],
      ["helper", "here-is-help"],
      ["lead", "all-is-done"],
    ]);
  });

  it("queue a prompt while they work; it is told apart and believed later", async () => {
    for (const actor of ["lead", "helper"]) {
      agents.model.script(`long-${actor}`, () => [{ say: "Thought long.", hold: `long-${actor}` }]);
      agents.model.script(`meanwhile-${actor}`, () => [{ say: "That, too.", hold: `meanwhile-${actor}` }]);
      const first = await agents.send(`long-${actor}`, [actor]);
      assert.match(await agents.reaches(first, actor, "accepted"), /^hook/);
      await agents.becomes(actor, "working");
      const second = await agents.send(`meanwhile-${actor}`, [actor]);
      await until(
        "it is handed over",
        async () => (await agents.delivery(second, actor)).state !== "pending",
        PATIENCE,
      );
      agents.model.release(`long-${actor}`);
      await asked(`meanwhile-${actor}`);
      agents.model.release(`meanwhile-${actor}`);
      // Without a tool the turn of a queued prompt shows itself only by its end.
      assert.equal(await agents.reaches(second, actor, "accepted"), "hook_queued");
      await agents.becomes(actor, "idle");
      // Claude runs it as a turn that no hook announces, Codex in the turn that was open.
      assert.deepEqual(await agents.statesSince(first, actor), ["working", "idle"]);
    }
  });

  it("take a prompt while a turn still ends, and aren't called idle then", async () => {
    writeFileSync(agents.slowEnds, "");
    const first = await agents.send("ends slowly", ["lead"]);
    await agents.reaches(first, "lead", "accepted");
    await agents.becomes("lead", "idle");
    agents.model.script("before-the-end", () => [{ say: "Well.", hold: "before-the-end" }]);
    const second = await agents.send("before-the-end", ["lead"]);
    await agents.reaches(second, "lead", "queued");
    rmSync(agents.slowEnds);
    await asked("before-the-end");
    await agents.becomes("lead", "working");
    agents.model.release("before-the-end");
    await agents.reaches(second, "lead", "accepted");
    await agents.becomes("lead", "idle");
    assert.deepEqual(await agents.statesSince(second, "lead"), ["working", "idle"]);
  });

  it("take sixty lines in one prompt", async () => {
    const lines = Array.from({ length: 60 }, (_, at) => `line ${at + 1} of sixty`).join("\n");
    const id = await agents.send(lines, ["lead", "helper"]);
    for (const actor of ["lead", "helper"]) {
      assert.match(await agents.reaches(id, actor, "accepted"), /^hook/);
      await agents.becomes(actor, "idle");
    }
  });

  it("get no file by themselves that a message names", async () => {
    const beside = join(agents.root, "beside.txt");
    writeFileSync(beside, "told-from-beside");
    writeFileSync(join(agents.project, "note.txt"), "told-from-the-project");
    const id = await agents.send(`what do @note.txt and @${beside} say?`, ["lead", "helper"]);
    for (const actor of ["lead", "helper"]) {
      await agents.reaches(id, actor, "accepted");
      await agents.becomes(actor, "idle");
    }
    const heard = agents.model.heard.filter((request) => request.includes(id));
    assert.ok(heard.length >= 2, "both asked their model");
    for (const request of heard) assert.doesNotMatch(request, /told-from/);
  });

  it("wait for a permission: seen by the person, who gives it in the terminal", async () => {
    const file = join(agents.project, "written.txt");
    agents.model.script("write-a-file", () => [
      { tool: "Write", input: { file_path: file, content: "written by Claude\n" } },
    ]);
    await agents.send("write-a-file", ["lead"]);
    await agents.says("lead", /permission to use Write/);
    assert.equal((await agents.presence("lead")).attention, true);
    await shows("lead", "waiting for you");
    const later = await agents.send("not now", ["lead"]);
    await until(
      "it says why",
      async () => (await agents.delivery(later, "lead")).reason.includes("waiting for a person"),
      PATIENCE,
    );
    await row("lead").hover();
    await row("lead").locator('[aria-label="Terminal of lead"]').click();
    const pane = page.locator('section[aria-label="Terminal of lead"]');
    await pane.locator(".xterm-screen").waitFor();
    await pane.locator(".xterm-rows > div", { hasText: "written.txt" }).first().waitFor();
    await pane.locator("vscode-button").first().click();
    await pane.locator(".terminal-state", { hasText: "writing here" }).waitFor();
    await pressedUntil(
      "the file is written",
      async () => {
        await pane.locator(".xterm-helper-textarea").focus();
        await page.keyboard.press("Enter");
      },
      () => agents.reads(file) !== "",
    );
    await agents.reaches(later, "lead", "accepted");
    await agents.becomes("lead", "idle");
  });

  it("are answered in their terminals, Yes and No: then nobody is waited for", async () => {
    await agents.addCodex("careful", "on-request");
    await agents.start("careful");
    const say = async (actor: string, keys: string) => {
      const terminal = await terminalOf(actor);
      await terminal.shows("to cancel");
      // What was typed is there before the connection ends.
      await pressedUntil(
        `${actor} is answered`,
        () => terminal.send({ type: "input", data: keys }),
        async () => !/permission/.test((await agents.presence(actor)).reason),
      );
      terminal.close();
    };
    for (const actor of ["lead", "careful"]) {
      const permitted = agents.tool(`permitted-${actor}`);
      const asks = (name: string, command: string) =>
        actor === "lead"
          ? { tool: "Write", input: { file_path: join(agents.project, name), content: "no\n" } }
          : {
              tool: "exec_command",
              input: { cmd: command, sandbox_permissions: "require_escalated", justification: "to see" },
            };
      agents.model.script(`refused-${actor}`, () => [asks(`refused-${actor}`, `echo no > refused-${actor}`)]);
      await agents.send(`refused-${actor}`, [actor]);
      await agents.says(actor, /waits for permission/);
      const later = await agents.send("afterwards", [actor]);
      await say(actor, NO);
      await agents.reaches(later, actor, "accepted");
      await agents.becomes(actor, "idle");
      assert.equal(agents.reads(join(agents.project, `refused-${actor}`)), "");
      if (actor === "lead") continue;
      agents.model.script(`permitted-${actor}`, () => [asks("", permitted.command)]);
      await agents.send(`permitted-${actor}`, [actor]);
      await agents.says(actor, /waits for permission/);
      await say(actor, YES);
      await agents.says(actor, /uses Bash/);
      permitted.end();
      await agents.becomes(actor, "idle");
    }
    await agents.client.result("actor_stop", { group_id: agents.group_id, actor_id: "careful" });
  });

  it("are interrupted from the Actor list", async () => {
    for (const actor of ["lead", "helper"]) {
      agents.model.script(`endless-${actor}`, () => [{ say: "Never.", hold: `never-${actor}` }]);
      const id = await agents.send(`endless-${actor}`, [actor]);
      await agents.reaches(id, actor, "accepted");
      await agents.becomes(actor, "working");
      await asked(`endless-${actor}`);
      await row(actor).hover();
      await row(actor).locator("button[aria-haspopup=menu]").click();
      await page.locator(".menu-item", { hasText: "Interrupt" }).click();
      assert.match(await agents.becomes(actor, "idle"), /interrupted/);
      agents.model.release(`never-${actor}`);
    }
  });

  it("crash in a turn: the end is told, nothing stays open, and they start again", async () => {
    for (const actor of ["lead", "helper"]) {
      const name = actor === "lead" ? "Bash" : "exec_command";
      const tool = agents.tool(`crash-${actor}`);
      const input = actor === "lead" ? { command: tool.command, description: "wait" } : { cmd: tool.command };
      agents.model.script(`crash-${actor}`, () => [{ tool: name, input }]);
      const id = await agents.send(`crash-${actor}`, [actor]);
      await agents.reaches(id, actor, "accepted");
      await row(actor).locator(".ticker-item", { hasText: "is running" }).waitFor();
      process.kill(agents.pid(actor), "SIGKILL");
      assert.match(await agents.becomes(actor, "stopped"), /signal/);
      await row(actor).locator(".ticker-item", { hasText: "is running" }).waitFor({ state: "detached" });
      tool.end();
      assert.equal((await agents.delivery(id, actor)).state, "accepted");
      await agents.start(actor);
      const again = await agents.send("are you back", [actor]);
      assert.match(await agents.reaches(again, actor, "accepted"), /^hook/);
      await agents.becomes(actor, "idle");
    }
  });

  it("leave nothing private behind: neither in the Home nor in what anybody is told", async () => {
    verifies("ACT-019", "ACT-020", "ACT-021", "ACT-036");
    for (const actor of ["lead", "helper"]) {
      agents.model.script(SECRET.typed, () => [{ say: `Heard ${SECRET.output}.` }]);
      const terminal = await terminalOf(actor);
      const before = agents.model.asked.length;
      terminal.send({ type: "input", data: `\u001b[200~${SECRET.typed}\u001b[201~\r` });
      await until("its model hears it", () =>
        agents.model.asked.slice(before).some(({ word }) => word === SECRET.typed),
      );
      await agents.becomes(actor, "idle");
      terminal.close();
    }
    const found = (secret: string) => filesWith(web.daemon.home, secret);
    assert.deepEqual(found(SECRET.input), []);
    assert.deepEqual(found(SECRET.output), []);
    const ledger = join(web.daemon.home, "groups", agents.group_id, "ledger");
    assert.ok(found(SECRET.prompt).length > 0, "the message itself is somewhere");
    assert.deepEqual(
      found(SECRET.prompt).filter((file) => !file.startsWith(ledger)),
      [],
    );
    assert.deepEqual(found(SECRET.typed), []);
    assert.match(streams.activity.text, /"tool_name":"Bash"/);
    for (const secret of Object.values(SECRET)) {
      assert.ok(!web.daemon.output.includes(secret), "what the daemon printed");
    }
    for (const [name, lines] of streams.lines()) {
      assert.ok(lines.length > 10, `${name} told nothing`);
      for (const line of lines) {
        // The person's own message is for the Group; what an agent is told of it is nobody's.
        const isMessage =
          name !== "activity" && /"kind":"chat.message"|"type":"group"|^data: \{"group/.test(line);
        for (const [what, secret] of Object.entries(SECRET)) {
          assert.ok(
            !line.includes(secret) || (isMessage && what === "prompt"),
            `${what} in ${name}: ${line}`,
          );
        }
      }
    }
  });

  it("end with a daemon that is killed in a turn; the next one says so and prompts them anew", async () => {
    verifies("WRK-004");
    agents.model.script("never-ending", () => [{ say: "Never.", hold: "killed" }]);
    const id = await agents.send("never-ending", ["lead", "helper"]);
    for (const actor of ["lead", "helper"]) {
      await agents.reaches(id, actor, "accepted");
      await agents.becomes(actor, "working");
    }
    const pids = ["lead", "helper"].map((actor) => agents.pid(actor));
    // Held still, so that they prove nothing before the daemon ends.
    for (const pid of pids) process.kill(pid, "SIGSTOP");
    const unproven = await agents.send("queued behind it", ["lead", "helper"]);
    for (const actor of ["lead", "helper"]) await agents.reaches(unproven, actor, "claimed");
    await web.daemon.kill();
    agents.model.release("killed");
    await web.daemon.start();
    for (const actor of ["lead", "helper"]) {
      assert.equal((await agents.presence(actor)).state, "stopped");
      await agents.reaches(unproven, actor, "pending");
    }
    await until("their processes are gone", () => pids.every((pid) => !lives(pid)), PATIENCE);
    for (const actor of ["lead", "helper"]) {
      await agents.start(actor);
      assert.notEqual((await agents.presence(actor)).state, "working");
      const after = await agents.send("after the restart", [actor]);
      for (const id of [unproven, after]) assert.match(await agents.reaches(id, actor, "accepted"), /^hook/);
    }
  });
});

function lives(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

function filesWith(folder: string, text: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => readFileSync(file).includes(text));
}
