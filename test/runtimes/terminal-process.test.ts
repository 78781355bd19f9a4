/** Processes in terminals of the real system: what they print last, and what they hold open. */
import assert from "node:assert/strict";
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createRequire, syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { InputReceipt, ProcessExit, TerminalProcess } from "../../platform/processes.ts";
import { outputAtOnce } from "../../platform/program-output.ts";
import { RealClock } from "../../platform/real-clock.ts";
import { RealProcesses } from "../../platform/real-processes.ts";
import { InputQueue } from "../../platform/terminals/input-queue.ts";
import { type StartConsole, WindowsTerminal } from "../../platform/terminals/windows-terminal.ts";
import { LIMITS } from "../../shared/limits.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { until } from "../support/until.ts";

const MASTER = /ptmx/;

function shell(script: string): TerminalProcess {
  return new RealProcesses().openTerminal({
    file: "/bin/sh",
    args: ["-c", script],
    directory: "/",
    environment: { PATH: process.env["PATH"] ?? "" },
    columns: 80,
    rows: 24,
  });
}

/** Everything that a program printed, and how it ended. `began` is called at its first output. */
function ended(
  terminal: TerminalProcess,
  began: () => void = () => {},
): Promise<{ output: string; exit: ProcessExit }> {
  const pieces: Buffer[] = [];
  terminal.onOutput((bytes) => {
    if (pieces.push(Buffer.from(bytes)) === 1) began();
  });
  return new Promise((resolve) =>
    terminal.onExit((exit) => resolve({ output: Buffer.concat(pieces).toString(), exit })),
  );
}

function openFiles(pid: number): string[] {
  return readdirSync(`/proc/${pid}/fd`).flatMap((name) => {
    try {
      return [readlinkSync(`/proc/${pid}/fd/${name}`)];
    } catch {
      return [];
    }
  });
}

describe("a process in a terminal", () => {
  it("has its last output passed on whole, however much it is", async () => {
    for (const lines of [1, 40, 200, 700, 1500, 2500, 20_000])
      for (let run = 0; run < 12; run += 1) {
        const { output, exit } = await ended(shell(`seq 1 ${lines}; exit 3`));
        assert.deepEqual(exit, { code: 3, signal: null });
        assert.ok(output.endsWith(`${lines}\r\n`), `${lines} lines, run ${run}: ${output.slice(-20)}`);
        assert.equal(output.split("\r\n").length, lines + 1);
      }
  });

  it("has it passed on also when nothing was read of it, or something it left holds the terminal open", async () => {
    const paused = shell("seq 1 700; exit 3");
    paused.pause();
    const { output } = await ended(paused);
    assert.ok(output.endsWith("700\r\n"), output.slice(-20));
    const left = await ended(shell("trap '' HUP; sleep 30 & seq 1 700"));
    assert.ok(left.output.endsWith("700\r\n"), left.output.slice(-20));
  });

  it("has it passed on in its order when it was paused in between", async () => {
    const held = shell("stty -echo; echo first; read go; seq 1 700; exit 3");
    const over = ended(held, () => {
      held.pause();
      held.write("\n");
    });
    const { output, exit } = await over;
    assert.deepEqual(exit, { code: 3, signal: null });
    const numbers = Array.from({ length: 700 }, (_, at) => at + 1);
    assert.deepEqual(output.split("\r\n"), ["first", ...numbers.map(String), ""]);
  });

  it("ends, and holds nothing open, when its terminal can't be read", async function () {
    if (process.platform !== "linux") return this.skip();
    const modules = createRequire(import.meta.url);
    const tty = modules("node:tty") as { ReadStream: unknown };
    const { ReadStream } = tty;
    const family = () => new RealProcesses().familyOf(process.pid).length;
    const masters = () => openFiles(process.pid).filter((target) => MASTER.test(target)).length;
    const before = [family(), masters()];
    tty.ReadStream = function () {
      throw new Error("no reader");
    };
    syncBuiltinESMExports();
    try {
      assert.throws(() => shell("exec sleep 100"), /no reader/);
    } finally {
      tty.ReadStream = ReadStream;
      syncBuiltinESMExports();
    }
    await until("it has ended", () => family() === before[0]);
    assert.equal(masters(), before[1]);
    const { exit } = await ended(shell("exit 3"));
    assert.equal(exit.code, 3);
  });

  it("holds no other terminal open, and neither does any other program that is started beside it", async function () {
    if (process.platform !== "linux") return this.skip();
    const terminals = [shell("exec sleep 100")];
    try {
      // Numbers that come free between them are the trap.
      for (let round = 0; round < 20; round += 1) {
        terminals.push(shell("exec sleep 100"), shell("exec sleep 100"));
        const [gone] = terminals.splice(round % 2, 1);
        const over = ended(gone!);
        process.kill(gone!.pid, "SIGKILL");
        await over;
      }
      for (const { pid } of terminals) {
        await until("it runs", () => readFileSync(`/proc/${pid}/comm`, "utf8") === "sleep\n");
        assert.deepEqual(
          openFiles(pid).filter((target) => MASTER.test(target)),
          [],
        );
      }
      const list = ["-l", "/proc/self/fd"];
      const later = await new RealProcesses().outputOf("/bin/ls", list, 60_000);
      for (const seen of [later, outputAtOnce("/bin/ls", list, 60_000)]) {
        assert.match(seen ?? "", /-> /);
        assert.doesNotMatch(seen ?? "", MASTER);
      }
      assert.ok(
        openFiles(process.pid).some((target) => MASTER.test(target)),
        "the terminals are open here",
      );
    } finally {
      for (const { pid } of terminals) process.kill(pid, "SIGKILL");
    }
  });
});

