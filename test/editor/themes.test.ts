/**
 * The toolkit's controls have the editor's colours: in each webview, in each theme, and when it
 * changes.
 */
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Frame } from "playwright-core";
import { takePicture } from "../browser/at-rest.ts";
import { violations } from "../browser/axe.ts";
import { launchBrowser } from "../browser/setting.ts";
import { DaemonProcess } from "../support/daemon-process.ts";
import { until } from "../support/until.ts";
import { Editor, type EditorWindow } from "./editor.ts";

/** Folder for pictures of each step, for people who want to see them. */
const PICTURES = process.env["SVC_PICTURES"];
/** By the labels that the editor lists, with what it calls their kinds. */
const THEMES = {
  "Light 2026": "vscode-light",
  "Dark Modern": "vscode-dark",
  "Dark High Contrast": "vscode-high-contrast",
  "Light High Contrast": "vscode-high-contrast-light",
  // Of the same kind as one before.
  "Solarized Dark": "vscode-dark",
} as const;
/** What the toolkit paints its controls with, and what the editor calls the same. */
const COLORS = {
  "--background": "--vscode-editor-background",
  "--foreground": "--vscode-foreground",
  "--focus-border": "--vscode-focusBorder",
  "--button-primary-background": "--vscode-button-background",
  "--button-primary-foreground": "--vscode-button-foreground",
  "--button-primary-hover-background": "--vscode-button-hoverBackground",
  "--button-secondary-background": "--vscode-button-secondaryBackground",
  "--button-secondary-foreground": "--vscode-button-secondaryForeground",
  "--checkbox-background": "--vscode-checkbox-background",
  "--checkbox-border": "--vscode-checkbox-border",
  "--checkbox-foreground": "--vscode-checkbox-foreground",
  "--input-background": "--vscode-input-background",
  "--input-foreground": "--vscode-input-foreground",
  "--input-placeholder-foreground": "--vscode-input-placeholderForeground",
  "--progress-background": "--vscode-progressBar-background",
} as const;
/** For what a theme has no colour for. */
const NONE = ["", "transparent"];
/** The toolkit's own for a hover, where the theme has none. */
const HOVER = "#0F4A85";

type Colors = Record<string, [toolkit: string, editor: string]>;

function colorsOf(view: Frame): Promise<Colors> {
  return view.locator("body").evaluate((body, names) => {
    const style = getComputedStyle(body);
    return Object.fromEntries(
      names.map((pair) => [pair[0], pair.map((name) => style.getPropertyValue(name).trim())]),
    );
  }, Object.entries(COLORS)) as Promise<Colors>;
}

/** The colours that aren't the editor's. */
function wrong(colors: Colors): Colors {
  const is = ([toolkit, editor]: readonly [string, string]) =>
    editor === "" ? [...NONE, HOVER].includes(toolkit) : toolkit === editor;
  return Object.fromEntries(Object.entries(colors).filter(([, pair]) => !is(pair)));
}

describe("the toolkit's controls in the editor's themes", function () {
  this.timeout(300_000);
  let browser: Browser;
  let daemon: DaemonProcess;
  let editor: Editor;
  let window: EditorWindow;

  const picture = async (name: string): Promise<void> => {
    if (PICTURES === undefined) return;
    mkdirSync(PICTURES, { recursive: true });
    await takePicture(window.page, join(PICTURES, `${name}.png`));
  };
  const choose = async (theme: string): Promise<void> => {
    await window.command("Preferences: Color Theme");
    await window.page.locator(".quick-input-widget .quick-input-filter input").fill(theme);
    await window.choose(theme);
    await window.page.locator(".quick-input-widget").waitFor({ state: "hidden" });
  };
  /** Looks at a webview in every theme, changed while it is open. */
  const look = async (name: string, view: Frame, prepare = async () => {}): Promise<void> => {
    let before = "";
    for (const [theme, kind] of Object.entries(THEMES)) {
      await choose(theme);
      await until(`the editor has ${theme}`, async () => {
        const is = await view.locator(`body[data-vscode-theme-kind="${kind}"]`).count();
        const shown = JSON.stringify(Object.values(await colorsOf(view)).map(([, its]) => its));
        if (is === 0 || shown === before) return false;
        before = shown;
        return true;
      });
      assert.deepEqual(wrong(await colorsOf(view)), {}, `${name} in ${theme}`);
      await prepare();
      await picture(`${name}-${theme.replaceAll(" ", "-")}`);
      assert.deepEqual(await violations(view), [], `${name} in ${theme}`);
    }
  };

  before(async () => {
    browser = await launchBrowser({ whole: true });
    editor = await Editor.open(browser, {
      universal: true,
      settings: { "window.autoDetectColorScheme": false, "svc.notify.request": false },
    });
    daemon = await DaemonProcess.started({ home: editor.home });
    const folder = editor.workspace("shop");
    await daemon.client().result("attach", { path: folder });
    window = await editor.window(folder);
  });
  after(async () => {
    await editor?.close();
    await browser?.close();
    await daemon?.dispose();
  });
  afterEach(async function () {
    if (this.currentTest?.state === "failed") await picture("failed");
  });

  it("has them in the Workbench, with a dialog open", async () => {
    await window.command("svc: Open the Workbench");
    const view = await window.documentWith("svc-workbench .group-title");
    // The editor's Escape may have closed it.
    await look("workbench", view, async () => {
      const dialog = view.locator("dialog[open]");
      if ((await dialog.count()) === 0)
        await view.locator("vscode-button", { hasText: "Add an Actor" }).first().click();
      await dialog.locator("vscode-button").first().waitFor();
    });
    await window.command("View: Close All Editors");
  });

  it("has them in a Group's connections", async () => {
    await window.command("svc: Show a Group's Connections");
    const view = await window.documentWith("svc-connections-dialog vscode-button");
    await look("direct", view);
    await window.command("View: Close All Editors");
  });

  it("has them in the account", async () => {
    await window.command("svc: Show the Account");
    const view = await window.documentWith("svc-account-dialog vscode-text-field");
    await look("account", view);
    await window.command("View: Close All Editors");
  });

  it("needs none in the ticker, which has no control of the toolkit", async () => {
    await window.openSideBar();
    const view = await window.documentWith("svc-ticker .ticker-empty");
    for (const name of ["button", "checkbox", "progress-ring", "text-field"])
      assert.equal(
        await view.evaluate((one) => customElements.get(`vscode-${one}`) === undefined, name),
        true,
      );
  });
});
