/**
 * Loading and activating the extension, as the editor's own list of running extensions says, next
 * to an extension that does nothing.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createVSIX } from "@vscode/vsce";
import type { Browser } from "playwright-core";
import { launchBrowser } from "../../test/browser/setting.ts";
import { Editor } from "../../test/editor/editor.ts";
import { until } from "../../test/support/until.ts";
import { absolute, compare, type Measurement, median } from "../figure.ts";
import { scratchPath } from "../folder.ts";
import { pack } from "./packages.ts";

const TIME = "editor: load and activate, an empty profile";
const RATIO = "editor: load and activate, next to an empty extension";
const EMPTY = "bench.empty";

/** A VSIX whose `activate` does nothing, with the same events. */
async function emptyExtension(): Promise<string> {
  const cwd = scratchPath("empty");
  mkdirSync(cwd, { recursive: true });
  const [publisher, name] = EMPTY.split(".");
  const manifest = {
    name,
    publisher,
    displayName: EMPTY,
    version: "0.0.1",
    engines: { vscode: "^1.106.0" },
    extensionKind: ["workspace"],
    main: "./main.cjs",
    activationEvents: ["onStartupFinished"],
  };
  writeFileSync(join(cwd, "package.json"), JSON.stringify(manifest));
  writeFileSync(join(cwd, "README.md"), "Nothing.\n");
  writeFileSync(join(cwd, "main.cjs"), "exports.activate = () => {};\n");
  const packagePath = `${cwd}.vsix`;
  await createVSIX({
    cwd,
    packagePath,
    dependencies: false,
    skipLicense: true,
    allowMissingRepository: true,
  });
  return packagePath;
}

/** Milliseconds of one new window, by the name of the extension. */
async function startUp(editor: Editor, folder: string): Promise<{ ours: number; empty: number }> {
  const window = await editor.window(folder);
  // The list draws only the rows that are seen.
  await window.page.setViewportSize({ width: 1280, height: 2000 });
  await window.command("Developer: Show Running Extensions");
  const rows = window.page.locator(".runtime-extensions-editor .monaco-list-row");
  const timeOf = async (name: string): Promise<number | null> => {
    const said = await rows.filter({ hasText: name }).locator(".activation-time").allInnerTexts();
    const found = /(\d+)ms/.exec(said.join(" "))?.[1];
    return found === undefined ? null : Number(found);
  };
  try {
    return await until("both are activated", async () => {
      const [ours, empty] = [await timeOf("svc: agents that work together"), await timeOf(EMPTY)];
      return ours === null || empty === null ? null : { ours, empty };
    });
  } finally {
    await window.page.context().close();
  }
}

async function startUps(browser: Browser, rounds: number) {
  const editor = await Editor.open(browser, { universal: true, extensions: [await emptyExtension()] });
  try {
    const times = [];
    // The first window also fills the editor's caches.
    for (let round = 0; round <= rounds; round += 1)
      times.push(await startUp(editor, editor.workspace("empty")));
    return times.slice(1);
  } finally {
    await editor.close();
  }
}

export const activation: Measurement = {
  figures: [TIME, RATIO],
  needsBrowser: true,
  async run({ short }) {
    pack();
    const browser = await launchBrowser({ whole: true });
    try {
      const times = await startUps(browser, short ? 1 : 10);
      const value = median(times.map(({ ours }) => ours));
      // The editor counts whole milliseconds.
      const empty = Math.max(1, median(times.map(({ empty: theirs }) => theirs)));
      return [
        absolute({ name: TIME, unit: "ms", value, against: "ms", goal: 25, floor: 60, better: "lower" }),
        compare({
          name: RATIO,
          unit: "ms",
          value,
          against: "an extension that does nothing",
          against_value: empty,
          goal: 1.4,
          floor: 3.2,
          better: "lower",
        }),
      ];
    } finally {
      await browser.close();
    }
  },
};
