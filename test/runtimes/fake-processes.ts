/**
 * The daemon's services for Actors in terminals, over processes in memory, a disk that fails where
 * a test wants it, and time that a test owns.
 */

import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Home } from "../../daemon/home/home.ts";
import type {
  InputReceipt,
  ProcessExit,
  Processes,
  TerminalOptions,
  TerminalProcess,
} from "../../platform/processes.ts";
import { RealProjectFiles } from "../../platform/real-project-files.ts";
import { RealRandom } from "../../platform/real-random.ts";
import { ENVIRONMENT } from "../../shared/names.ts";
import type { ArgumentsOf, OperationName, ResultOf } from "../../shared/operations/registry.ts";
import { MemoryLog } from "../operations/support.ts";
import { FaultyFiles } from "../support/faulty-files.ts";
import { ManualClock } from "../support/manual-clock.ts";
import {
  callOperation,
  homeAt,
  MESSAGING,
  NO_PEERS,
  type Parts,
  startServices,
} from "../support/services.ts";

/** What a terminal asks of its process, and can be made to throw. */
type Asked =
  | "answer"
  | "dropInput"
  | "interrupt"
  | "isStuck"
  | "onExit"
  | "pause"
  | "resize"
  | "resume"
  | "unread"
  | "write";

/** Thrown where a test wants it. */
export class Broken extends Error {
  override name = "Broken";
}

class FakeProcess implements TerminalProcess {
  readonly pid: number;
  readonly mark: string;
  isAlive = true;
  /** It never says that it has ended. */
  isMute = false;
  /** What throws from now on. */
  readonly broken = new Set<Asked>();
  /** What was written into it. */
  input = "";
  /** As if it printed something. */
  output: (bytes: Uint8Array) => void = () => {};
  /** As if it stopped to read, or went on. */
  stuck: () => void = () => {};
  readonly #exits: ((exit: ProcessExit) => void)[] = [];

  constructor(pid: number, { environment }: TerminalOptions) {
    this.pid = pid;
    this.mark = environment[ENVIRONMENT.launchMark] ?? "";
  }

  end(code = 0): void {
    if (!this.isAlive) return;
    this.isAlive = false;
    if (this.isMute) return;
    for (const told of this.#exits) told({ code, signal: null });
  }

  #asked(what: Asked): void {
    if (this.broken.has(what)) throw new Broken(what);
  }

  onExit(listener: (exit: ProcessExit) => void): void {
    this.#asked("onExit");
    this.#exits.push(listener);
  }

  get unread(): number {
    this.#asked("unread");
    return 0;
  }
  get isStuck(): boolean {
    this.#asked("isStuck");
    return false;
  }
  onOutput(listener: (bytes: Uint8Array) => void): void {
    this.output = listener;
  }
  onStuck(listener: () => void): void {
    this.stuck = listener;
  }
  write(data: string): InputReceipt {
    this.#asked("write");
    this.input += data;
    return { state: "written" };
  }
  answer(): void {
    this.#asked("answer");
  }
  dropInput(): number {
    this.#asked("dropInput");
    return 0;
  }
  interrupt(): void {
    this.#asked("interrupt");
  }
  resize(): void {
    this.#asked("resize");
  }
  pause(): void {
    this.#asked("pause");
  }
  resume(): void {
    this.#asked("resume");
  }
}

/** They outlive the daemon, and end when they are asked to. */
class FakeProcesses implements Processes {
  readonly all: FakeProcess[] = [];
  /** Held back: what a program says of its version. */
  versions: Promise<null> = Promise.resolve(null);

  get living(): FakeProcess[] {
    return this.all.filter(({ isAlive }) => isAlive);
  }

  /** What throws of those that are started from now on. */
  broken: readonly Asked[] = [];

  openTerminal(options: TerminalOptions): TerminalProcess {
    const process = new FakeProcess(1000 + this.all.length, options);
    for (const what of this.broken) process.broken.add(what);
    this.all.push(process);
    return process;
  }

  birthOf(pid: number): string | null {
    return this.living.some((process) => process.pid === pid) ? `birth of ${pid}` : null;
  }

  familyOf(pid: number): number[] {
    return [pid];
  }

  startedWith(name: string, value: string): ReadonlyMap<number, string> {
    const marked = this.living.filter(({ mark }) => name === ENVIRONMENT.launchMark && mark === value);
    return new Map(marked.map(({ pid }) => [pid, this.birthOf(pid)!]));
  }

  signal(pid: number): boolean {
    const process = this.living.find((one) => one.pid === pid);
    process?.end();
    return process !== undefined;
  }

  locate(program: string): string {
    return join("/bin", program);
  }

  outputOf(): Promise<null> {
    return this.versions;
  }
}

export class Hosted {
  readonly root: string;
  readonly files: FaultyFiles;
  readonly clock: ManualClock;
  readonly processes: FakeProcesses;
  readonly services: Parts;
  readonly log: MemoryLog;
  readonly stop: () => Promise<void>;

  private constructor(parts: Omit<Hosted, "call" | "remove" | "group">) {
    this.root = parts.root;
    this.files = parts.files;
    this.clock = parts.clock;
    this.processes = parts.processes;
    this.services = parts.services;
    this.log = parts.log;
    this.stop = parts.stop;
  }

  static async open(
    root: string = realpathSync(mkdtempSync(join(tmpdir(), "svc-hosted-"))),
    files: FaultyFiles = new FaultyFiles(),
    processes: FakeProcesses = new FakeProcesses(),
  ): Promise<Hosted> {
    const clock = new ManualClock();
    const log = new MemoryLog();
    const lock = { socket: "/socket", key: "key" } as Home["lock"];
    const supervisor = await startServices(
      {
        files,
        clock,
        random: new RealRandom(),
        projects: new RealProjectFiles(join(root, "home")),
        log,
        processes,
        home: { ...(await homeAt(join(root, "home"), files)), lock },
        program: ["svc"],
        node: "/bin/node",
        environment: { PATH: "/bin" },
        hasKeychain: false,
        hookClient: () => null,
        machineStartedAt: 0,
        checkOutputs: true,
        ledgerLimits: { extendBytes: 64 * 1024 },
      },
      { only: MESSAGING, instead: NO_PEERS },
    );
    const { parts } = supervisor;
    const stop = () => supervisor.stop();
    return new Hosted({ root, files, clock, processes, services: parts, log, stop });
  }

  async call<Name extends OperationName>(name: Name, input: ArgumentsOf<Name>): Promise<ResultOf<Name>> {
    return (await callOperation(this.services, this.log, name, input)) as ResultOf<Name>;
  }

  /** A Group with a project, and these Actors whose processes the daemon runs. */
  async group(...actors: string[]): Promise<string> {
    const project = mkdtempSync(join(this.root, "project-"));
    mkdirSync(join(project, ".git"));
    const { group_id: groupId } = await this.call("attach", { path: project });
    for (const actorId of actors)
      await this.call("actor_add", {
        group_id: groupId,
        actor_id: actorId,
        runner: "pty",
        runtime: "claude",
      });
    return groupId;
  }

  async remove(): Promise<void> {
    this.files.fail = () => null;
    await this.stop();
    rmSync(this.root, { recursive: true, force: true });
  }
}
