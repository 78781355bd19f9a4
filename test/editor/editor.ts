/** A real editor (code-server) with the packed extension, in a browser window. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import type { Browser, BrowserContext, Frame, Locator, Page } from "playwright-core";
import { installEditor } from "../../build/editor.mjs";
import { freePort } from "../../demo/free-port.ts";
import { PRODUCT_VERSION } from "../../shared/version.ts";
import { plainEnvironment } from "../support/daemon-process.ts";
import { until } from "../support/until.ts";

const ROOT = join(import.meta.dirname, "../..");
/** How long the editor may take for anything, on a machine that does other things as well. */
const PATIENCE_MS = 60_000;

/** Of the editor: a toast, or an entry of the list. */
const NOTIFICATION = ".notification-toast, .notifications-center.visible .monaco-list-row";

export interface EditorOptions {
  /** Settings of the user. */
  settings?: Readonly<Record<string, unknown>>;
  /** Folders that the person's shell puts in front of PATH, as the editor asks it. */
  path?: readonly string[];
  /** The VSIX without a daemon. */
  universal?: boolean;
  /** Ask whether the workspace is trusted. */
  trust?: boolean;
  /** The Home of svc; one of its own by default. */
  home?: string;
  /** VSIX files of other extensions. */
  extensions?: readonly string[];
}

export class Editor {
  readonly folder: string;
  /** The Home of svc. */
  readonly home: string;
  readonly #browser: Browser;
  readonly #options: EditorOptions;
  readonly #contexts: BrowserContext[] = [];
  #server: ChildProcess | null = null;
  #output = "";
  #port = 0;

  private constructor(browser: Browser, options: EditorOptions) {
    this.#browser = browser;
    this.#options = options;
    this.folder = mkdtempSync(join(tmpdir(), "svc-editor-"));
    this.home = options.home ?? join(this.folder, "home");
  }

  /** Installs the extension in an empty profile and starts the server. */
  static async open(browser: Browser, options: EditorOptions = {}): Promise<Editor> {
    const editor = new Editor(browser, options);
    editor.#install();
    await editor.#start();
    return editor;
  }

  /** A folder for a workspace, with files by name. */
  workspace(name: string, files: Readonly<Record<string, string>> = {}): string {
    const path = join(this.folder, "work", name);
    mkdirSync(path, { recursive: true });
    for (const [file, text] of Object.entries(files)) {
      mkdirSync(join(path, file, ".."), { recursive: true });
      writeFileSync(join(path, file), text);
    }
    return path;
  }

