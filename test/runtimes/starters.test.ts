/** An agent's environment is that of its person's login, whatever started the daemon. */

import assert from "node:assert/strict";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { isAlive } from "../../client/process-state.ts";
import { environmentOfLogin } from "../../daemon/assembly/login.ts";
import { askLoginShell } from "../../platform/login-shell.ts";
import { DaemonProcess } from "../support/daemon-process.ts";
import { until } from "../support/until.ts";

/** What each kind of starter adds to its children, and what it puts in front of PATH. */
const STARTERS: Readonly<Record<string, { path?: string[]; variables: Record<string, string> }>> = {
  "a login shell": { variables: { SHLVL: "1", OLDPWD: "/", _: "/usr/bin/node" } },
  "npm start": {
    path: [
      "/p/svc/node_modules/.bin",
      "/p/node_modules/.bin",
      "/opt/npm/@npmcli/run-script/lib/node-gyp-bin",
    ],
    variables: {
      npm_config_save_exact: "true",
      npm_lifecycle_event: "start",
      npm_package_json: "/p/svc/package.json",
      npm_execpath: "/opt/npm/bin/npm-cli.js",
      INIT_CWD: "/p/svc",
      NODE: "/usr/bin/node",
      COLOR: "1",
    },
  },
  "pnpm, yarn or bun": {
    path: [
      "/tmp/yarn--1700000000000-0.5",
      "/tmp/xfs-1a2b3c4d",
      "/tmp/bun-node-0123456789",
      "/u/_npx/1a2b/node_modules/.bin",
    ],
    variables: {
      PNPM_SCRIPT_SRC_DIR: "/p",
      BERRY_BIN_FOLDER: "/tmp/xfs-1a2b3c4d",
      PROJECT_CWD: "/p",
      NODE_PATH: "/p/lib",
    },
  },
  "an editor": {
    path: ["/u/.vscode-server/cli/servers/x/server/bin/remote-cli", "/u/.cursor-server/bin/x"],
    variables: {
      ELECTRON_RUN_AS_NODE: "1",
      ELECTRON_NO_ATTACH_CONSOLE: "1",
      VSCODE_IPC_HOOK_CLI: "/run/x.sock",
      VSCODE_CWD: "/p",
      CHROME_DESKTOP: "code.desktop",
      GIT_ASKPASS: "/opt/code/askpass.sh",
      TERM_PROGRAM: "vscode",
      TERM_PROGRAM_VERSION: "1.100",
      NODE_OPTIONS: "--max-old-space-size=4096",
      APPLICATION_INSIGHTS_NO_STATSBEAT: "true",
      XDG_ACTIVATION_TOKEN: "once",
    },
  },
  "another editor": {
    variables: {
      TERMINAL_EMULATOR: "JetBrains-JediTerm",
      IDEA_INITIAL_DIRECTORY: "/p",
      ZED_TERM: "true",
      NVIM: "/run/nvim.sock",
      INSIDE_EMACS: "30",
    },
  },
  "a Git hook": {
    path: ["/usr/lib/git-core"],
    variables: {
      GIT_DIR: ".git",
      GIT_INDEX_FILE: ".git/index",
      GIT_WORK_TREE: "/p",
      GIT_PREFIX: "",
      GIT_EDITOR: ":",
      GIT_EXEC_PATH: "/usr/lib/git-core",
      GIT_AUTHOR_NAME: "someone",
      GIT_QUARANTINE_PATH: "/p/.git/objects/incoming",
      HUSKY: "1",
    },
  },
  "another agent": {
    path: ["/u/.codex/tmp/arg0/codex-arg0Xy", "/u/.claude/plugins/cache/one/bin"],
    variables: {
      CLAUDECODE: "1",
      CLAUDE_CODE_ENTRYPOINT: "cli",
      CLAUDE_CODE_SSE_PORT: "1",
      CLAUDE_CODE_SESSION_ID: "x",
      CODEX_SANDBOX: "seatbelt",
      CODEX_SANDBOX_NETWORK_DISABLED: "1",
      CODEX_THREAD_ID: "x",
      GEMINI_CLI: "1",
      OPENCODE: "1",
      CURSOR_AGENT: "1",
      AI_AGENT: "x",
      NO_COLOR: "1",
      PAGER: "cat",
      GIT_PAGER: "cat",
      EDITOR: "true",
      BASH_ENV: "/nowhere",
    },
  },
  systemd: {
    variables: {
      INVOCATION_ID: "x",
      JOURNAL_STREAM: "1:2",
      SYSTEMD_EXEC_PID: "1",
      MANAGERPID: "1",
      NOTIFY_SOCKET: "/run/notify",
      LISTEN_FDS: "0",
      MEMORY_PRESSURE_WATCH: "/x",
    },
  },
  cron: { variables: { SHELL: "/bin/sh", MAILTO: "root" } },
  "a multiplexer": {
    variables: {
      TMUX: "/tmp/tmux",
      TMUX_PANE: "%1",
      STY: "1.x",
      WINDOW: "0",
      TERMCAP: "x",
      ZELLIJ: "0",
      ZELLIJ_SESSION_NAME: "x",
      TERM: "screen",
      COLUMNS: "80",
      LINES: "24",
    },
  },
  CI: {
    variables: {
      CI: "true",
      GITHUB_ACTIONS: "true",
      GITHUB_TOKEN: "x",
      RUNNER_TEMP: "/tmp",
      GITLAB_CI: "true",
      CI_JOB_TOKEN: "x",
      JENKINS_URL: "x",
      BUILD_ID: "1",
      DEBIAN_FRONTEND: "noninteractive",
      CONTINUOUS_INTEGRATION: "true",
    },
  },
  "an environment of Python": {
    path: ["/p/.venv/bin", "/opt/conda/envs/x/bin"],
    variables: {
      VIRTUAL_ENV: "/p/.venv",
      CONDA_PREFIX: "/opt/conda/envs/x",
      CONDA_SHLVL: "1",
      PYTHONHOME: "/p",
      PYTHONPATH: "/p",
      PS1: "(x)",
    },
  },
  "a bundled application": {
    path: ["/tmp/.mount_codeX1/usr/bin", "/snap/code/1/bin"],
    variables: {
      APPDIR: "/tmp/.mount_codeX1",
      SNAP: "/snap/code/1",
      LD_LIBRARY_PATH: "/snap/code/1/lib",
      GTK_PATH: "/snap/code/1",
      LD_BIND_NOW: "1",
    },
  },
};

