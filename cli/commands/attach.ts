/**
 * Shows an Actor's terminal in this one. It is view-only until the person takes it over, as in the
 * Workbench. Whatever ends it, this terminal is restored.
 */
import { constants } from "node:os";
import type { WebSocket } from "ws";
import { openTerminal } from "../../client/actor-terminal.ts";
import { RefusedByDaemon } from "../../client/failures.ts";
import { RESTORE_TERMINAL, TerminalOutput } from "../../client/terminal-output.ts";
import type { ErrorBody } from "../../shared/errors.ts";
import { LIMITS } from "../../shared/limits.ts";
import type { TerminalMessage, TerminalRequest, WriterState } from "../../shared/terminal.ts";
import { inputPieces } from "../../shared/terminal-input.ts";
import type { CommandContext } from "../context.ts";
import { oneLine } from "../output.ts";

/** Ctrl-], also in the form of the kitty keyboard protocol. */
const DETACH = ["\u001d", "\u001b[93;5u"];
/** Ctrl-T in both forms. */
const TAKE = ["\u0014", "\u001b[116;5u"];
const SAVE_TITLE = "\u001b[22;0t";
const RESTORE_TITLE = "\u001b[23;0t";
const PASTE = "\u001b[200~";
const BELL = "\u0007";
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

type Ending = { code: number; note: string };

export async function attach(context: CommandContext): Promise<number> {
  const { stdin, stdout } = process;
  if (!stdin.isTTY || !stdout.isTTY || context.out.json)
    throw context.usage(
      "'svc actor attach' shows the Actor's terminal in this one, so its input and output must be a terminal. It can't be used with --json.",
    );
  const groupId = await context.group();
  const address = { group_id: groupId, actor_id: await context.actor(groupId, context.arg(0)) };
  let view: AttachedTerminal | null = null;
  const early: [Buffer, boolean][] = [];
  const socket = await openTerminal(context.home, address, (data, isOutput) => {
    if (view === null) early.push([data, isOutput]);
    else view.receive(data, isOutput);
  });
  view = new AttachedTerminal(socket, address.actor_id, context.has("take"));
  for (const [data, isOutput] of early) view.receive(data, isOutput);
  if (socket.readyState === socket.CLOSED) view.closed();
  const { code, note } = await view.ended;
  context.out.note(note);
  return code;
}

class AttachedTerminal {
  readonly ended: Promise<Ending>;
  readonly #socket: WebSocket;
  readonly #name: string;
  readonly #output = new TerminalOutput();
  #writer: WriterState = "nobody";
  #wantsToWrite: boolean;
  #hasScreen = false;
  #isRunning = false;
  #isStuck = false;
  #refusal: RefusedByDaemon | null = null;
  #isOver = false;
  #resolve: (ending: Ending) => void = () => {};
  readonly #undo: (() => void)[] = [];

