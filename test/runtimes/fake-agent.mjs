// A small agent for tests: reads prompts from its terminal as the real ones do and runs the hooks
// it was given. FAKE_AGENT is a JSON object.
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { appendFileSync, existsSync } from "node:fs";

if (process.argv.includes("--version")) {
  console.log("2.1.329 (Claude Code)");
  process.exit(0);
}

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
  /** With this word, too, it asks its person which of these. */
  chooseWord = "CHOOSE",
  questions = [],
  ignoreTerm = false,
  /**
   * Starts a process of a session of its own, whose parent ends at once: a tool that nothing but
   * its environment tells from others.
   */
  leaves = false,
  /** File whose existence lets it list the tools of its MCP server; at once without one. */
  listsWhen = null,
  /** Tells of a queued prompt only when it takes it. */
  tellsLate = false,
  /** Keeps its sessions, each in a file beside `log`, and continues them when it is told to. */
  keeps = false,
  /** Of its next new session; a random one without. */
  sessionId = null,
  /** What its tool runs, and what it asks for. */
  command = "true",
} = JSON.parse(process.env.FAKE_AGENT ?? "{}");

const settings = process.argv.indexOf("--settings");
const hooks = settings < 0 ? {} : JSON.parse(process.argv[settings + 1]).hooks;
const resumed = process.argv.indexOf("--resume");
const session_id = !keeps
  ? "11111111-2222-4333-8444-555555555555"
  : resumed < 0
    ? (sessionId ?? randomUUID())
    : process.argv[resumed + 1];
const transcript_path = keeps ? `${log}.${session_id}.jsonl` : "";
let reads = false;
let turns = 0;
let busy = false;
let queued = [];
let refuse = () => {};

const note = (what) => appendFileSync(log, `${JSON.stringify(what)}\n`);
const until = async (condition) => {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 10));
};

function started(command, hook_event_name, more) {
  const child = spawn("/bin/sh", ["-c", command], { stdio: ["pipe", "pipe", "ignore"], detached: true });
  child.stdin.on("error", () => {});
  child.stdin.end(
    JSON.stringify({ session_id, transcript_path, cwd: process.cwd(), hook_event_name, ...more }),
  );
  let printed = "";
  child.stdout.on("data", (data) => (printed += data));
  return { child, ended: new Promise((resolve) => child.once("close", () => resolve(printed))) };
}

async function hook(hook_event_name, more = {}) {
  for (const { hooks: commands } of hooks[hook_event_name] ?? []) {
    for (const { command } of commands) await started(command, hook_event_name, more).ended;
  }
}

/**
 * As Claude does: its hooks run beside its dialog. What one of them prints is the answer, unless
 * the key `n` is pressed before, which ends them. False if none of them could answer.
 */
async function ask(more) {
  const running = (hooks.PermissionRequest ?? [])
    .flatMap(({ hooks: commands }) => commands)
    .map(({ command }) => started(command, "PermissionRequest", more));
  await running[0]?.ended;
  const refused = new Promise((resolve) => (refuse = () => resolve("refused in the terminal")));
  const decisions = running.slice(1);
  if (decisions.length === 0) return false;
  const decided = Promise.all(decisions.map(({ ended }) => ended)).then((all) => all.join("").trim());
  const answer = await Promise.race([refused, decided]);
  note({ answer });
  if (answer.startsWith("refused")) for (const { child } of decisions) process.kill(-child.pid, "SIGTERM");
  return true;
}

/**
 * As Claude does: a queued prompt was told when it was queued, as one of the turn before, and all
 * that wait run together.
 */
async function turn(prompt, isQueued = false) {
  busy = true;
  const prompt_id = `prompt-${++turns}`;
  note({ prompt });
  if (keeps) appendFileSync(transcript_path, "{}\n");
  if (!silent && !isQueued) await hook("UserPromptSubmit", { prompt, prompt_id });
  if (prompt.includes(toolWord)) {
    const chooses = prompt.includes(chooseWord);
    const use = {
      tool_name: chooses ? "AskUserQuestion" : "Bash",
      tool_use_id: `toolu_${turns}`,
      tool_input: chooses ? { questions } : { command },
      prompt_id,
    };
    await hook("PreToolUse", use);
    if (prompt.includes(waitWord)) {
      note({ asks: Date.now() });
      const isAnswered = await ask({ tool_name: use.tool_name, tool_input: use.tool_input, prompt_id });
      if (!isAnswered)
        await hook("Notification", { notification_type: "permission_prompt", message: "May I?", prompt_id });
    }
    await until(() => existsSync(`${log}.tool`));
    await hook("PostToolUse", { ...use, tool_response: { stdout: "" } });
  }
  if (prompt.includes(workWord)) await until(() => existsSync(`${log}.done`));
  if (!silent) await hook("Stop", { prompt_id });
  busy = false;
  const next = queued;
  queued = [];
  if (next.length > 0) await turn(next.join("\n"), !tellsLate);
}

