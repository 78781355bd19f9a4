/**
 * A real browser on the real daemon: one Chromium per file of tests, a fresh profile per window,
 * and nothing wrong in any of them.
 */
import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import type { DaemonClient } from "../../client/client.ts";
import { DaemonProcess } from "../support/daemon-process.ts";

const CHROMIUM = "/usr/bin/chromium";
/** The same engine without a desktop, which takes half the processor time. */
const SHELL = "/usr/bin/chromium-headless-shell";
const ARGUMENTS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
/** How long a window may take for anything, on a machine that does other things as well. */
const PATIENCE_MS = 60_000;
/** What is shown of each window, and of the daemon's output, when a test failed. */
const TELL_CHARACTERS = 2000;
const TELL_MS = 5000;

export interface BrowserOptions {
  /** Shows its window. */
  headed?: boolean;
  /** All of Chromium, for what its shell doesn't have and where its speed counts. */
  whole?: boolean;
  /** Certificates to trust, by the hashes of their keys. */
  trusted?: readonly string[];
  /** A port of this machine that it takes for one of the public network. */
  publicPort?: string;
  /** The caller closes it in order on signals such as Ctrl-C; by default it ends the process. */
  endsInOrder?: boolean;
}

export function launchBrowser(options: BrowserOptions = {}): Promise<Browser> {
  const { headed = false, whole = headed, trusted = [], publicPort, endsInOrder = false } = options;
  const trust = trusted.length > 0 ? [`--ignore-certificate-errors-spki-list=${trusted.join(",")}`] : [];
  const spaces =
    publicPort === undefined ? [] : [`--ip-address-space-overrides=127.0.0.1:${publicPort}=public`];
  return chromium.launch({
    executablePath: whole ? CHROMIUM : SHELL,
    args: [...ARGUMENTS, ...trust, ...spaces],
    headless: !headed,
    handleSIGINT: !endsInOrder,
    handleSIGTERM: !endsInOrder,
    handleSIGHUP: !endsInOrder,
    timeout: PATIENCE_MS,
  });
}

/** A browser with the settings of a profile in a folder. */
export function launchProfile(folder: string): Promise<BrowserContext> {
  return chromium.launchPersistentContext(folder, {
    executablePath: CHROMIUM,
    args: ARGUMENTS,
    timeout: PATIENCE_MS,
    ignoreHTTPSErrors: true,
  });
}

export interface WindowOptions {
  width?: number;
  height?: number;
  theme?: "light" | "dark" | "hc-light" | "hc-dark";
  /** Where the window goes; a fresh login link by default. */
  path?: string;
  reducedMotion?: boolean;
  touch?: boolean;
  /** Done before the page loads. */
  prepare?: (page: Page) => Promise<unknown>;
  /** Text that console errors may contain: what the test itself provokes. */
  expected?: RegExp;
}

/**
 * A window and what went wrong in it: script errors, console errors, violations of the
 * Content-Security-Policy.
 */
export interface Window {
  page: Page;
  context: BrowserContext;
  problems: string[];
}

export class Setting {
  readonly daemon: DaemonProcess;
  readonly browser: Browser;
  readonly #windows: Window[] = [];

  #owner: { pid: number; client: DaemonClient } | null = null;

  private constructor(daemon: DaemonProcess, browser: Browser) {
    this.daemon = daemon;
    this.browser = browser;
  }

  /**
   * A daemon in a Home of its own; `port` where it must come back under the same address, `home`
   * where its name is seen.
   */
  static async open(
    browser: Browser,
    options: { port?: number; home?: string; environment?: Readonly<Record<string, string>> } = {},
  ): Promise<Setting> {
    const daemon = await DaemonProcess.started({
      environment: { ...options.environment, SVC_WEB_PORT: String(options.port ?? 0) },
      ...(options.home === undefined ? {} : { home: options.home }),
    });
    return new Setting(daemon, browser);
  }

