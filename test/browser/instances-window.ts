/** A window with other instances of the account: what a person does in it, and then sees. */
import type { FrameLocator, Locator, Page } from "playwright-core";
import { until } from "../support/until.ts";

const PATIENCE_MS = 60_000;

/** A one-time link, which names an address, under the instance's own name. */
export function underName(link: string, origin: string): string {
  return origin + link.slice(link.indexOf("/#"));
}

export class InstancesWindow {
  readonly page: Page;
  /** The page of the instance that is shown. */
  readonly inside: FrameLocator;

  constructor(page: Page) {
    this.page = page;
    this.inside = page.frameLocator("svc-remote iframe");
    page.setDefaultTimeout(PATIENCE_MS);
  }

  row(name: string): Locator {
    return this.page.locator("svc-instances .instance-row", { hasText: name });
  }

  groups(): Locator {
    return this.page.locator("svc-instances .remote-group-row");
  }

  /** Signs in by a link, and waits until these instances are listed. */
  async open(link: string, others: readonly string[]): Promise<void> {
    await this.page.goto(link);
    for (const name of others) await this.row(name).waitFor();
  }

  /** Chooses an instance, signs in to it inside the page, and chooses a Group there. */
  async signIn(name: string, link: string, title: string): Promise<void> {
    await this.row(name).click();
    await this.inside.locator("vscode-text-field input").fill(link);
    await this.inside.locator("vscode-button", { hasText: "Sign in" }).click();
    await this.groups().filter({ hasText: title }).click();
    await this.inside.locator(".group-title", { hasText: title }).waitFor();
  }

  /** Chooses an instance where the person is signed in already. */
  async show(name: string, title: string): Promise<void> {
    await this.row(name).click();
    await this.inside.locator(".group-title", { hasText: title }).waitFor();
  }

  /** Waits until of all other instances only this one has a page in the window. */
  async onlyPageOf(origin: string): Promise<void> {
    await until(`the page of ${origin} alone`, () => {
      const [, ...others] = this.page.frames();
      return others.length === 1 && others[0]!.url().startsWith(origin);
    });
  }

  async showSaved(name: string): Promise<void> {
    await this.page.getByRole("button", { name: `Show the saved Groups of ${name}` }).click();
  }

  /** The titles of all Groups in the list, this instance's own first. */
  async titles(): Promise<string[]> {
    const labels = ".group-row .row-label, .remote-group-row .row-label";
    return this.page.locator(labels).allInnerTexts();
  }

  /** Chooses one of this instance's own Groups. */
  async showOwn(title: string): Promise<void> {
    await this.page.locator(".group-row", { hasText: title }).click();
    await this.page.locator("svc-remote").waitFor({ state: "detached" });
    await this.page.locator(".group-title", { hasText: title }).waitFor();
  }

  /** Writes into the Group that is shown. */
  async write(where: "here" | "inside", text: string): Promise<void> {
    const composer = (where === "here" ? this.page : this.inside).locator("svc-composer textarea");
    await composer.fill(text);
    await composer.press("Control+Enter");
    await this.read(where, text.replaceAll("*", ""));
  }

  async read(where: "here" | "inside", text: string): Promise<void> {
    await (where === "here" ? this.page : this.inside).locator("svc-message", { hasText: text }).waitFor();
  }

  /** What it says in place of an instance that can't be shown. */
  async refusal(name: string): Promise<string> {
    await this.page.getByRole("button", { name: `Close ${name}` }).click();
    await this.row(name).click();
    return this.page.locator("svc-remote .remote-failed h2").innerText();
  }
}
