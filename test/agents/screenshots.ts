/**
 * `npm run screenshots`, second part: the pictures of terminals and the ticker, with the real
 * Claude Code and the real Codex in them. What their models say is scripted; everything else took
 * place. Needs a built dist/, and npm for the first time.
 */

import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { takePicture } from "../browser/at-rest.ts";
import { launchBrowser, openGroup, Setting, type WindowOptions } from "../browser/setting.ts";
import { AgentsSetting } from "./setting.ts";

const IMAGES = join(import.meta.dirname, "../../docs/images");
/**
 * The agents show the folder they are in: it is of a person in general, where this machine has none
 * of that name.
 */
const PERSON = "/home/me";
const person = existsSync(PERSON) ? mkdtempSync(join(homedir(), "pictures-")) : PERSON;
const TITLE = "api-server";

class Crew extends AgentsSetting {
  readonly #unused = this.root;
  override readonly root = person;
  override readonly project = join(person, "src", TITLE);

  override close(): void {
    super.close();
    rmSync(this.#unused, { recursive: true });
  }
}

async function openTerminals(page: Page, ...actors: string[]): Promise<void> {
  for (const actor of actors) {
    await page.locator(`[data-actor=${actor}]`).hover();
    await page.locator(`[data-actor=${actor}] [aria-label="Terminal of ${actor}"]`).click();
    await page.locator(`section[aria-label="Terminal of ${actor}"] .xterm-rows > div`).first().waitFor();
  }
}

/** As large as the window has room for. */
async function write(page: Page, ...actors: string[]): Promise<void> {
  for (const actor of actors) {
    await page.locator(`section[aria-label="Terminal of ${actor}"] vscode-button`).click();
    await page
      .locator(`section[aria-label="Terminal of ${actor}"] .terminal-state`, { hasText: "writing here" })
      .waitFor();
  }
}

const agents = new URL("../../build/agents.mjs", import.meta.url).href;
const { installAgents } = (await import(agents)) as { installAgents: () => string };
process.env["SVC_AGENTS_BIN"] = installAgents();
mkdirSync(join(person, "src"), { recursive: true });
const browser = await launchBrowser({ whole: true });
const setting = await Setting.open(browser);
const crew = new Crew(() => setting.daemon);
try {
  await crew.open(TITLE);
  await crew.client.result("group_update", {
    group_id: crew.group_id,
    title: TITLE,
    topic: "The flaky login test",
  });
  await crew.addClaude("lead");
  await crew.addCodex("helper");
  await crew.addClaude("writer");
  writeFileSync(
    join(crew.project, "repeat.sh"),
    `until [ -e '${join(person, "end")}' ]; do sleep 0.2; done\n`,
  );
  crew.model.script("login test", () => [
    { say: "It compares timestamps across a second boundary. I let the helper try it under load meanwhile." },
  ]);
  crew.model.script("now and then", () => [
    {
      tool: "mcp__svc__svc_message_send",
      input: {
        text: "Please run the suite **under load** and tell me what else is flaky.",
        to: ["helper"],
        message_mode: "request_reply",
      },
    },
    {
      tool: "Bash",
      input: { command: "sh repeat.sh auth/login.test.ts 40", description: "Repeat the login test" },
    },
    { say: "Done." },
  ]);
  crew.model.script("under load", () => [
    { tool: "exec_command", input: { cmd: "sh repeat.sh --all --jobs 8" } },
    // A command that takes long goes to the background after ten seconds.
    { say: "Done.", hold: "the pictures" },
  ]);
  crew.model.script("changelog", () => [
    {
      tool: "Write",
      input: { file_path: join(crew.project, "CHANGELOG.md"), content: "- `login` takes a `Clock`\n" },
    },
    { say: "Done." },
  ]);
  for (const actor of ["lead", "helper", "writer"]) await crew.start(actor);
  const question =
    "Please find out why `auth/login.test.ts` fails now and then. It never does on my machine.";
  await crew.send(question, ["lead"], { message_mode: "request_reply" });
  await crew.send("Mention the new `Clock` in the changelog, please.", ["writer"]);
  await crew.becomes("lead", "working");
  await crew.becomes("helper", "working");
  await crew.becomes("writer", "waiting");

  const take = async (
    name: string,
    options: WindowOptions,
    act: (page: Page) => Promise<unknown>,
  ): Promise<void> => {
    const { page, context } = await setting.window({ ...options, reducedMotion: true });
    page.setDefaultTimeout(60_000);
    if ((options.width ?? 0) >= 700) await openGroup(page, TITLE);
    await page.locator(".group-title").waitFor();
    const element = await act(page);
    await takePicture(
      typeof element === "string" ? page.locator(element) : page,
      join(IMAGES, `${name}.png`),
    );
    await context.close();
    console.log(`${name}.png`);
  };
  await take("ticker", { theme: "light", width: 1440, height: 360 }, async (page) => {
    await page.locator(".ticker-item", { hasText: "Bash is running" }).first().waitFor();
    await page.locator(".ticker-item", { hasText: "is done" }).first().waitFor({ state: "detached" });
    return "aside.actors";
  });
  await take("terminals-dark", { theme: "dark", width: 1440, height: 940 }, async (page) => {
    await openTerminals(page, "lead", "helper");
    await page.locator(".drawer-edge").focus();
    for (let step = 0; step < 8; step += 1) await page.keyboard.press("ArrowUp");
    await write(page, "lead", "helper");
    await page.locator(".drawer-edge").blur();
    // The agents draw themselves anew in the new size.
    await page.waitForTimeout(4000);
  });
  await take("terminals-phone", { theme: "dark", width: 390, height: 800, touch: true }, async (page) => {
    await page.locator(".bottom-tab", { hasText: "Actors" }).click();
    await openTerminals(page, "lead");
    await page.locator('section[aria-label="Terminal of lead"] vscode-button').click();
    await page.waitForTimeout(1500);
  });
} finally {
  await setting.daemon.stop();
  await setting.close();
  await browser.close();
  crew.close();
}