  constructor(socket: WebSocket, name: string, wantsToWrite: boolean) {
    this.#socket = socket;
    this.#name = name;
    this.#wantsToWrite = wantsToWrite;
    this.ended = new Promise((resolve) => (this.#resolve = resolve));
    const { stdin, stdout } = process;
    // Also after an unexpected failure.
    this.#on(process, "exit", () => this.#restore());
    stdin.setRawMode(true);
    stdin.setEncoding("utf8");
    this.#on(stdin, "data", (data: string) => this.#typed(data));
    this.#on(stdin, "end", () => this.#end(0, `Detached from ${name}.`));
    this.#on(stdout, "resize", () => this.#tellSize());
    for (const signal of SIGNALS)
      this.#on(process, signal, () => this.#end(128 + constants.signals[signal], `Detached from ${name}.`));
    this.#on(socket, "close", () => this.closed());
    stdin.resume();
    stdout.write(SAVE_TITLE);
    this.#tellSize();
  }

  receive(data: Buffer, isOutput: boolean): void {
    if (this.#isOver) return;
    if (isOutput) this.#show(data, data.length);
    else this.#told(JSON.parse(data.toString("utf8")) as TerminalMessage);
  }

  /** The daemon has closed the connection. */
  closed(): void {
    const refusal = this.#refusal;
    if (refusal !== null && !this.#hasScreen) this.#end(1, `svc: ${refusal.message}`);
    else this.#end(3, "svc: the connection to the daemon has ended");
  }

  #told(message: TerminalMessage): void {
    switch (message.type) {
      case "screen": {
        // Earlier output scrolls up and stays visible. A later screen replaces the previous one.
        const room = this.#hasScreen ? "" : "\r\n".repeat(process.stdout.rows);
        this.#hasScreen = true;
        this.#isRunning = message.running;
        this.#isStuck = false;
        process.stdout.write(`${RESTORE_TERMINAL}${room}\u001b[H\u001b[2J`);
        this.#show(Buffer.from(message.data), Buffer.byteLength(message.data));
        this.#became(message.writer);
        if (!message.running) this.#say(`${this.#name} isn't running: ${oneLine(message.reason)}`);
        if (this.#wantsToWrite) this.#take();
        return;
      }
      case "writer":
        this.#became(message.writer);
        return;
      case "input":
        this.#isStuck = message.unread > 0;
        this.#became(this.#writer);
        return;
      case "ended":
        this.#isStuck = false;
        this.#isRunning = false;
        this.#say(`${this.#name} has ended: ${oneLine(message.reason)}`);
        return;
      case "error":
        this.#refusal = new RefusedByDaemon(message.error as ErrorBody);
        // The key came too late: someone else has taken over, or the process is gone.
        process.stdout.write(BELL);
        return;
      case "size":
    }
  }

  /** Acknowledged once this terminal has written it. */
  #show(data: Uint8Array, bytes: number): void {
    const shown = this.#output.filter(data);
    if (bytes > 0) process.stdout.write(shown, () => this.#send({ type: "ack", bytes }));
  }

  #typed(data: string): void {
    const isPaste = data.includes(PASTE);
    const at = isPaste
      ? -1
      : Math.min(...DETACH.map((key) => data.indexOf(key)).filter((index) => index >= 0));
    if (Number.isFinite(at) && at >= 0) {
      if (at > 0) this.#write(data.slice(0, at));
      this.#end(0, `Detached from ${this.#name}. It keeps running.`);
    } else if (this.#writer === "you") this.#write(data);
    else if (!isPaste && TAKE.some((key) => data.includes(key))) this.#take();
    else process.stdout.write(BELL);
  }

  #write(data: string): void {
    if (this.#writer !== "you" || !this.#isRunning) return;
    for (const piece of inputPieces(data)) this.#send({ type: "input", data: piece });
  }

  #take(): void {
    this.#wantsToWrite = false;
    this.#send({ type: "take" });
    this.#tellSize();
  }

  #became(writer: WriterState): void {
    this.#writer = writer;
    const who = writer === "another" ? "someone else is writing" : "view only";
    const reads = this.#isStuck ? "you write, but it doesn't read, Ctrl-C interrupts" : "you write";
    const words = writer === "you" ? reads : `${who}, Ctrl-T takes over`;
    // In the title, because a line of ours would be overwritten or would get in the program's way.
    process.stdout.write(`\u001b]0;${this.#name}: ${words}, Ctrl-] detaches\u0007`);
  }

  /** Where no program draws. */
  #say(text: string): void {
    process.stdout.write(`\r\n[svc] ${text}. Ctrl-] detaches.\r\n`);
  }

  #tellSize(): void {
    const { columns, rows } = process.stdout;
    const { columnsMax, rowsMax } = LIMITS.terminal;
    if (columns < 2 || rows < 1) return;
    this.#send({ type: "resize", columns: Math.min(columns, columnsMax), rows: Math.min(rows, rowsMax) });
  }

  #send(request: TerminalRequest): void {
    if (this.#socket.readyState === this.#socket.OPEN) this.#socket.send(JSON.stringify(request));
  }

  #end(code: number, note: string): void {
    if (this.#isOver) return;
    this.#restore();
    this.#socket.close();
    this.#resolve({ code, note });
  }

  #restore(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const undo of this.#undo.splice(0)) undo();
    process.stdin.setRawMode(false);
    process.stdin.pause();
    process.stdout.write(`${RESTORE_TERMINAL}${RESTORE_TITLE}\u001b[${process.stdout.rows};1H\r\n`);
  }

  #on(emitter: NodeJS.EventEmitter, event: string, listener: (...args: never[]) => void): void {
    emitter.on(event, listener as (...args: unknown[]) => void);
    this.#undo.push(() => emitter.off(event, listener as (...args: unknown[]) => void));
  }
}
