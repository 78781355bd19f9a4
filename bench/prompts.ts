/** How soon a real agent takes a message, compared with its own time from a paste to its hook. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { type IPty, spawn } from "@lydell/node-pty";
import { findAgents } from "../build/agents.mjs";
import { DaemonClient } from "../client/client.ts";
import { AgentsSetting } from "../test/agents/setting.ts";
import { startDaemon } from "./daemon.ts";
import { compare, interleave, type Measurement } from "./figure.ts";

const ACCEPTED = "prompt accepted by Claude Code";
const TEXT = "please look at this and say what you think of it";
const LOOK_AGAIN_MS = 2;
const PATIENCE_MS = 120_000;
/** The screen of an agent that begins to read, or has just answered, moves for a while. */
const SETTLING_MS = 2000;

const pause = (milliseconds: number) => new Promise<void>((resolve) => setTimeout(resolve, milliseconds));

/** Claude Code in a bare terminal. Its hooks tell this process. */
class ByHand {
  readonly #server = createServer((request, response) => {
    request.resume();
    response.end();
    const told = this.#waiting.get(request.url ?? "");
    this.#waiting.delete(request.url ?? "");
    told?.(performance.now());
  });
  readonly #waiting = new Map<string, (at: number) => void>();
  #pty: IPty | undefined;

  async start(program: string, directory: string, environment: Record<string, string>): Promise<void> {
    await once(this.#server.listen(0, "127.0.0.1"), "listening");
    const { port } = this.#server.address() as AddressInfo;
    const hooks = Object.fromEntries(
      ["UserPromptSubmit", "Stop"].map((event) => {
        const words = ["-sf", "--noproxy", "*", "--data-binary", "@-", "-o", "/dev/null"];
        return [
          event,
          [
            {
              hooks: [
                { type: "command", command: "curl", args: [...words, `http://127.0.0.1:${port}/${event}`] },
              ],
            },
          ],
        ];
      }),
    );
    const reads = new Promise<void>((resolve) => {
      this.#pty = spawn(program, ["--permission-mode", "manual", "--settings", JSON.stringify({ hooks })], {
        name: "xterm-256color",
        cols: 120,
        rows: 32,
        cwd: directory,
        env: { ...environment, TERM: "xterm-256color" },
      });
      this.#pty.onData((data) => {
        if (data.includes("\u001b[?2004h")) resolve();
      });
    });
    await withPatience(reads, "Claude Code to read");
    await pause(SETTLING_MS);
  }

  /** Milliseconds from the paste to its hook. */
  async prompt(): Promise<number> {
    const submitted = this.#told("/UserPromptSubmit");
    const stopped = this.#told("/Stop");
    const begin = performance.now();
    this.#pty!.write(`\u001b[200~${TEXT}\u001b[201~\r`);
    const took = (await withPatience(submitted, "its hook")) - begin;
    await withPatience(stopped, "the end of its turn");
    await pause(SETTLING_MS);
    return took;
  }

  close(): void {
    this.#pty?.kill("SIGKILL");
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #told(path: string): Promise<number> {
    return new Promise((resolve) => this.#waiting.set(path, resolve));
  }
}

async function withPatience<Value>(promise: Promise<Value>, what: string): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`waited in vain for ${what}`)), PATIENCE_MS);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

export const prompts: Measurement = {
  figures: [ACCEPTED],
  async run({ short }) {
    const bin = findAgents();
    if (bin === null) {
      console.error(
        `${ACCEPTED}: not run, since the agents aren't installed ('npm run test:agents' brings them)`,
      );
      return [];
    }
    process.env["SVC_AGENTS_BIN"] = bin;
    const daemon = await startDaemon();
    const agents = new AgentsSetting(() => ({
      pid: daemon.pid,
      home: daemon.home,
      client: () => new DaemonClient(daemon.home, null),
    }));
    const hand = new ByHand();
    try {
      await agents.open("prompts");
      await agents.addClaude("lead");
      await agents.start("lead");
      const environment = { PATH: process.env["PATH"] ?? "", ...agents.claudeEnvironment("hand") };
      await hand.start(join(bin, "claude"), agents.project, environment);
      const send = async (): Promise<number> => {
        const begin = performance.now();
        const id = await agents.send(TEXT, ["lead"]);
        while ((await agents.delivery(id, "lead")).state !== "accepted") await pause(LOOK_AGAIN_MS);
        const took = performance.now() - begin;
        await agents.becomes("lead", "idle");
        await pause(SETTLING_MS);
        return took;
      };
      const sides = {
        ours: () => withPatience(send(), "the prompt to be accepted"),
        theirs: () => hand.prompt(),
      };
      await interleave(1, sides);
      const times = await interleave(short ? 1 : 9, sides);
      return [
        compare({
          name: ACCEPTED,
          unit: "ms",
          value: times.ours,
          against: "from its paste to its hook, by hand",
          against_value: times.theirs,
          goal: 1.1,
          floor: 1.5,
          better: "lower",
        }),
      ];
    } finally {
      hand.close();
      await agents.client
        .result("actor_stop", { group_id: agents.group_id, actor_id: "lead" })
        .catch(() => {});
      agents.client.close();
      agents.close();
      await daemon.stop();
    }
  },
};
