/**
 * What a runtime pays for reporting what it does, how soon a browser sees it, and what a hundred
 * busy Actors cost the daemon.
 */
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { delimiter, dirname, join } from "node:path";
import { API_PREFIX, HEADERS, SOCKET_OPERATION_PREFIX } from "../shared/names.ts";
import { type Daemon, SVC, startDaemon } from "./daemon.ts";
import { absolute, compare, type Figure, interleave, type Measurement, median } from "./figure.ts";
import { scratchPath } from "./folder.ts";
import { listening, plainEnvironment, processorSeconds, start, stop } from "./processes.ts";

const EVENT = "one hook event as a process";
const FALLBACK = "one hook event by the Node program";
const TO_CLIENT = "hook event to stream client";
const BUSY = "100 Actors, 20 hook events/s, processor";

const ACTORS = 100;
const EVENTS_PER_SECOND = 20;

interface Running {
  group: string;
  /** Values for the headers of the local socket, by Actor. */
  tokens: string[];
  /** As the runtime of the first Actor was told to run it. */
  command: string[];
}

/** A program called `claude` that only stays; it writes down how it was started. */
function fakeRuntime(): string {
  const bin = scratchPath("bin");
  mkdirSync(bin);
  const file = join(bin, "claude");
  writeFileSync(
    file,
    `#!/bin/sh\n[ "$1" = --version ] && echo 2.1.200 && exit\nfor word in "$@"; do printf '%s\\n' "$word"; done > '${bin}/args'\nexec sleep 100000\n`,
  );
  chmodSync(file, 0o755);
  return bin;
}

async function runActors({ client, home }: Daemon, bin: string, count: number): Promise<Running> {
  const project = scratchPath("project");
  mkdirSync(project);
  const { group_id: group } = await client.result("attach", { path: project });
  const tokens: string[] = [];
  let command: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const actorId = `a${index}`;
    const env = { PATH: `${bin}${delimiter}${process.env["PATH"] ?? ""}` };
    await client.result("actor_add", {
      group_id: group,
      actor_id: actorId,
      runtime: "claude",
      runner: "pty",
      env,
    });
    await client.result("actor_start", { group_id: group, actor_id: actorId });
    const file = join(home, "groups", group, "tokens", `${actorId}.json`);
    tokens.push((JSON.parse(readFileSync(file, "utf8")) as { token: string }).token);
    if (index === 0) command = await hookCommand(join(bin, "args"));
  }
  return { group, tokens, command };
}

