/**
 * What terminals cost: a flood of output with one viewer, one whose program doesn't read, and fifty
 * idle ones.
 */
import { once } from "node:events";
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, writeSync } from "node:fs";
import { WebSocket } from "ws";
import { LIMITS } from "../shared/limits.ts";
import { API_PREFIX } from "../shared/names.ts";
import type { TerminalMessage, TerminalRequest } from "../shared/terminal.ts";
import { type Daemon, startDaemon } from "./daemon.ts";
import { absolute, compare, type Figure, interleave, type Measurement } from "./figure.ts";
import { scratchPath } from "./folder.ts";
import { nativeProgram } from "./native.ts";
import { output } from "./processes.ts";

const FLOOD = "100 MB of terminal output, a viewer";
const FLOOD_MEMORY = "100 MB of terminal output, memory";
const BESIDE = "send and actor list beside a terminal that isn't read";
const IDLE = "50 idle terminals, processor";

const IDLE_TERMINALS = 50;
const MIB = 1024 * 1024;
/** Typed into the terminal that isn't read. */
const UNREAD_MIB = 8;
/** Behind the last line of the flood. */
const LAST = "that was all of it";
const FLOOD_MIB = 100;

let actors = 0;

/** A file of log-like lines, `bytes` long. */
function floodFile(bytes: number): string {
  const path = scratchPath("flood");
  const file = openSync(path, "w");
  let line = 0;
  for (let written = 0; written < bytes; ) {
    let piece = "";
    while (piece.length < MIB) {
      line += 1;
      piece += `${String(line).padStart(8, "0")} a line of the usual length, as a program writes it that tells what it does\n`;
    }
    writeSync(file, piece);
    written += piece.length;
  }
  writeSync(file, `${LAST}\n`);
  closeSync(file);
  return path;
}

/** A viewer that draws as fast as output comes. */
class Viewer {
  readonly #socket: WebSocket;
  #screen = "";
  #tail = "";
  #seen = (): void => {};
  #unread = (_bytes: number): void => {};
  /** The last line was seen. */
  readonly #hasSeen = new Promise<void>((resolve) => (this.#seen = resolve));

  constructor({ socket, headers }: Daemon, group: string, actor: string) {
    const path = `${API_PREFIX}/groups/${group}/actors/${actor}/term`;
    this.#socket = new WebSocket(`ws+unix:${socket}:${path}`, { headers: { ...headers, host: "localhost" } });
    this.#socket.on("message", (data: Buffer, isBinary) => this.#receive(data, isBinary));
  }

  async opened(): Promise<this> {
    await once(this.#socket, "open");
    return this;
  }

  /** Lets the flood begin; milliseconds until its end is seen. */
  async flooded(): Promise<number> {
    const begin = performance.now();
    this.#send({ type: "take" });
    this.#send({ type: "input", data: "\r" });
    await this.#hasSeen;
    return performance.now() - begin;
  }

  /** Types as much once the last line is seen; resolves when it is said to be unread. */
  async typedInVain(bytes: number): Promise<void> {
    await this.#hasSeen;
    const isUnread = new Promise<void>((resolve) => {
      this.#unread = (unread) => unread > 0 && resolve();
    });
    this.#send({ type: "take" });
    const data = "x".repeat(LIMITS.terminal.inputBytes / 4);
    for (let typed = 0; typed < bytes; typed += data.length) this.#send({ type: "input", data });
    await isUnread;
  }

  close(): void {
    this.#socket.terminate();
  }

  #send(request: TerminalRequest): void {
    this.#socket.send(JSON.stringify(request));
  }

  #receive(data: Buffer, isBinary: boolean): void {
    if (isBinary) {
      this.#acknowledge(data.length);
      this.#tail = (this.#tail + data.toString("latin1", Math.max(0, data.length - 2 * LAST.length))).slice(
        -2 * LAST.length,
      );
      if (this.#tail.includes(LAST)) this.#seen();
      return;
    }
    const message = JSON.parse(data.toString()) as TerminalMessage;
    if (message.type === "input") this.#unread(message.unread);
    if (message.type !== "screen") return;
    this.#screen = message.data;
    this.#acknowledge(Buffer.byteLength(this.#screen));
    this.#tail = "";
    if (this.#screen.includes(LAST)) this.#seen();
  }

  #acknowledge(bytes: number): void {
    if (bytes > 0) this.#send({ type: "ack", bytes });
  }
}

/** Actors whose processes the daemon runs; gives the Group's id. */
async function attach({ client }: Daemon): Promise<string> {
  const project = scratchPath("project");
  mkdirSync(project);
  return (await client.result("attach", { path: project })).group_id;
}

async function runActor(
  { client }: Daemon,
  groupId: string,
  actorId: string,
  command: string[],
): Promise<void> {
  await client.result("actor_add", {
    group_id: groupId,
    actor_id: actorId,
    runtime: "custom",
    runner: "pty",
    command,
  });
  await client.result("actor_start", { group_id: groupId, actor_id: actorId });
}

/** MiB of a process, by a field of its status in /proc. */
function memory(pid: number, field: "VmRSS" | "VmHWM"): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(status)![1]) / 1024;
}

