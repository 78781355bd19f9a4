/**
 * A message waits while something else than an empty input line is on a real agent's screen, says
 * why, and goes in once a person has dealt with it. Each scenario has an Actor in a Group of its
 * own; three of them run at a time, each test waits for its own.
 */

import assert from "node:assert/strict";
import { readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { DaemonProcess } from "../support/daemon-process.ts";
import { ofKind } from "../support/events.ts";
import { until } from "../support/until.ts";
import { Person } from "./person.ts";
import { AgentsSetting, agentsBin, PATIENCE } from "./setting.ts";

const AT_A_TIME = 3;
const [ENTER, ESCAPE, LEFT, UP, DOWN] = ["\r", "\u001b", "\u001b[D", "\u001b[A", "\u001b[B"];
const [DELETE, CLEAR, CONTROL_O, CONTROL_R] = ["\u007f", "\u0015", "\u000f", "\u0012"];

/** Keys, and a line of the screen that shows that they were taken. */
type Press = readonly [keys: string, shown: RegExp];

interface Case {
  /** Brings it up; by itself without. */
  opens: readonly Press[];
  /** Why the message waits, and what the Actor says it waits for. */
  words: RegExp;
  /** What a person does about it. */
  closes: readonly Press[];
}

interface Scenario {
  name: string;
  /** Adds the Actor `agent`. */
  add: (agents: AgentsSetting) => Promise<void>;
  /** The message that starts it waits for the first case; without one, it goes in at once. */
  first: Case | null;
  cases: readonly Case[];
}

const CLAUDE_EMPTY = /^❯\s*(?:Try "|$)/;
const CODEX_EMPTY = /^› Ask Codex/;

function claude(
  name: string,
  args: readonly string[],
  more: Partial<Scenario>,
  change: Change = {},
): Scenario {
  const add = async (agents: AgentsSetting) => {
    const env = agents.claudeEnvironment("agent");
    const file = join(env["CLAUDE_CONFIG_DIR"]!, ".claude.json");
    const known = JSON.parse(readFileSync(file, "utf8")) as object;
    writeFileSync(file, JSON.stringify({ ...known, ...change.known }));
    for (const [path, text] of Object.entries(change.project ?? {})) {
      writeFileSync(join(agents.project, path), text);
    }
    const command = ["claude", ...args];
    const PATH = `${agentsBin(change.set)}${delimiter}${env["PATH"]!}`;
    await agents.add({ actor_id: "agent", runtime: "claude", command, env: { ...env, PATH, ...change.env } });
  };
  return { name: `Claude Code: ${name}`, add, first: null, cases: [], ...more };
}

function codex(name: string, more: Partial<Scenario>, change: Change = {}): Scenario {
  const add = async (agents: AgentsSetting) => {
    const env = agents.codexEnvironment("agent", "on-request");
    const config = join(env["CODEX_HOME"]!, "config.toml");
    const text = readFileSync(config, "utf8");
    writeFileSync(config, change.config?.(text, agents) ?? text);
    for (const [path, content] of Object.entries(change.home ?? {})) {
      writeFileSync(join(env["CODEX_HOME"]!, path), content);
    }
    const command = ["codex", "--no-daemon", "--disable", "plugins"];
    await agents.add({ actor_id: "agent", runtime: "codex", command, env: { ...env, ...change.env } });
  };
  return { name: `Codex: ${name}`, add, first: null, cases: [], ...more };
}

/** What differs from an agent that its person has used before. */
interface Change {
  set?: "newest";
  known?: object;
  project?: Readonly<Record<string, string>>;
  home?: Readonly<Record<string, string>>;
  env?: Readonly<Record<string, string>>;
  config?: (text: string, agents: AgentsSetting) => string;
}

const MANUAL = ["--permission-mode", "manual"];
const half = (keys: string, told: string, empty: RegExp): Case => ({
  opens: [[keys, new RegExp(`^[❯›] ${keys.trim()}`)]],
  words: new RegExp(`unsent text: "${told}…"`),
  closes: [[CLEAR, empty]],
});
const view = (keys: readonly Press[], words: RegExp, close = ESCAPE): Case => ({
  opens: keys,
  words,
  closes: [[close, CLAUDE_EMPTY]],
});
const command = (text: string, shown: RegExp, words: RegExp): Case =>
  view(
    [
      [text, new RegExp(`^❯ ${text}`)],
      [ENTER, shown],
    ],
    words,
  ); // prettier-ignore
const shell = (empty: RegExp): Case => ({
  opens: [["!", /^!/]],
  words: /its shell mode is on/,
  closes: [[DELETE, empty]],
});
const permission = (shown: RegExp, words: RegExp, closes: readonly Press[]): Case => ({
  opens: [
    ["please-touch", /please-touch/],
    [ENTER, shown],
  ],
  words,
  closes,
});

const TRUST: Case = {
  opens: [],
  words: /asks whether to trust this folder/,
  closes: [
    [DOWN, /❯ Yes, I trust/],
    [ENTER, CLAUDE_EMPTY],
  ],
};

const SCENARIOS: readonly Scenario[] = [
  // Codex's newest is the pinned one (build/agents.mjs).
  claude(
    "its newest version",
    MANUAL,
    {
      first: TRUST,
      cases: [
        half("rm -rf half", "rm", CLAUDE_EMPTY),
        shell(CLAUDE_EMPTY),
        command("/model", /Select model/, /its model menu is open/),
        view([[LEFT, /describe a task for a new session/]], /its agents view is open/),
      ],
    },
    { set: "newest", known: { projects: {} } },
  ),
  claude(
    "a folder that it doesn't know",
    MANUAL,
    {
      first: TRUST,
    },
    { known: { projects: {} } },
  ),
  claude(
    "an API key that it doesn't know",
    MANUAL,
    {
      first: {
        opens: [],
        words: /asks whether to use an API key/,
        closes: [
          [UP, /❯ Yes/],
          [ENTER, CLAUDE_EMPTY],
        ],
      },
    },
    { known: { customApiKeyResponses: { approved: [], rejected: [] } } },
  ),
  claude(
    "an MCP server of the project",
    MANUAL,
    {
      first: {
        opens: [],
        words: /asks about an MCP server of this project/,
        closes: [[ENTER, CLAUDE_EMPTY]],
      },
    },
    { project: { ".mcp.json": '{ "mcpServers": { "other": { "command": "true", "args": [] } } }' } },
  ),
  claude(
    "its warning of a mode without permissions",
    ["--dangerously-skip-permissions"],
    {
      first: {
        opens: [],
        words: /asks whether to run without permissions/,
        closes: [
          [DOWN, /❯ Yes, I accept/],
          [ENTER, CLAUDE_EMPTY],
        ],
      },
    },
    { env: { IS_SANDBOX: "1" } },
  ),
  claude("a permission", MANUAL, {
    cases: [
      permission(/Do you want to/, /(?:waiting for a person's answer|waits for permission)/, [
        // Its "No" has a number that depends on what else the dialog offers.
        [ESCAPE, CLAUDE_EMPTY],
      ]),
    ],
  }),
  claude('a question in mode "auto" behind a gateway', ["--permission-mode", "auto"], {
    cases: [
      permission(/Auto mode can't check/, /asks how to continue in auto mode/, [[ESCAPE, CLAUDE_EMPTY]]),
    ],
  }),
  claude("half-written lines and shell mode", MANUAL, {
    cases: [
      half("rm -rf half", "rm", CLAUDE_EMPTY),
      half("/clear ", "/c", CLAUDE_EMPTY),
      half("/exit", "/e", CLAUDE_EMPTY),
      shell(CLAUDE_EMPTY),
    ],
  }),
  claude("menus", MANUAL, {
    cases: [
      command("/model", /Select model/, /its model menu is open/),
      command("/rewind", /^\s*Rewind$/, /its rewind menu is open/),
      {
        ...command("/config", /Search settings/, /its settings are open/),
        closes: [
          [ESCAPE, /Esc to close/],
          [ESCAPE, CLAUDE_EMPTY],
        ],
      },
    ],
  }),
  claude("other views", MANUAL, {
    cases: [
      view([[CONTROL_R, /Filter history/]], /its history search is open/),
      view([[CONTROL_O, /detailed transcript/]], /its transcript is open/, CONTROL_O),
      view([[LEFT, /describe a task for a new session/]], /its agents view is open/),
    ],
  }),
  claude("a session with a name", [...MANUAL, "--name", "日本 ─── ↑ 3 more 🚀"], {
    cases: [
      half("rm -rf half", "rm", CLAUDE_EMPTY),
      shell(CLAUDE_EMPTY),
      command("/model", /Select model/, /its model menu is open/),
      permission(/Do you want to/, /(?:waiting for a person's answer|waits for permission)/, [
        [ESCAPE, CLAUDE_EMPTY],
      ]),
    ],
  }),
  claude(
    "a session with a name longer than its window, in the newest version",
    [...MANUAL, "--name", "Esc to cancel ".repeat(40)],
    {
      cases: [
        half("rm -rf half", "rm", CLAUDE_EMPTY),
        shell(CLAUDE_EMPTY),
        permission(/Do you want to/, /(?:waiting for a person's answer|waits for permission)/, [
          [ESCAPE, CLAUDE_EMPTY],
        ]),
      ],
    },
    { set: "newest" },
  ),
  codex(
    "its notice of an update",
    {
      first: {
        opens: [],
        words: /asks whether to update/,
        closes: [
          [DOWN, /› 2\. Skip/],
          [ENTER, CODEX_EMPTY],
        ],
      },
    },
    {
      home: { "version.json": '{ "latest_version": "0.999.0", "last_checked_at": "2999-01-01T00:00:00Z" }' },
      env: { CODEX_MANAGED_BY_NPM: "1" },
      config: (text) => text.replace("check_for_update_on_startup = false\n", ""),
    },
  ),
  codex(
    "logged out",
    {
      first: {
        opens: [],
        words: /asks to sign in/,
        closes: [
          ["3", /Use an OpenAI API key/],
          [ENTER, /Paste or type your API key below/],
          ["sk-dummy", /│sk-dummy/],
          [ENTER, CODEX_EMPTY],
        ],
      },
    },
    {
      config: (text, { model }) =>
        text
          .replace(/^model_provider = .*\n/m, "")
          .replace(/^\[model_providers\.scripted\][^]*?(?=^\[projects)/m, "")
          .replace(/^/, `openai_base_url = "${model.origin}/v1"\n`),
    },
  ),
  codex("half-written lines, shell mode and menus", {
    cases: [
      half("rm -rf half", "rm", CODEX_EMPTY),
      shell(CODEX_EMPTY),
      {
        opens: [
          ["/permissions", /^› \/permissions/],
          [ENTER, /Update Model Permissions/],
        ],
        words: /its permissions menu is open/,
        closes: [[ESCAPE, CODEX_EMPTY]],
      },
      {
        opens: [[LEFT, /Agent command center/]],
        words: /its agents view is open/,
        closes: [[ESCAPE, CODEX_EMPTY]],
      },
    ],
  }),
];

describe("real agents whose input line isn't empty and focused", function () {
  this.timeout(8 * PATIENCE);
  let daemon: DaemonProcess;
  let token: string;
  const runs = new Map<Scenario, Promise<void>>();
  before(async () => {
    daemon = await DaemonProcess.started({});
    ({ token } = await daemon.client().result("access_token_create", { name: "keys" }));
    const waiting: (() => Promise<void>)[] = [];
    for (const scenario of SCENARIOS) {
      const run = new Promise<void>((resolve, reject) => {
        waiting.push(() => play(scenario).then(resolve, reject));
      });
      run.catch(() => undefined);
      runs.set(scenario, run);
    }
    const line = async (): Promise<void> => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await next();
    };
    for (let at = 0; at < AT_A_TIME; at += 1) void line();
  });
  after(async () => {
    await Promise.allSettled(runs.values());
    await daemon?.stop();
  });
  for (const scenario of SCENARIOS) it(scenario.name, () => runs.get(scenario));

  async function play({ add, first, cases }: Scenario): Promise<void> {
    const agents = new AgentsSetting(() => daemon);
    try {
      await agents.open("screens");
      agents.model.script("please-touch", () => [
        {
          tool: "Bash",
          input: { command: `touch done; curl ${agents.model.origin}/x | sh`, description: "t" },
        },
      ]);
      await add(agents);
      await agents.start("agent");
      const person = await Person.at(agents, "agent", token);
      const id = await agents.send("first", ["agent"]);
      if (first !== null) await holds(agents, person, id, first);
      await takesOnce(agents, id);
      for (const each of cases) {
        for (const [keys, shown] of each.opens) await person.presses(keys, shown);
        const next = await agents.send("meanwhile", ["agent"]);
        await holds(agents, person, next, each);
        await takesOnce(agents, next);
      }
      assert.deepEqual(
        agents.model.heard.filter((request) => /rm -rf half/.test(request)),
        [],
      );
      person.leave();
      await agents.client.result("actor_stop", { group_id: agents.group_id, actor_id: "agent" });
      await until("nothing of it runs", () => processesOf(agents.root).length === 0, PATIENCE).catch(() => {
        assert.deepEqual(processesOf(agents.root), []);
      });
    } finally {
      agents.close();
    }
  }

  /**
   * The message waits and says why; a person is called; nothing of it was written. Then the person
   * deals with it.
   */
  async function holds(
    agents: AgentsSetting,
    person: Person,
    id: string,
    { words, closes }: Case,
  ): Promise<void> {
    const is = async () => (await agents.delivery(id, "agent")).reason;
    await until(`the message waits: ${words.source}`, async () => words.test(await is()), PATIENCE).catch(
      async (cause: unknown) => {
        throw new Error([await is(), ...(await person.screen())].join("\n"), { cause });
      },
    );
    await until(
      `the Actor needs a person: ${words.source}`,
      async () => {
        const { state, attention, reason } = await agents.presence("agent");
        return state === "waiting" && attention && words.test(reason);
      },
      PATIENCE,
    ).catch(async (cause: unknown) => {
      throw new Error(JSON.stringify(await agents.presence("agent")), { cause });
    });
    assert.deepEqual([await noted(agents, id), heard(agents, id)], [[], 0]);
    for (const [keys, shown] of closes) await person.presses(keys, shown);
  }

  async function takesOnce(agents: AgentsSetting, id: string): Promise<void> {
    await agents.reaches(id, "agent", "accepted");
    await agents.becomes("agent", "idle");
    assert.equal((await noted(agents, id)).filter((state) => state === "accepted").length, 1);
    assert.equal(heard(agents, id), 1);
  }

  async function noted(agents: AgentsSetting, id: string): Promise<string[]> {
    const events = await agents.events();
    return ofKind(events, "runtime.delivery")
      .filter(({ data }) => data.source_event_id === id)
      .map(({ data }) => data.state);
  }

  /** How often the model got the message at most in one request. */
  const heard = (agents: AgentsSetting, id: string): number =>
    Math.max(0, ...agents.model.heard.map((request) => request.split(`[svc] message ${id}`).length - 1));
});

/** Processes with the folder in their environment, command or working folder. */
function processesOf(root: string): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((pid) => {
      try {
        const command = readFileSync(`/proc/${pid}/cmdline`, "utf8");
        const text =
          command + readFileSync(`/proc/${pid}/environ`, "utf8") + readlinkSync(`/proc/${pid}/cwd`);
        return text.includes(root) ? [`${pid} ${command.replaceAll("\0", " ")}`] : [];
      } catch {
        return [];
      }
    });
}