/** The hook's command line, from the settings that the runtime was started with. */
async function hookCommand(file: string): Promise<string[]> {
  const deadline = performance.now() + 10_000;
  for (;;) {
    const words = existsSync(file) ? readFileSync(file, "utf8").split("\n") : [];
    const settings = words[words.indexOf("--settings") + 1];
    if (settings?.endsWith("}") === true && words.includes("--settings")) {
      type Settings = { hooks: { PreToolUse: [{ hooks: [{ command: string }] }] } };
      return ["/bin/sh", "-c", (JSON.parse(settings) as Settings).hooks.PreToolUse[0].hooks[0].command];
    }
    if (performance.now() > deadline) throw new Error("the runtime was started without hooks");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

let events = 0;

function payload(hookEventName: string, more: Record<string, unknown> = {}): string {
  const common = {
    session_id: "bench",
    transcript_path: "/t",
    cwd: "/p",
    prompt_id: "p",
    hook_event_name: hookEventName,
  };
  return JSON.stringify({ ...common, ...more });
}

/** A tool's start and its end, in turn. */
function toolEvent(): string {
  events += 1;
  const toolInput = { command: "echo something of a usual length", description: "say something" };
  const tool = { tool_name: "Bash", tool_input: toolInput, tool_use_id: `toolu_${events >> 1}` };
  return payload(events % 2 === 0 ? "PreToolUse" : "PostToolUse", tool);
}

/** Milliseconds of a whole process that gets an event on standard input. */
async function wholeProcess([program, ...args]: readonly string[], input: string): Promise<number> {
  const begin = performance.now();
  const child = start(program!, args, { env: plainEnvironment(), stdio: ["pipe", "ignore", "inherit"] });
  child.stdin!.on("error", () => {});
  child.stdin!.end(input);
  const [code] = (await once(child, "exit")) as [number | null];
  if (code !== 0) throw new Error(`${program} ended with ${code}`);
  return performance.now() - begin;
}

/** One request over a kept connection; resolves with the body of its answer. */
function post(
  agent: Agent,
  socketPath: string,
  path: string,
  headers: Record<string, string>,
  body: string,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const fields = {
      ...headers,
      host: "localhost",
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
    };
    const sent = request({ agent, socketPath, path, method: "POST", headers: fields }, (response) => {
      let text = "";
      response.on("data", (chunk: Buffer) => (text += chunk.toString()));
      response.on("end", () => resolve(text)).on("error", reject);
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

async function submit(agent: Agent, daemon: Daemon, token: string, body: string): Promise<void> {
  const headers = { ...daemon.headers, [HEADERS.launchToken]: token };
  const text = await post(agent, daemon.socket, `${SOCKET_OPERATION_PREFIX}hook_submit`, headers, body);
  if (!text.includes('"accepted":true')) throw new Error(`a hook event was answered with ${text}`);
}

/** Calls `seen` for each piece that the Group's activity stream delivers. */
async function watch(daemon: Daemon, group: string, seen: () => void): Promise<() => void> {
  const path = `${API_PREFIX}/groups/${group}/runtime-activity/stream`;
  const sent = request({
    agent: false,
    socketPath: daemon.socket,
    path,
    headers: { ...daemon.headers, host: "localhost" },
  });
  sent.end();
  const [response] = (await once(sent, "response")) as [import("node:http").IncomingMessage];
  if (response.statusCode !== 200) throw new Error(`the stream was answered with ${response.statusCode}`);
  response.on("data", (chunk: Buffer) => {
    if (chunk.includes("runtime-activity")) seen();
  });
  response.on("error", () => {});
  return () => sent.destroy();
}

async function processes(daemon: Daemon, running: Running, short: boolean): Promise<Figure[]> {
  const [token] = running.tokens;
  const fields = /'([^']+\.head)'/.exec(running.command.join(" "))?.[1];
  if (fields === undefined) throw new Error("the bench needs Perl or curl");
  const fallback = [process.execPath, join(dirname(SVC), "hook.cjs"), daemon.socket, fields];
  const agent = new Agent({ keepAlive: true });
  await submit(agent, daemon, token!, payload("SessionStart"));
  agent.destroy();
  events = 1;
  const times = await interleave(short ? 5 : 41, {
    shell: () => wholeProcess(running.command, toolEvent()),
    fallback: () => wholeProcess(fallback, toolEvent()),
    node: () => wholeProcess([process.execPath, "-e", "0"], ""),
  });
  const against = { unit: "ms", against: "node -e 0", against_value: times.node, better: "lower" } as const;
  return [
    compare({ name: EVENT, value: times.shell, goal: 0.2, floor: 0.45, ...against }),
    compare({ name: FALLBACK, value: times.fallback, goal: 1.3, floor: 1.3, ...against }),
  ];
}

async function toClient(daemon: Daemon, { group, tokens }: Running, short: boolean): Promise<Figure> {
  const socket = scratchPath("bare.sock");
  const bare = start(process.execPath, [join(import.meta.dirname, "bare", "endpoint.mjs"), socket]);
  await listening(bare, socket);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const bareAgent = new Agent({ keepAlive: true, maxSockets: 1 });
  const token = tokens[1]!;
  await submit(agent, daemon, token, payload("SessionStart"));
  let seen = (): void => {};
  const leave = await watch(daemon, group, () => seen());
  const rounds = short ? 20 : 300;
  const many = async (one: () => Promise<number>): Promise<number> => {
    const times: number[] = [];
    for (let round = 0; round < rounds; round += 1) times.push(await one());
    return median(times);
  };
  events = 1_000_001;
  const sides = {
    ours: () =>
      many(async () => {
        const begin = performance.now();
        const arrived = new Promise<number>((resolve) => (seen = () => resolve(performance.now() - begin)));
        const answered = submit(agent, daemon, token, toolEvent());
        const took = await arrived;
        await answered;
        return took;
      }),
    theirs: () =>
      many(async () => {
        const begin = performance.now();
        await post(bareAgent, socket, "/", {}, toolEventOf());
        return performance.now() - begin;
      }),
  };
  await interleave(1, sides);
  const times = await interleave(short ? 2 : 5, sides);
  leave();
  agent.destroy();
  bareAgent.destroy();
  await stop(bare);
  return compare({
    name: TO_CLIENT,
    unit: "ms",
    value: times.ours,
    against: "a round trip to a bare node:http endpoint",
    against_value: times.theirs,
    goal: 3,
    floor: 8,
    better: "lower",
  });
}

/** A payload for the other side, which doesn't count in ours. */
function toolEventOf(): string {
  return payload("PreToolUse", {
    tool_name: "Bash",
    tool_input: { command: "echo" },
    tool_use_id: "toolu_other",
  });
}

async function busy(daemon: Daemon, { group, tokens }: Running, short: boolean): Promise<Figure> {
  const agent = new Agent({ keepAlive: true, maxSockets: 4 });
  for (const token of tokens.slice(2)) await submit(agent, daemon, token, payload("SessionStart"));
  const leave = await watch(daemon, group, () => {});
  const seconds = short ? 5 : 60;
  const open = new Map<string, string>();
  const before = processorSeconds(daemon.pid);
  const begin = performance.now();
  for (let event = 0; event < seconds * EVENTS_PER_SECOND; event += 1) {
    const due = begin + (event * 1000) / EVENTS_PER_SECOND;
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, due - performance.now())));
    const token = tokens[2 + (event % (tokens.length - 2))]!;
    const started = open.get(token);
    const toolUseId = started ?? `toolu_busy_${event}`;
    if (started === undefined) open.set(token, toolUseId);
    else open.delete(token);
    const name = started === undefined ? "PreToolUse" : "PostToolUse";
    await submit(
      agent,
      daemon,
      token,
      payload(name, { tool_name: "Bash", tool_input: {}, tool_use_id: toolUseId }),
    );
  }
  const elapsed = (performance.now() - begin) / 1000;
  const share = (100 * (processorSeconds(daemon.pid) - before)) / elapsed;
  leave();
  agent.destroy();
  return absolute({
    name: BUSY,
    unit: "% of a core",
    value: share,
    against: "% of a core",
    goal: 5,
    floor: 15,
    better: "lower",
  });
}

export const hooks: Measurement = {
  figures: [EVENT, FALLBACK, TO_CLIENT, BUSY],
  async run({ short, only }) {
    const daemon = await startDaemon();
    const isWanted = (...names: string[]): boolean => names.some((name) => name.includes(only));
    const running = await runActors(daemon, fakeRuntime(), isWanted(BUSY) ? ACTORS + 2 : 2);
    const figures: Figure[] = [];
    if (isWanted(EVENT, FALLBACK)) figures.push(...(await processes(daemon, running, short)));
    if (isWanted(TO_CLIENT)) figures.push(await toClient(daemon, running, short));
    if (isWanted(BUSY)) figures.push(await busy(daemon, running, short));
    await daemon.stop();
    return figures;
  },
};
