/**
 * A prompter over the real ledger and queue, time that the test owns, and a terminal that notes.
 */

import assert from "node:assert/strict";
import type {
  InputListener,
  InputStep,
  Launch,
  LaunchReports,
  PromptListener,
} from "../../daemon/activity/launches.ts";
import { entryOf } from "../../daemon/runtimes/catalogue.ts";
import type { Findings } from "../../daemon/runtimes/input/prompt-history.ts";
import { Prompter, type PrompterOptions } from "../../daemon/runtimes/input/prompter.ts";
import type { InputReceipt } from "../../platform/processes.ts";
import { RealRandom } from "../../platform/real-random.ts";
import { TestHome } from "../messaging/setting.ts";
import { until } from "../support/until.ts";
import { DrawnScreen } from "./drawn-screen.ts";

/** A terminal and the hooks behind it, as the prompter sees them. */
export class Runtime {
  doing: ReturnType<LaunchReports["doing"]> = "idle";
  reads = true;
  hasTools = true;
  typedAt = Number.NEGATIVE_INFINITY;
  hasDraft = false;
  readonly screen = new DrawnScreen().composer();
  /** Pastes that Enter followed. */
  readonly written: string[] = [];
  /** The last one that it doesn't follow yet. */
  pasted: string | null = null;
  /** So often Enter becomes an empty line behind the paste; each is counted. */
  newLines = 0;
  enters = 0;
  /** What its own history says when it has ended. */
  history: Findings = { taken: new Set(), untaken: new Set() };
  entered: () => void = () => {};
  /** What becomes of the screen with a paste. */
  shown: (paste: string) => void = () => this.screen.composer("[Pasted text #1 +4 lines]");
  /** What the prompter has thrown that it shouldn't. */
  readonly failures: unknown[] = [];
  readonly launch: Launch;
  readonly prompter: Prompter;
  #listener: PromptListener = () => {};
  #input: InputListener = () => {};

  constructor(
    home: TestHome,
    groupId: string,
    actorId: string,
    tokenDigest = "digest",
    entry: Partial<PrompterOptions["entry"]> = {},
  ) {
    const { generation } = home.registry.get(groupId).actor(actorId);
    const startedAt = "2026-01-01T00:00:00.000Z";
    const common = {
      group_id: groupId,
      actor_id: actorId,
      generation,
      runtime: "claude",
      has_hooks: true,
    } as const;
    this.launch = { ...common, token_digest: tokenDigest, pid: 7, started_at: startedAt };
    const terminal = Object.defineProperties(
      { write: (text: string) => this.#write(text), settled: async () => {}, unread: 0 },
      {
        reads: { get: () => this.reads },
        typedAt: { get: () => this.typedAt },
        hasDraft: { get: () => this.hasDraft },
        view: { get: () => this.screen },
      },
    ) as unknown as PrompterOptions["terminal"];
    this.prompter = new Prompter({
      chat: home.messaging.get(groupId),
      launch: this.launch,
      entry: { ...entryOf("claude"), ...entry },
      answerWith: "mcp",
      terminal,
      reports: {
        onPrompt: (listener) => {
          this.#listener = listener;
          return () => (this.#listener = () => {});
        },
        onInput: (listener) => {
          this.#input = listener;
          return () => (this.#input = () => {});
        },
        onSession: () => () => {},
        onPresence: () => () => {},
        typed: () => {},
        interrupted: () => {},
        isInWork: () => false,
        doing: () => this.doing,
      },
      findPrompts: async () => this.history,
      hasTools: () => this.hasTools,
      clock: home.clock,
      random: new RealRandom(),
      log: { debug() {}, info() {}, warn() {}, error() {} },
      changed: () => {},
      failed: (error) => void this.failures.push(error),
    });
    this.prompter.open();
  }

  #write(text: string): InputReceipt {
    const receipt = { state: "written" } as const;
    if (text === "\r") {
      this.enters += 1;
      this.entered();
      if (this.newLines > 0) {
        this.newLines -= 1;
        this.screen.composer(`[Pasted text #1 +4 lines]${"\n".repeat(this.enters)}`);
        return receipt;
      }
      this.written.push(this.pasted!);
      this.pasted = null;
      this.screen.composer();
      return receipt;
    }
    this.pasted = text;
    this.shown(text);
    return receipt;
  }

  /** Its UserPromptSubmit hook. */
  takes(prompt = this.written.at(-1)!): void {
    this.#listener(this.launch, prompt, false);
  }

  /** The same hook behind a turn that runs. */
  queues(prompt = this.written.at(-1)!): void {
    this.#listener(this.launch, prompt, true);
  }

  input(step: InputStep): void {
    this.#input(this.launch, step);
  }
}

/** An Actor that runs, and what is known of the messages to it. */
export class Prompted {
  readonly home: TestHome;
  readonly group_id: string;
  runtime: Runtime;

  private constructor(home: TestHome, groupId: string) {
    this.home = home;
    this.group_id = groupId;
    this.runtime = new Runtime(home, groupId, "ann");
  }

  static async open(): Promise<Prompted> {
    const home = await TestHome.open();
    const groupId = await home.group();
    await home.call("actor_add", { group_id: groupId, actor_id: "ann", runner: "pty", runtime: "claude" });
    return new Prompted(home, groupId);
  }

  async close(): Promise<void> {
    await this.runtime.prompter.close("process_exit");
    await this.home.remove();
    assert.deepEqual(this.runtime.failures, []);
  }

  add(actorId: string) {
    const { home, group_id: groupId } = this;
    return home.call("actor_add", { group_id: groupId, actor_id: actorId, runner: "pty", runtime: "claude" });
  }

  async send(text: string): Promise<string> {
    return (await this.home.send(this.group_id, text, { to: ["ann"] })).event.id;
  }

  wait(seconds: number): void {
    this.home.clock.advance(seconds * 1000);
  }

  async delivery(id: string): Promise<string> {
    const { state, reason } = (await this.home.status(this.group_id, id)).delivery_status["ann"]!;
    return [state, reason].filter((part) => part !== "").join(" ");
  }

  async reaches(id: string, expected: string): Promise<void> {
    let last = "";
    for (let turn = 0; turn < 2000 && last !== expected; turn += 1) {
      await new Promise((resolve) => (turn < 1000 ? setImmediate(resolve) : setTimeout(resolve, 10)));
      last = await this.delivery(id);
    }
    assert.equal(last, expected);
  }

  written(count: number): Promise<boolean> {
    return until(() => this.runtime.written.length === count);
  }
}