/** Our server, as it was handed over. */
async function listTools() {
  const config = process.argv.indexOf("--mcp-config");
  if (config < 0) return;
  if (listsWhen !== null) await until(() => existsSync(listsWhen));
  const { command, args, env } = JSON.parse(process.argv[config + 1]).mcpServers.svc;
  const server = spawn(command, args, {
    env: { ...process.env, ...env },
    stdio: ["pipe", "ignore", "ignore"],
  });
  server.on("error", () => {});
  server.stdin.on("error", () => {});
  const params = {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "fake", version: "1" },
  };
  const messages = [
    { id: 1, method: "initialize", params },
    { method: "notifications/initialized" },
    { id: 2, method: "tools/list" },
  ];
  for (const message of messages) server.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}

async function queue(prompt) {
  if (!silent && !tellsLate) await hook("UserPromptSubmit", { prompt, prompt_id: `prompt-${turns}` });
  if (busy) queued.push(prompt);
  else await turn(prompt, true);
}

/** Its input line, as Claude draws it. */
function draw(draft) {
  const rule = "─".repeat(process.stdout.columns ?? 80);
  const lines = draft.split("\n").length;
  const shown = lines > 1 ? `[Pasted text #1 +${lines - 1} lines]` : draft;
  process.stdout.write(
    `\u001b[H\u001b[2Jfake agent, ready>\r\n${rule}\r\n❯\u00a0${shown}\u001b7\r\n${rule}\u001b8`,
  );
}

const [PASTE_BEGINS, PASTE_ENDS] = ["\u001b[200~", "\u001b[201~"];
let input = "";
let draft = "";
function read(data) {
  note({ bytes: data });
  input += data;
  while (input !== "") {
    if (input.startsWith(PASTE_BEGINS)) {
      const end = input.indexOf(PASTE_ENDS);
      if (end < 0) return;
      draft += input.slice(PASTE_BEGINS.length, end);
      input = input.slice(end + PASTE_ENDS.length);
    } else if (input.startsWith("\r")) {
      const prompt = draft;
      draft = "";
      input = input.slice(1);
      if (busy) void queue(prompt);
      else void turn(prompt);
    } else input = input.slice(1);
    draw(draft);
  }
}

note({
  start: process.argv.slice(2),
  pid: process.pid,
  cwd: process.cwd(),
  columns: process.stdout.columns,
  environment: process.env,
});
// Where it looks for them isn't always where it said.
if (keeps && resumed > 0 && (!existsSync(transcript_path) || existsSync(`${log}.lost`))) {
  process.stdout.write("No conversation found with that session ID\r\n");
  process.exit(1);
}
if (leaves) {
  const tool = "process.stdout.write(String(process.pid)); process.stdout.end(); setInterval(() => {}, 1000)";
  const parent =
    "const child = require('node:child_process').spawn(process.execPath, ['-e', process.argv[1]], { detached: true, stdio: ['ignore', 'inherit', 'ignore'] }); child.unref()";
  const child = spawn(process.execPath, ["-e", parent, tool], { stdio: ["ignore", "pipe", "ignore"] });
  child.stdout.once("data", (pid) => note({ left: Number(pid) }));
}
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
  if (data === "n") refuse();
  read(data);
});
process.stdout.on("resize", () => {
  note({ columns: process.stdout.columns });
  if (reads) draw(draft);
});
void listTools();
await hook("SessionStart", { source: resumed > 0 ? "resume" : "startup" });
process.stdout.write("fake agent\r\n");
if (readyWhen !== null) await until(() => existsSync(readyWhen));
process.stdout.write("\u001b[?2004h");
reads = true;
draw("");