/** Of the person's session, and set on purpose: all starters have them. */
const SESSION = {
  HTTP_PROXY: "http://127.0.0.1:9",
  no_proxy: "localhost",
  SSH_AUTH_SOCK: "/run/agent.sock",
  DISPLAY: ":7",
  XDG_RUNTIME_DIR: "/run/user/7",
  LANG: "C.UTF-8",
  TZ: "UTC",
  ANTHROPIC_API_KEY: "a",
};

const SVC_VARIABLES = /^SVC_/u;

describe("the environment of an agent", function () {
  this.timeout(900_000);
  let folder: string;
  let person: string;
  let results = 0;

  before(function () {
    if (process.platform !== "linux" || !existsSync("/bin/bash")) this.skip();
    folder = realpathSync(mkdtempSync(join(tmpdir(), "svc-starters-")));
    person = join(folder, "person");
    mkdirSync(join(person, "bin"), { recursive: true });
    writeFileSync(
      join(person, ".bash_profile"),
      'echo "Welcome"\nexport PATH="$HOME/bin:$PATH" PERSONAL=mine NODE_OPTIONS=--no-deprecation\n',
    );
  });
  after(() => {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  });

  /** What an agent has, of a daemon with this whole environment. */
  async function environmentWith(variables: Record<string, string>): Promise<Record<string, string>> {
    results += 1;
    const [home, project, file] = ["home", "project", "result"].map((name) =>
      join(folder, `${name}${results}`),
    );
    mkdirSync(home!, { mode: 0o700 });
    mkdirSync(project!);
    const all = { ...variables, HOME: person, SVC_HOME: home!, SVC_WEB_PORT: "0" };
    const daemon = await DaemonProcess.started({
      home: home!,
      prefix: ["env", "-i", ...Object.entries(all).map(([name, value]) => `${name}=${value}`)],
    });
    try {
      const client = daemon.client();
      const { group_id: groupId } = await client.result("attach", { path: project! });
      await client.result("actor_add", {
        group_id: groupId,
        actor_id: "a",
        runner: "pty",
        runtime: "custom",
        command: ["sh", "-c", `/usr/bin/env -0 > ${file}.part; mv ${file}.part ${file}; sleep 600`],
      });
      await client.result("actor_start", { group_id: groupId, actor_id: "a" });
      await until("the agent has written its environment", () => existsSync(file!));
      const entries = readFileSync(file!, "utf8").split("\0").filter(Boolean);
      return Object.fromEntries(
        entries
          .map((entry): [string, string] => [
            entry.slice(0, entry.indexOf("=")),
            entry.slice(entry.indexOf("=") + 1),
          ])
          // The last is the shell's, which runs the command above.
          .filter(([name]) => !SVC_VARIABLES.test(name) && !["_", "PWD", "OLDPWD", "SHLVL"].includes(name)),
      );
    } finally {
      await daemon.stop();
    }
  }

  const usual = [dirname(process.execPath), "/usr/bin", "/bin"];
  const started = ({ path = [], variables }: (typeof STARTERS)[string]) => ({
    ...SESSION,
    SVC_LOGIN_SHELL: "/bin/bash",
    PATH: [...path, ...usual].join(delimiter),
    ...variables,
  });

  it("is the same whatever started the daemon", async () => {
    const found = new Map<string, Record<string, string>>();
    for (const [name, starter] of Object.entries(STARTERS))
      found.set(name, await environmentWith(started(starter)));
    const login = found.get("a login shell")!;
    assert.equal(login["PERSONAL"], "mine");
    assert.equal(login["NODE_OPTIONS"], "--no-deprecation");
    assert.equal(login["PATH"]?.split(delimiter)[0], join(person, "bin"));
    assert.deepEqual({ ...login, ...SESSION }, login);
    assert.deepEqual([login["TERM"], login["HOME"], login["SHELL"]], ["xterm-256color", person, "/bin/bash"]);
    for (const [name, environment] of found) assert.deepEqual(environment, login, name);
  });

  it("is the same, but for the profile, where no shell says it", async () => {
    const silent = { SVC_LOGIN_SHELL: "none" };
    const login = await environmentWith({ ...started(STARTERS["a login shell"]!), ...silent });
    assert.deepEqual([login["PERSONAL"], login["PATH"]], [undefined, usual.join(delimiter)]);
    assert.deepEqual({ ...login, ...SESSION }, login);
    const everything = Object.assign({}, ...Object.values(STARTERS).map((one) => started(one))) as Record<
      string,
      string
    >;
    const path = Object.values(STARTERS).flatMap((one) => one.path ?? []);
    const all = { ...everything, ...silent, PATH: [...path, ...usual].join(delimiter) };
    // The shell is named by the system's list of users here, or else by the variable.
    const { SHELL: _one, ...others } = await environmentWith(all);
    const { SHELL: _two, ...expected } = login;
    assert.deepEqual(others, expected);
  });

  it("has what the person named for agents", async () => {
    const environment = await environmentWith({
      ...started({ variables: { MINE: "1", TEAM_A: "2", TEAMS: "3", PERSONAL: "named", CI: "true" } }),
      SVC_PASS_ENVIRONMENT: "MINE, TEAM_* PERSONAL PATH",
    });
    assert.deepEqual(
      ["MINE", "TEAM_A", "TEAMS", "PERSONAL", "CI", "PATH"].map((name) => environment[name]),
      ["1", "2", undefined, "named", undefined, usual.join(delimiter)],
    );
  });
});