async function flood(daemon: Daemon, short: boolean): Promise<Figure[]> {
  const { columns, rows } = LIMITS.terminal;
  const file = floodFile((short ? 4 : FLOOD_MIB) * MIB);
  const pty = await nativeProgram("pty");
  const group = await attach(daemon);
  const ours = async (file: string): Promise<number> => {
    actors += 1;
    const actor = `flood${actors}`;
    await runActor(daemon, group, actor, ["/bin/sh", "-c", `read start; cat '${file}'; read end`]);
    const viewer = await new Viewer(daemon, group, actor).opened();
    const took = await viewer.flooded();
    viewer.close();
    await daemon.client.result("actor_stop", { group_id: group, actor_id: actor });
    return took;
  };
  await ours(floodFile(MIB));
  const before = memory(daemon.pid, "VmRSS");
  const times = await interleave(short ? 1 : 7, {
    ours: () => ours(file),
    theirs: async () => {
      const text = await output(pty, [`${columns}`, `${rows}`, "cat", file]);
      return (JSON.parse(text) as { ms: number }).ms;
    },
  });
  return [
    compare({
      name: FLOOD,
      unit: "ms",
      value: times.ours,
      against: "cat through a bare pty",
      against_value: times.theirs,
      goal: 1.5,
      floor: 3,
      better: "lower",
    }),
    compare({
      name: FLOOD_MEMORY,
      unit: "MiB more at most",
      value: memory(daemon.pid, "VmHWM") - before,
      against: "MiB of output",
      against_value: FLOOD_MIB,
      goal: 1,
      floor: 2,
      better: "lower",
    }),
  ];
}

/**
 * Two daemons take turns. Both run the same program and are watched; only in one of them something
 * waits for it to read.
 */
async function beside(daemon: Daemon, short: boolean): Promise<Figure[]> {
  const other = await startDaemon();
  const side = async (of: Daemon, unread: number) => {
    const group = await attach(of);
    await of.client.result("actor_add", { group_id: group, actor_id: "reader" });
    await runActor(of, group, "deaf", ["/bin/sh", "-c", `stty raw -echo; echo '${LAST}'; exec sleep 100000`]);
    const viewer = await new Viewer(of, group, "deaf").opened();
    if (unread > 0) await viewer.typedInVain(unread);
    let sent = 0;
    const pair = async (): Promise<void> => {
      await of.client.result("actor_list", { group_id: group });
      sent += 1;
      await of.client.result("send", { group_id: group, text: `message ${sent}`, to: ["reader"] });
    };
    const pairs = async (count: number): Promise<number> => {
      const begin = performance.now();
      for (let done = 0; done < count; done += 1) await pair();
      return (performance.now() - begin) / count;
    };
    await pairs(short ? 20 : 300);
    return { pairs, close: () => viewer.close() };
  };
  const ours = await side(daemon, UNREAD_MIB * MIB);
  const theirs = await side(other, 0);
  const times = await interleave(short ? 4 : 100, {
    ours: () => ours.pairs(10),
    theirs: () => theirs.pairs(10),
  });
  for (const { close } of [ours, theirs]) close();
  await other.stop();
  return [
    compare({
      name: BESIDE,
      unit: "ms",
      value: times.ours,
      against: "the same without it",
      against_value: times.theirs,
      goal: 1.2,
      floor: 1.5,
      better: "lower",
    }),
  ];
}

/** Nanoseconds that all threads of a process have run. */
function processorTime(pid: number): number {
  const tasks = `/proc/${pid}/task`;
  return readdirSync(tasks)
    .map((task) => Number(readFileSync(`${tasks}/${task}/schedstat`, "utf8").split(" ")[0]))
    .reduce((sum, nanoseconds) => sum + nanoseconds, 0);
}

async function idle(daemon: Daemon, short: boolean): Promise<Figure> {
  const group = await attach(daemon);
  for (let index = 0; index < (short ? 5 : IDLE_TERMINALS); index += 1)
    await runActor(daemon, group, `idle${index}`, ["/bin/sh", "-c", "echo ready; exec sleep 100000"]);
  const seconds = short ? 2 : 60;
  const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));
  // What follows a start is over then.
  await pause(short ? 1000 : 15_000);
  const before = processorTime(daemon.pid);
  const begin = performance.now();
  await pause(seconds * 1000);
  const share = (processorTime(daemon.pid) - before) / (performance.now() - begin) / 10_000;
  return absolute({
    name: IDLE,
    unit: "% of a core",
    value: share,
    against: "% of a core",
    goal: 0.2,
    floor: 1,
    better: "lower",
  });
}

export const terminals: Measurement = {
  figures: [FLOOD, FLOOD_MEMORY, BESIDE, IDLE],
  async run({ short, only }) {
    const isWanted = (...names: string[]): boolean => names.some((name) => name.includes(only));
    const figures: Figure[] = [];
    for (const [names, measure] of [
      [[FLOOD, FLOOD_MEMORY], flood],
      [[BESIDE], beside],
      [[IDLE], async (daemon: Daemon, isShort: boolean) => [await idle(daemon, isShort)]],
    ] as const) {
      if (!isWanted(...names)) continue;
      const daemon = await startDaemon();
      figures.push(...(await measure(daemon, short)));
      await daemon.stop();
    }
    return figures;
  },
};
