/** A person at an Actor's terminal: reads its screen as it is drawn, and presses keys. */

import { TerminalClient } from "../runtimes/terminal-client.ts";
import { quietScreen } from "../support/quiet-screen.ts";
import { until } from "../support/until.ts";
import { type AgentsSetting, PATIENCE } from "./setting.ts";

/** A question that has just appeared takes no key for a moment; a busy machine takes one late. */
const PRESS_AGAIN_MS = 15_000;
/**
 * Of Claude, when a person comes back to a session: on a busy machine it may lose what the session
 * has drawn. Then it only draws what changes, below this line, until it is told to draw anew.
 */
const LOST = /Waiting for session to redraw/;
const DRAW_ANEW = "\u000c";
const isKey = (keys: string): boolean => keys < " " || keys.startsWith("\u007f");

export class Person {
  readonly #terminal: TerminalClient;
  #read = -1;
  #lines: string[] = [];
  /** What the last keys brought up. */
  #shown: RegExp | null = null;
  /** It was told to draw anew, and hasn't yet. */
  #lost = false;

  private constructor(terminal: TerminalClient) {
    this.#terminal = terminal;
  }

  /** Takes over the terminal. `token`: an access token of the instance. */
  static async at(agents: AgentsSetting, actor: string, token: string): Promise<Person> {
    const { web_origin: webOrigin } = await agents.client.result("daemon_status", {});
    const url = `${webOrigin!.replace("http", "ws")}/api/v1/groups/${agents.group_id}/actors/${actor}/term`;
    const terminal = await new TerminalClient(url, { authorization: `Bearer ${token}` }).opened();
    terminal.send({ type: "take" });
    await terminal.message("writer", ({ writer }) => writer === "you");
    return new Person(terminal);
  }

  leave(): void {
    this.#terminal.close();
  }

  /**
   * Types, once. A key is pressed again as long as the screen still shows what the keys before
   * brought up: one that was taken would do something else the second time.
   */
  async presses(keys: string, shown: RegExp): Promise<void> {
    let pressed: number | null = null;
    const press = () => {
      this.#terminal.send({ type: "input", data: keys });
      pressed = performance.now();
    };
    await until(
      `the screen shows ${shown.source}`,
      async () => {
        if (pressed === null) press();
        if (await this.#shows(shown)) return true;
        await this.#drawsAnew();
        const isIgnored = isKey(keys) && performance.now() - pressed! > PRESS_AGAIN_MS;
        if (isIgnored && (this.#shown === null || (await this.#shows(this.#shown)))) press();
        return false;
      },
      PATIENCE,
    ).catch(async (cause: unknown) => {
      throw new Error((await this.screen()).join("\n"), { cause });
    });
    this.#shown = shown;
  }

  /** The lines that can be seen now. */
  async screen(): Promise<string[]> {
    const { screens, output } = this.#terminal;
    const last = screens.at(-1);
    if (last === undefined) return [];
    const read = screens.length + output.length;
    if (read === this.#read) return this.#lines;
    const screen = quietScreen(last.columns, last.rows);
    await new Promise<void>((drawn) => screen.write(last.data + output, drawn));
    this.#lines = screen.lines().map((line) => line.replaceAll("\u00a0", " ").trimEnd());
    this.#read = read;
    screen.dispose();
    return this.#lines;
  }

  /** As long as the line stands alone, Claude still asks the session itself. */
  async #drawsAnew(): Promise<void> {
    const lines = (await this.screen()).filter((line) => line !== "");
    const wasLost = this.#lost;
    this.#lost = lines.length > 1 && lines.some((line) => LOST.test(line));
    if (this.#lost && !wasLost) this.#terminal.send({ type: "input", data: DRAW_ANEW });
  }

  async #shows(pattern: RegExp): Promise<boolean> {
    return (await this.screen()).some((line) => pattern.test(line));
  }
}
