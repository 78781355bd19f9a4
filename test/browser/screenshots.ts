/**
 * `npm run screenshots`: the pictures in docs/images, of the real daemon and a conversation that
 * really took place in it. Builds dist/ when it isn't there.
 */

import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { ensureBuilt } from "../../build/ensure-built.mjs";
import { takePicture } from "./at-rest.ts";
import { converse } from "./conversation.ts";
import type { Setting, WindowOptions } from "./setting.ts";

/**
 * The pictures show paths: they are of a person in general, where this machine has none of that
 * name.
 */
const PERSON = "/home/me";
const person = existsSync(PERSON) ? mkdtempSync(join(homedir(), "pictures-")) : PERSON;
const program = join(person, ".local/lib/svc");
const project = join(person, "src/api-server");
const modules = join(import.meta.dirname, "../../node_modules");
const dist = process.env["WITHSTAND_DIST"] ?? join(import.meta.dirname, "../../dist");
process.env["WITHSTAND_DIST"] = join(program, "dist");
ensureBuilt();
const { connectionPictures } = await import("./connection-pictures.ts");
const { instancePictures } = await import("./instance-pictures.ts");
const { launchBrowser, openGroup, Setting: Place } = await import("./setting.ts");

const IMAGES = join(import.meta.dirname, "../../docs/images");

interface Picture extends WindowOptions {
  name: string;
  /** What is done before the picture is taken. */
  act?: (page: Page) => Promise<void>;
}

async function choose(page: Page, owner: string, item: string): Promise<void> {
  await page.locator(`${owner} button[aria-haspopup=menu]`).first().click();
  await page.locator(".menu-item", { hasText: item }).click();
  await page.locator("dialog[open]").waitFor();
}

const PICTURES: readonly Picture[] = [
  { name: "workbench-dark", theme: "dark", width: 1360, height: 860 },
  { name: "workbench-light", theme: "light", width: 1360, height: 860 },
  { name: "workbench-high-contrast", theme: "hc-dark", width: 1360, height: 860 },
  { name: "workbench-high-contrast-light", theme: "hc-light", width: 1360, height: 860 },
  { name: "workbench-narrow", theme: "dark", width: 900, height: 760 },
  { name: "workbench-phone", theme: "light", width: 390, height: 800, touch: true },
  {
    name: "workbench-phone-actors",
    theme: "dark",
    width: 390,
    height: 800,
    touch: true,
    act: (page) => page.locator(".bottom-tab", { hasText: "Actors" }).click(),
  },
  { name: "workbench-wide", theme: "dark", width: 2560, height: 1300 },
  {
    name: "compose",
    theme: "light",
    width: 1360,
    height: 860,
    async act(page) {
      await page.locator(".compose-bar select").selectOption("request_reply");
      await page.locator(".compose-text").click();
      await page.keyboard.type("Take the release branch, and leave Session as it is. @re");
      await page.locator(".completion-item").first().waitFor();
    },
  },
  {
    name: "search",
    theme: "dark",
    width: 1360,
    height: 860,
    async act(page) {
      await page.locator(".feed-scroll").click();
      await page.keyboard.press("/");
      await page.locator(".search-field").fill("clock");
      await page.locator(".hit").first().waitFor();
    },
  },
  {
    name: "connect-an-agent",
    theme: "light",
    width: 1360,
    height: 860,
    async act(page) {
      await page.locator(".actor-row").first().hover();
      await choose(page, ".actor-row", "Connect an agent");
      await page.locator("dialog pre").waitFor();
    },
  },
  {
    name: "group-settings",
    theme: "dark",
    width: 1360,
    height: 860,
    act: (page) => choose(page, "svc-group-header", "Group settings"),
  },
  {
    name: "access-tokens",
    theme: "light",
    width: 1360,
    height: 860,
    act: (page) => choose(page, "svc-settings-menu", "Access tokens"),
  },
  {
    name: "health",
    theme: "dark",
    width: 1360,
    height: 860,
    async act(page) {
      await choose(page, "svc-settings-menu", "Health");
      await page.locator(".check").first().waitFor();
    },
  },
  {
    name: "edit-an-actor",
    theme: "dark",
    width: 1360,
    height: 860,
    async act(page) {
      await page.locator(".actor-row").nth(1).hover();
      await page.locator(".actor-row button[aria-haspopup=menu]").nth(1).click();
      await page.locator(".menu-item", { hasText: "Edit" }).click();
      await page.locator("svc-private-environment input").first().fill("GITHUB_TOKEN");
      await page.locator("svc-private-environment vscode-button", { hasText: "Set" }).click();
    },
  },
  {
    name: "keyboard",
    theme: "light",
    width: 1360,
    height: 860,
    act: (page) => choose(page, "svc-settings-menu", "Keyboard"),
  },
];

/** Names on the command line are the pictures to take; all without one. */
function isWanted(name: string): boolean {
  const wanted = process.argv.slice(2);
  return wanted.length === 0 || wanted.includes(name);
}

async function take(setting: Setting, picture: Picture): Promise<void> {
  const { page, context } = await setting.window({ ...picture, reducedMotion: true });
  await page.locator(".group-title").waitFor();
  if ((picture.width ?? 0) >= 700) await openGroup(page, "api-server");
  await page.locator("svc-message .state").last().waitFor();
  await page.waitForLoadState("networkidle");
  await picture.act?.(page);
  await save(picture.name, page);
  await context.close();
  for (const { group_id: groupId } of (await setting.owner.result("group_list", {})).groups)
    await setting.owner.result("draft_put", { group_id: groupId, draft: null });
  for (const token of (await setting.owner.result("access_token_list", {})).tokens) {
    if (token.kind === "administrator")
      await setting.owner.result("access_token_revoke", { token_id: token.id });
  }
}

async function save(name: string, page: Page): Promise<void> {
  await takePicture(page, join(IMAGES, `${name}.png`));
  console.log(`${name}.png`);
}

mkdirSync(IMAGES, { recursive: true });
mkdirSync(project, { recursive: true });
const browser = await launchBrowser({ whole: true });
try {
  cpSync(dist, join(program, "dist"), { recursive: true, filter: (path) => !path.endsWith("node_modules") });
  symlinkSync(modules, join(program, "node_modules"));
  const setting = await Place.open(browser, { home: join(person, ".svc") });
  try {
    const groupId = await converse(setting, project);
    await setting.owner.result("access_token_create", { name: "tablet in the kitchen", groups: [groupId] });
    for (const picture of PICTURES) if (isWanted(picture.name)) await take(setting, picture);
  } finally {
    await setting.close();
  }
  if (isWanted("connections")) await connectionPictures(browser, save);
  if (isWanted("instances")) await instancePictures(browser, save);
} finally {
  await browser.close();
  rmSync(person, { recursive: true, force: true });
}