  /** One client for each life of the daemon: it keeps its connection. */
  get owner(): DaemonClient {
    const { pid } = this.daemon;
    if (this.#owner?.pid !== pid) this.#owner = { pid, client: this.daemon.client() };
    return this.#owner.client;
  }

  async origin(): Promise<string> {
    const { web_origin: webOrigin } = await this.owner.result("daemon_status", {});
    assert.ok(webOrigin, "the Web listener is off");
    return webOrigin;
  }

  async loginLink(): Promise<string> {
    return (await this.owner.result("login_link_create", {})).url;
  }

  /** A Group with Actors, the first of them its foreman; answers their clients by id. */
  async group(title: string, actors: readonly string[] = ["lead"]) {
    const group = await this.owner.result("group_create", { title });
    const clients: Record<string, ReturnType<DaemonProcess["client"]>> = {};
    for (const actorId of actors) {
      const { token_file: tokenFile } = await this.owner.result("actor_add", {
        group_id: group.group_id,
        actor_id: actorId,
        runtime: "claude",
      });
      clients[actorId] = this.daemon.actorClient(tokenFile);
    }
    return { groupId: group.group_id, actors: clients };
  }

  /** A browser window of its own, signed in unless `path` says otherwise. */
  async window(options: WindowOptions = {}): Promise<Window> {
    const theme = options.theme ?? "dark";
    const context = await this.browser.newContext({
      viewport: { width: options.width ?? 1280, height: options.height ?? 800 },
      colorScheme: theme.endsWith("dark") ? "dark" : "light",
      contrast: theme.startsWith("hc") ? "more" : "no-preference",
      reducedMotion: options.reducedMotion === true ? "reduce" : "no-preference",
      hasTouch: options.touch === true,
      acceptDownloads: true,
    });
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    const problems: string[] = [];
    const expected = options.expected ?? /^$/;
    // An ordinary answer where two keepers of one draft follow closely; browsers print every 4xx.
    const overtaken = /status of 409 \(Conflict\) \S+\/draft$/;
    const note = (text: string) => {
      if (!expected.test(text) && !overtaken.test(text)) problems.push(text);
    };
    page.on("pageerror", (error) => note(`script error: ${error.message}`));
    page.on("console", (message) => {
      if (message.type() === "error") note(`console: ${message.text()} ${message.location().url}`);
    });
    await options.prepare?.(page);
    await page.goto(options.path ?? (await this.loginLink()));
    const window = { page, context, problems };
    this.#windows.push(window);
    return window;
  }

  /** Nothing went wrong in any window since the last time. */
  check(): void {
    const problems = this.#windows.flatMap((window) => window.problems.splice(0));
    assert.deepEqual(problems, []);
  }

  /** What the windows show and the daemon wrote, for a test that failed. */
  async tell(): Promise<void> {
    for (const page of this.#windows.flatMap(({ context }) => context.pages())) {
      const text = await page.innerText("body", { timeout: TELL_MS }).catch(String);
      console.log(`${page.url()} shows:\n${text.slice(0, TELL_CHARACTERS)}`);
    }
    console.log(`The daemon wrote:\n${this.daemon.output.slice(-TELL_CHARACTERS)}`);
  }

  async close(): Promise<void> {
    await Promise.all(this.#windows.map((window) => window.context.close()));
    await this.daemon.dispose();
    // Folders of projects that tests make beside the Home.
    for (const beside of ["project", "projects"])
      rmSync(`${this.daemon.home}-${beside}`, { recursive: true, force: true });
  }
}

/** Opens a Group in a window by its title. */
export async function openGroup(page: Page, title: string): Promise<void> {
  await page.locator(".group-row", { hasText: title }).click();
  await page.locator(".group-title", { hasText: title }).waitFor();
}

/**
 * A browser and a daemon for the tests of a describe. Nothing may have gone wrong in any window at
 * the end of each.
 */
export function useSetting(
  take: (setting: Setting) => void,
  { port, ...options }: { port?: () => Promise<number>; whole?: boolean } = {},
): void {
  let browser: Browser | undefined;
  let setting: Setting | undefined;
  before(async () => {
    browser = await launchBrowser(options);
    setting = await Setting.open(browser, port === undefined ? {} : { port: await port() });
    take(setting);
  });
  after(async () => {
    await setting?.close();
    await browser?.close();
  });
  afterEach(async function () {
    if (this.currentTest?.state === "failed") await setting?.tell();
    setting?.check();
  });
}