  /** A window on a folder or workspace file, in a browser profile of its own. */
  async window(
    path: string,
    options: { theme?: "light" | "dark"; anyCertificate?: true } = {},
  ): Promise<EditorWindow> {
    const context = await this.#browser.newContext({
      viewport: { width: 1280, height: 860 },
      colorScheme: options.theme ?? "dark",
      permissions: ["clipboard-read", "clipboard-write"],
      ignoreHTTPSErrors: options.anyCertificate === true,
    });
    this.#contexts.push(context);
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    const kind = path.endsWith(".code-workspace") ? "workspace" : "folder";
    await page.goto(`http://127.0.0.1:${this.#port}/?${kind}=${encodeURIComponent(path)}`);
    const window = new EditorWindow(page);
    await page.locator('.activitybar .action-item a[aria-label^="svc"]').first().waitFor();
    return window;
  }

  /** The end of what the server wrote, for failures. */
  get output(): string {
    return this.#output;
  }

  /** The process of the only window's extensions. Throws when there is none, or more than one. */
  extensionHost(): number {
    const group = this.#server?.pid;
    const found = readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
      .filter((pid) => groupOf(pid) === group && commandOf(pid).includes("--type=extensionHost"));
    if (found.length !== 1) throw new Error(`${found.length} extension hosts run`);
    return found[0]!;
  }

  async close(): Promise<void> {
    await Promise.all(this.#contexts.map((context) => context.close()));
    const server = this.#server;
    if (server?.pid !== undefined) {
      const ended = new Promise((resolve) => {
        server.once("exit", resolve);
      });
      process.kill(-server.pid, "SIGTERM");
      await ended;
    }
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  get #arguments(): string[] {
    return [
      "--user-data-dir",
      join(this.folder, "user"),
      "--extensions-dir",
      join(this.folder, "extensions"),
    ];
  }

  #environment(): NodeJS.ProcessEnv {
    const { bin } = installEditor();
    const environment = plainEnvironment();
    return {
      ...environment,
      HOME: join(this.folder, "person"),
      PATH: `${bin}${delimiter}${environment["PATH"] ?? ""}`,
      SVC_HOME: this.home,
      SVC_WEB_PORT: "0",
      SHELL: "/bin/bash",
    };
  }

  #install(): void {
    const { node, entry } = installEditor();
    for (const name of ["person", "user/User", "extensions"])
      mkdirSync(join(this.folder, name), { recursive: true });
    const settings = {
      "chat.disableAIFeatures": true,
      "workbench.startupEditor": "none",
      "workbench.enableExperiments": false,
      "extensions.autoUpdate": false,
      "extensions.ignoreRecommendations": true,
      "git.enabled": false,
      "window.autoDetectColorScheme": true,
      "terminal.integrated.gpuAcceleration": "off",
      ...this.#options.settings,
    };
    writeFileSync(join(this.folder, "user/User/settings.json"), JSON.stringify(settings));
    const path = [...(this.#options.path ?? []), process.env["PATH"] ?? ""].join(delimiter);
    writeFileSync(join(this.folder, "person/.bash_profile"), `export PATH='${path}'\n`);
    const suffix = this.#options.universal === true ? "" : `-${process.platform}-${process.arch}`;
    const vsix = join(ROOT, "dist/vsix", `svc-${PRODUCT_VERSION}${suffix}.vsix`);
    const installed = [vsix, ...(this.#options.extensions ?? [])];
    const { status, stdout, stderr } = spawnSync(
      node,
      [entry, ...this.#arguments, ...installed.flatMap((file) => ["--install-extension", file])],
      { env: this.#environment(), encoding: "utf8", timeout: 2 * PATIENCE_MS },
    );
    if (status !== 0) throw new Error(`The editor doesn't install ${vsix}:\n${stdout}${stderr}`);
  }

  async #start(): Promise<void> {
    const { node, entry } = installEditor();
    this.#port = await freePort();
    const server = spawn(
      node,
      [
        entry,
        "--bind-addr",
        `127.0.0.1:${this.#port}`,
        "--auth",
        "none",
        "--disable-telemetry",
        "--disable-update-check",
        "--disable-getting-started-override",
        "--reconnection-grace-time",
        "2",
        ...(this.#options.trust === true ? [] : ["--disable-workspace-trust"]),
        ...this.#arguments,
      ],
      { env: this.#environment(), stdio: ["ignore", "pipe", "pipe"], detached: true },
    );
    for (const stream of [server.stdout, server.stderr])
      stream.on("data", (chunk: Buffer) => {
        this.#output = (this.#output + chunk.toString("utf8")).slice(-8192);
      });
    this.#server = server;
    await until(
      "the editor's server answers",
      async () => {
        if (server.exitCode !== null) throw new Error(`the editor ended:\n${this.#output}`);
        try {
          return (await fetch(`http://127.0.0.1:${this.#port}/healthz`)).ok;
        } catch {
          return false;
        }
      },
      PATIENCE_MS,
    );
  }
}

/** The process group; null for a process that has ended. */
function groupOf(pid: number): number | null {
  try {
    // What follows the name, which may have any characters: state, parent, group.
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)!.split(" ");
    return Number(fields[2]);
  } catch {
    return null;
  }
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
  } catch {
    return "";
  }
}

export class EditorWindow {
  readonly page: Page;

  constructor(page: Page) {
    this.page = page;
  }

  /** Opens the container of svc in the side bar. */
  async openSideBar(): Promise<void> {
    const icon = 'a[aria-label^="svc"]';
    // A click on the one that is open would close it.
    const open = this.page.locator(`.activitybar .action-item.checked ${icon}`);
    // The icon, or the badge on it.
    const item = this.page.locator(".activitybar .action-item", { has: this.page.locator(icon) });
    if ((await open.count()) === 0) await item.click();
    await this.view("Groups").waitFor();
  }

  /** The document of a webview that shows this, wherever the editor has it. */
  documentWith(selector: string): Promise<Frame> {
    return until(`a webview with ${selector}`, async () => {
      for (const frame of this.page.frames()) {
        try {
          if (await frame.locator(selector).first().isVisible()) return frame;
        } catch {
          // It is going away.
        }
      }
      return null;
    });
  }

  /** A view of the side bar by its title. */
  view(title: string): Locator {
    return this.page.locator(".pane", { has: this.page.locator(`.pane-header[aria-label^="${title}"]`) });
  }

  /** A row of a tree by the beginning of its label. */
  row(view: string, label: string | RegExp): Locator {
    return this.view(view).locator(".monaco-list-row", { hasText: label }).first();
  }

  /** A button of a view that has nothing to show. */
  button(view: string, label: string): Locator {
    return this.view(view).locator("a.monaco-button", { hasText: label });
  }

  /**
   * Runs a command as a person does: by its title in the palette. One that can't run yet isn't
   * listed, and the list doesn't change while it is open.
   */
  async command(title: string): Promise<void> {
    await this.#quickly("F1", `>${title}`, title);
  }

  /** Follows a link to the extension, and lets it be opened. */
  async openUrl(link: string): Promise<void> {
    await this.command("Developer: Open URL");
    await this.enter("URL to open", link);
    await this.page.locator(".monaco-dialog-box").getByText("Open", { exact: true }).click();
  }

  /** Opens a file of the folder by its name. */
  async openFile(name: string): Promise<void> {
    await this.#quickly("Control+P", name, name);
  }

  /**
   * Opens the quick input by a key, types into it and chooses what then has this label. It may
   * close at once, where something else takes the focus.
   */
  async #quickly(key: string, text: string, label: string): Promise<void> {
    const input = this.page.locator(".quick-input-widget .quick-input-filter input");
    const first = this.page.locator(".quick-input-list .monaco-list-row", { hasText: label }).first();
    await until(`the quick input has ${label}`, async () => {
      try {
        await this.page.keyboard.press(key);
        await input.fill(text, { timeout: 5000 });
        await first.click({ timeout: 5000 });
        return true;
      } catch {
        await this.page.keyboard.press("Escape");
        return false;
      }
    });
  }

  /** Selects all text of the editor that has the focus, and waits until that is so. */
  async selectAll(): Promise<void> {
    await this.page.keyboard.press("Control+A");
    const selected = '.statusbar-item[id="status.editor.selection"]';
    await this.page.locator(selected, { hasText: "selected" }).waitFor();
  }

  /** Chooses an entry of the list that is open. */
  async choose(label: string, timeout?: number): Promise<void> {
    await this.page
      .locator(".quick-input-widget .quick-input-list .monaco-list-row", { hasText: label })
      .first()
      .click(timeout === undefined ? {} : { timeout });
  }

  /**
   * Runs a command that lets one choose, and chooses. Its list may close at once, where something
   * else takes the focus.
   */
  async commandWith(title: string, label: string): Promise<void> {
    await until(`${label} was chosen`, async () => {
      await this.command(title);
      try {
        await this.choose(label, 10_000);
        return true;
      } catch {
        await this.page.keyboard.press("Escape");
        return false;
      }
    });
  }

  /** Enters a text where one is asked for with this prompt. */
  async enter(prompt: string, text: string): Promise<void> {
    const widget = this.page.locator(".quick-input-widget", { hasText: prompt });
    await widget.waitFor();
    await widget.locator("input.input").first().fill(text);
    await this.page.keyboard.press("Enter");
    await widget.waitFor({ state: "hidden" });
  }

  /**
   * A notification, as a toast or in the list of them, which `listNotifications` opens: toasts go
   * after some seconds.
   */
  notification(text: string | RegExp): Locator {
    return this.notifications(text).first();
  }

  /** All of them with this text. */
  notifications(text: string | RegExp): Locator {
    return this.page.locator(NOTIFICATION, { hasText: text });
  }

  /** Opens the list of all notifications, where new ones arrive, too. */
  async listNotifications(): Promise<void> {
    const list = this.page.locator(".notifications-center.visible");
    await until("the notifications are listed", async () => {
      if ((await list.count()) > 0) return true;
      await this.command("Notifications: Show Notifications");
      return list.waitFor({ timeout: 5000 }).then(
        () => true,
        () => false,
      );
    });
  }

  /** Clears all notifications, those that are toasts and those that were. */
  async clearNotifications(): Promise<void> {
    await this.command("Notifications: Clear All Notifications");
    await this.page.locator(NOTIFICATION).first().waitFor({ state: "hidden" });
  }

  /** Runs an action of a row that is seen when the pointer is on it, wherever the row moves to. */
  async inline(view: string, label: string, action: string): Promise<void> {
    const row = this.row(view, label);
    await until(`${label} has ${action}`, async () => {
      try {
        await row.hover({ timeout: 5000 });
        await row.locator(`.actions a[aria-label^="${action}"]`).click({ timeout: 5000 });
        return true;
      } catch {
        return false;
      }
    });
  }
}
