// A small agent for tests: reads prompts from its terminal as the real ones do and runs the hooks it was given. FAKE_AGENT is a JSON object.
import { spawn } from "node:child_process";
import { appendFileSync, existsSync } from "node:fs";

const {
  log,
  /** File whose existence lets it read its terminal; at once without one. */
  readyWhen = null,
  /** Runs no hook for a prompt. */
  silent = false,
  /** A prompt with this word opens a turn that ends when the file `log`.done exists. */
  workWord = "WORK",
  /** A prompt with this word uses a tool until the file `log`.tool exists. */
  toolWord = "TOOL",
  /** Before which it asks for permission, if the prompt has this word, too. */
  waitWord = "WAIT",
  ignoreTerm = false,
} = JSON.parse(process.env.FAKE_AGENT ?? "{}");

const settings = process.argv.indexOf("--settings");
const hooks = settings < 0 ? {} : JSON.parse(process.argv[settings + 1]).hooks;
const session_id = "11111111-2222-4333-8444-555555555555";
let turns = 0;
let busy = false;
const queued = [];

const note = (what) => appendFileSync(log, `${JSON.stringify(what)}\n`);
const until = async (condition) => {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 10));
};

async function hook(hook_event_name, more = {}) {
  for (const { hooks: commands } of hooks[hook_event_name] ?? []) {
    for (const { command, args } of commands) {
      const child = spawn(command, args, { stdio: ["pipe", "ignore", "ignore"] });
      child.stdin.on("error", () => {});
      child.stdin.end(
        JSON.stringify({ session_id, transcript_path: "", cwd: process.cwd(), hook_event_name, ...more }),
      );
      await new Promise((resolve) => child.once("close", resolve));
    }
  }
}

async function turn(prompt) {
  busy = true;
  const prompt_id = `prompt-${++turns}`;
  note({ prompt });
  if (!silent) await hook("UserPromptSubmit", { prompt, prompt_id });
  if (prompt.includes(toolWord)) {
    const use = {
      tool_name: "Bash",
      tool_use_id: `toolu_${turns}`,
      tool_input: { command: "true" },
      prompt_id,
    };
    await hook("PreToolUse", use);
    if (prompt.includes(waitWord)) {
      await hook("PermissionRequest", { tool_name: "Bash", tool_input: use.tool_input, prompt_id });
      await hook("Notification", { notification_type: "permission_prompt", message: "May I?", prompt_id });
    }
    await until(() => existsSync(`${log}.tool`));
    await hook("PostToolUse", { ...use, tool_response: { stdout: "" } });
  }
  if (prompt.includes(workWord)) await until(() => existsSync(`${log}.done`));
  if (!silent) await hook("Stop", { prompt_id });
  busy = false;
  const next = queued.shift();
  if (next !== undefined) await turn(next);
}

let input = "";
function read(data) {
  note({ bytes: data });
  input += data;
  for (;;) {
    const begin = input.indexOf("\u001b[200~");
    const end = input.indexOf("\u001b[201~\r");
    if (begin < 0 || end < 0) return;
    const prompt = input.slice(begin + 6, end);
    input = input.slice(end + 7);
    if (busy) queued.push(prompt);
    else void turn(prompt);
  }
}

note({
  start: process.argv.slice(2),
  pid: process.pid,
  cwd: process.cwd(),
  columns: process.stdout.columns,
  environment: process.env,
});
if (ignoreTerm) {
  for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => note({ signal }));
  // It outlives its terminal, too.
  setInterval(() => {}, 1000);
  for (const stream of [process.stdin, process.stdout]) stream.on("error", () => {});
}
process.stdin.setRawMode?.(true);
process.stdin.setEncoding("utf8");
process.stdin.on("data", (data) => {
  if (data === "q") process.exit(7);
  read(data);
});
process.stdout.on("resize", () => note({ columns: process.stdout.columns }));
await hook("SessionStart", { source: "startup" });
process.stdout.write("fake agent\r\n");
if (readyWhen !== null) await until(() => existsSync(readyWhen));
process.stdout.write("\u001b[?2004hready> ");