describe("a program that is asked for its output", () => {
  const folder = mkdtempSync(join(tmpdir(), "svc-output-"));
  after(() => rmSync(folder, { recursive: true }));
  const program = (name: string, script: string): string => {
    const file = join(folder, name);
    writeFileSync(file, `#!/bin/sh\n${script}\n`);
    chmodSync(file, 0o755);
    return file;
  };

  it("answers, or gives nothing: when it fails, is too slow, or says too much", async () => {
    const { outputOf } = {
      outputOf: (file: string, limit = 60_000) => new RealProcesses().outputOf(file, [], limit),
    };
    assert.equal(await outputOf(program("well", "echo 1.2.3")), "1.2.3\n");
    assert.equal(await outputOf(program("fails", "echo 1; exit 2")), null);
    assert.equal(await outputOf(program("slow", "sleep 100 & sleep 100"), 200), null);
    assert.equal(await outputOf(program("loud", "yes")), null);
    assert.equal(await outputOf(join(folder, "missing")), null);
  });
});

describe("input for a process that doesn't read", () => {
  /** Takes `room` bytes. */
  class Sink {
    room = 0;
    taken = "";
    tries = 0;
    isGone = false;
    write(bytes: Uint8Array, from: number, to: number): number {
      if (this.isGone) throw new Error("gone");
      this.tries += 1;
      const end = Math.min(to, from + this.room);
      this.room -= end - from;
      this.taken += Buffer.from(bytes.subarray(from, end)).toString("latin1");
      return end - from;
    }
  }

  const queued = () => {
    const sink = new Sink();
    const clock = new ManualClock();
    const changes: boolean[] = [];
    const queue: InputQueue = new InputQueue(sink, clock, () => changes.push(queue.isStuck));
    return { sink, clock, changes, queue };
  };
  const states = (receipts: (InputReceipt | null)[]) => receipts.map((receipt) => receipt?.state);

  it("is tried less and less often, and is said to be stuck until all of it is read", () => {
    const { sink, clock, changes, queue } = queued();
    const receipts = [queue.write("first"), queue.write("second")];
    sink.room = 3;
    clock.advance(1);
    assert.deepEqual([sink.taken, queue.unread, states(receipts)], ["fir", 8, ["waiting", "waiting"]]);
    clock.advance(LIMITS.terminal.stuckSeconds * 1000 + 250);
    assert.deepEqual(changes, [true]);
    const before = sink.tries;
    clock.advance(10_000);
    assert.ok(sink.tries - before <= 41, `${sink.tries - before} tries in 10 s`);
    sink.room = 100;
    clock.advance(250);
    assert.deepEqual(
      [sink.taken, queue.unread, states(receipts)],
      ["firstsecond", 0, ["written", "written"]],
    );
    assert.deepEqual([changes, clock.timers], [[true, false], 0]);
  });

  it("is taken whole or not at all, and dropped on request or when the terminal is gone", () => {
    const { sink, clock, queue } = queued();
    const { unreadBytes } = LIMITS.terminal;
    assert.equal(queue.write("x".repeat(unreadBytes))?.state, "waiting");
    assert.equal(queue.write("y"), null);
    assert.equal(queue.drop(), unreadBytes);
    const last = queue.write("z");
    sink.isGone = true;
    clock.advance(1);
    assert.deepEqual([last?.state, queue.unread, queue.write("more"), clock.timers], ["dropped", 1, null, 0]);
  });

  it("has answers of the terminal in whole pieces of one turn, dropped when they wait too long", async () => {
    const { sink, clock, queue } = queued();
    for (let asked = 0; asked < 100_000; asked += 1) queue.answer("\u001b[1;1R");
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual([sink.tries, queue.unread], [1, 0]);
    sink.room = Number.POSITIVE_INFINITY;
    clock.advance(1);
    assert.ok(sink.taken.length <= LIMITS.terminal.answerBytes);
    assert.equal(sink.taken.replaceAll("\u001b[1;1R", ""), "");
    queue.answer("again");
    queue.write("typed");
    assert.ok(sink.taken.endsWith("againtyped"));
  });
});

describe("a console of Windows", () => {
  it("gives text, which is passed on as bytes", async () => {
    let tell: (text: string) => void = () => {};
    let end: (exit: { exitCode: number }) => void = () => {};
    const written: unknown[] = [];
    const exits: ((exit: { exitCode: number }) => void)[] = [];
    const start = (() => ({
      pid: 7,
      onData: (listener: (text: string) => void) => void (tell = listener),
      onExit: (listener: (exit: { exitCode: number }) => void) => {
        exits.push(listener);
        end = (exit) => exits.forEach((one) => one(exit));
      },
      write: (data: unknown) => void written.push(data),
    })) as unknown as StartConsole;
    const options = {
      file: "C:\\a.exe",
      args: [],
      directory: "C:\\",
      environment: {},
      columns: 80,
      rows: 24,
    };
    const terminal = new WindowsTerminal(options, new RealClock(), start);
    const over = ended(terminal);
    tell("grü");
    tell("ße");
    terminal.write("größer");
    end({ exitCode: 2 });
    assert.deepEqual(await over, { output: "grüße", exit: { code: 2, signal: null } });
    assert.equal(Buffer.concat(written as Buffer[]).toString(), "größer");
    assert.equal(terminal.write("late"), null);
  });
});