describe("a login shell that is asked", function () {
  this.timeout(120_000);
  let folder: string;
  before(function () {
    if (process.platform === "win32") this.skip();
    folder = realpathSync(mkdtempSync(join(tmpdir(), "svc-shell-")));
  });
  after(() => {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  });

  async function ask(file: string, milliseconds = 60_000): Promise<Record<string, string> | null> {
    const environment = { PATH: "/usr/bin:/bin", HOME: folder, GIVEN: "1" };
    const limits = { milliseconds, bytes: 100_000 };
    const node = { node: process.execPath, nodeEnvironment: {}, mark: "mark-1f2e" };
    return askLoginShell({ file, environment, directory: folder, ...node, ...limits });
  }

  function shell(name: string, script: string): string {
    const file = join(folder, name);
    writeFileSync(file, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    return file;
  }

  it("answers whatever its files print, ask or leave running", async () => {
    const go = 'shift 2; FROM_FILES=2; export FROM_FILES; exec /bin/sh "$@"';
    for (const [name, script] of [
      ["loudsh", `echo welcome; echo '{"GIVEN":"no"}'; echo trouble >&2; ${go}`],
      ["askingsh", `printf 'Update? '; read answer; ${go}`],
      ["leavingsh", `sleep 30 & ${go}`],
      ["oldsh-5.2", go],
    ] as const) {
      const answer = await ask(shell(name, script));
      assert.deepEqual([answer?.["GIVEN"], answer?.["FROM_FILES"]], ["1", "2"], name);
    }
    assert.equal((await ask("/bin/sh"))?.["GIVEN"], "1");
  });

  it("doesn't hold anything up when it hangs, floods, ends, or is none", async () => {
    const pid = join(folder, "pid");
    const hanging = shell("hangingsh", `echo $$ > ${pid}; sleep 600; echo late`);
    assert.equal(await ask(hanging, 1000), null);
    if (existsSync(pid)) {
      const number = Number(readFileSync(pid, "utf8"));
      await until("the shell is ended", () => !isAlive(number));
    }
    assert.equal(await ask(shell("floodingsh", "exec yes")), null);
    assert.equal(await ask(shell("endingsh", "exit 1")), null);
    assert.equal(await ask(shell("lyingsh", "echo mark-1f2e{mark-1f2e")), null);
    assert.equal(await ask(join(folder, "missingsh")), null);
    assert.equal(await ask(shell("halt", "touch $HOME/ran")), null);
    assert.equal(await ask("sh"), null);
    const log = { warn: () => assert.fail("nothing is asked") };
    for (const SHELL of [shell("nologin", "touch $HOME/ran"), "/nowhere/bash", ""])
      assert.equal(await environmentOfLogin({ SHELL, HOME: folder }, log), null);
    assert.ok(!existsSync(join(folder, "ran")));
  });

  it("puts no value into the log", async () => {
    const said: string[] = [];
    const SHELL = shell("failingsh", "exit 1");
    const log = { warn: (...words: unknown[]) => said.push(JSON.stringify(words)) };
    await environmentOfLogin({ SHELL, HOME: folder, OPENAI_API_KEY: "secret-value" }, log);
    assert.equal(said.length, 1);
    assert.ok(!said[0]!.includes("secret-value"));
  });
});
